//! curl behind `run`, against a server on this machine: which exit codes prove that nothing was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use crate::block::{Block, named};
use crate::shop::{Said, Shop, said};

/// A provider that answers one request after the other, then is gone.
struct Provider {
    address: SocketAddr,
    thread: JoinHandle<Vec<String>>,
}

impl Provider {
    /// Listens; gives each request one of the answers. An empty one closes the connection.
    fn answers<S: Into<String>>(at: SocketAddr, answers: Vec<S>) -> Provider {
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Vec<String> = answers.into_iter().map(Into::into).collect();
        let thread = thread::spawn(move || {
            let answer = |answer: String| take_request(listener.accept().unwrap().0, &answer);
            answers.into_iter().map(answer).collect()
        });
        Provider { address, thread }
    }

    /// The requests that were sent, once all were answered.
    fn requests(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

/// The request's head; its body is read too.
fn take_request(stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut length = 0;
    while !head.ends_with("\r\n\r\n") {
        let begin = head.len();
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        if let Some(value) = head[begin..].strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    assert_eq!(body, b"{\"order\": 41, \"amount\": 10.0}");
    reader.into_inner().write_all(answer.as_bytes()).unwrap();
    head
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\npaid\n";
const OVERLOADED: &str =
    "HTTP/1.1 503 Overloaded\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Any port of this machine.
fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A port of this machine where nobody listens.
fn nowhere() -> SocketAddr {
    TcpListener::bind(anywhere()).unwrap().local_addr().unwrap()
}

fn redirect_to(address: SocketAddr) -> String {
    format!(
        "HTTP/1.1 307 Elsewhere\r\nLocation: http://{address}/charges\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn charge(shop: &Shop, script: &str, provider: SocketAddr) -> Said {
    let mut shell = shop.command("sh");
    for proxy in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        shell.env_remove(proxy);
    }
    shell
        .args(["-c", script])
        .env("RECEIPT_LEDGER_DB", "receipts.db")
        .env("order", "41")
        .env("PROVIDER", format!("http://{provider}"));
    said(&mut shell)
}

fn state(shop: &Shop) -> String {
    let show = "receipt-ledger --db receipts.db show --key charge:v1:order-41";
    let shown = shop.sh(show).stdout;
    shown.split(' ').next().unwrap().to_owned()
}

fn has_curl() -> bool {
    let has = Shop::new().sh("curl --version").code == 0;
    if !has {
        eprintln!("skipped: no curl");
    }
    has
}

pub(crate) fn a_charge_is_sent_once_and_again_only_if_nothing_was_sent(block: &Block) {
    if !has_curl() {
        return;
    }
    let shop = Shop::with_ledger();
    let charge = |provider| charge(&shop, &block.text, provider);
    let address = nowhere();
    assert_eq!(charge(address).code, 7);
    assert_eq!(state(&shop), "state=failed");

    let provider = Provider::answers(anywhere(), vec![OK]);
    let told = charge(provider.address);
    assert_eq!((told.stdout.as_str(), told.code), ("paid\n", 0));
    let retry = "decision=RETRY state=reserved attempt=2\n";
    assert_eq!(told.stderr, retry);
    let requests = provider.requests();
    let key = "\r\nIdempotency-Key: charge:v1:order-41\r\n";
    assert!(requests[0].starts_with("POST /charges ") && requests[0].contains(key));

    assert_eq!(charge(nowhere()).code, 0, "it is done, nothing is sent");
    assert_eq!(state(&shop), "state=succeeded");
}

#[test]
fn a_host_that_does_not_exist_has_got_nothing_and_any_other_trouble_is_unknown() {
    if !has_curl() {
        return;
    }
    let script = named("charge-by-curl").text;
    let shop = Shop::with_ledger();
    let nobody = script.replace("$PROVIDER", "http://no-such-host.invalid");
    assert_eq!(charge(&shop, &nobody, nowhere()).code, 6);
    assert_eq!(state(&shop), "state=failed");

    for (answer, code) in [
        ("", 52),
        (OVERLOADED, 22),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 18),
    ] {
        let shop = Shop::with_ledger();
        let provider = Provider::answers(anywhere(), vec![answer]);
        assert_eq!(charge(&shop, &script, provider.address).code, code);
        assert_eq!(provider.requests().len(), 1);
        assert_eq!(state(&shop), "state=unknown");
        let again = charge(&shop, &script, nowhere());
        assert_eq!((again.stdout.as_str(), again.code), ("", 75));
    }
}

/// What the two tests above would not notice if `-L` and `--retry` did no harm: with them a server that had the request
/// is followed by a 7, and the charge would be sent again.
#[test]
fn with_a_redirect_or_a_retry_a_7_no_longer_proves_that_nothing_was_sent() {
    if !has_curl() {
        return;
    }
    let block = named("charge-by-curl").text;
    for (option, answer) in [
        ("-L", redirect_to(nowhere())),
        ("--retry 1", OVERLOADED.to_owned()),
    ] {
        let shop = Shop::with_ledger();
        let careless = block.replace("curl -q ", &format!("curl -q {option} "));
        assert_ne!(careless, block);
        let provider = Provider::answers(anywhere(), vec![answer.clone()]);
        assert_eq!(
            charge(&shop, &careless, provider.address).code,
            7,
            "{option}"
        );
        assert_eq!(provider.requests().len(), 1, "the server had it");
        assert_eq!(
            state(&shop),
            "state=failed",
            "and yet it counts as not sent"
        );

        let shop = Shop::with_ledger();
        let provider = Provider::answers(anywhere(), vec![answer]);
        assert_ne!(charge(&shop, &block, provider.address).code, 7);
        assert_eq!(provider.requests().len(), 1);
        assert_ne!(state(&shop), "state=failed");
    }
}
