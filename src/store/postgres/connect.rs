//! From an address to a connection that answers: one of the hosts, TLS where it is asked for, the password.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustix::net::sockopt;
use rustls::StreamOwned;

use super::address::{Address, Host, SslMode};
use super::login;
use super::socket::{Socket, Stream};
use super::tls;
use super::wire::{Fault, ServerError, Wire};

/// Pause before a server that is not ready is asked again.
const PAUSE: Duration = Duration::from_millis(50);
/// When a silent server is asked whether it is still there, how often again, and after how many it counts as gone: a
/// COMMIT is waited for without a limit of its own, but not for a machine that has lost its power.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Refused {
    /// The server said no.
    Server(ServerError),
    /// The way there does not work.
    Io(io::Error),
    /// None of several hosts can be written to.
    ReadOnly,
}

impl Refused {
    /// Whether it may go away by itself: a server that starts, or has no room.
    fn passes(&self) -> bool {
        match self {
            Refused::Server(error) => matches!(&*error.code, "57P03" | "53300" | "57P01" | "57P02"),
            Refused::Io(error) => matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::WouldBlock
            ),
            Refused::ReadOnly => true,
        }
    }

    /// Whether it only says that the time was over.
    fn is_late(&self) -> bool {
        matches!(self, Refused::Io(error) if error.kind() == io::ErrorKind::TimedOut)
    }

    /// Whether the other way of `allow` and `prefer` may work where this one did not.
    fn other_way(&self) -> bool {
        match self {
            Refused::Server(error) => error.code == "28000",
            Refused::Io(error) => error.kind() == io::ErrorKind::InvalidData,
            Refused::ReadOnly => false,
        }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        match fault {
            Fault::Server(error) => Refused::Server(error),
            Fault::Lost(error) => Refused::Io(error),
            Fault::Late => Refused::Io(late()),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::from(Fault::from(error))
    }
}

/// Connects to the first host that takes us; of several, the one that can be written to. What may pass is tried again
/// until the deadline.
pub(super) fn connect(address: &Address, deadline: Instant) -> Result<Wire, (Host, Refused)> {
    let mut before = None;
    loop {
        let failure = match once(address, deadline) {
            Ok(wire) => return Ok(wire),
            Err(failure) => failure,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        // A try that there was no time for says less than the one before.
        let failure = match before.take() {
            Some(before) if left.is_zero() && failure.1.is_late() => before,
            Some(_) | None => failure,
        };
        if left.is_zero() || !failure.1.passes() {
            return Err(failure);
        }
        before = Some(failure);
        thread::sleep(PAUSE.min(left));
    }
}

fn once(address: &Address, deadline: Instant) -> Result<Wire, (Host, Refused)> {
    let mut failure = None;
    let several = address.hosts.len() > 1;
    for (index, host) in address.hosts.iter().enumerate() {
        // Each host has its share of the time, so that one that swallows everything does not hide the next.
        let hosts_left = u32::try_from(address.hosts.len() - index).unwrap_or(1);
        let now = Instant::now();
        let share = now + deadline.saturating_duration_since(now) / hosts_left;
        let refused = match to_host(address, host, share) {
            Ok(wire) if several && wire.parameter("in_hot_standby") == Some("on") => {
                wire.terminate();
                Refused::ReadOnly
            }
            Ok(wire) => return Ok(wire),
            Err(refused) => refused,
        };
        // What will not pass is the better thing to tell.
        let told = failure
            .as_ref()
            .is_none_or(|(_, told): &(Host, Refused)| told.passes());
        if told {
            failure = Some((host.clone(), refused));
        }
    }
    Err(failure.expect("an address has a host"))
}

/// Tries the ways that `sslmode` allows, in its order.
fn to_host(address: &Address, host: &Host, deadline: Instant) -> Result<Wire, Refused> {
    let ways: &[Way] = match address.ssl_mode {
        _ if host.socket_folder().is_some() => &[Way::Plain],
        SslMode::Disable => &[Way::Plain],
        SslMode::Allow => &[Way::Plain, Way::Tls],
        SslMode::Prefer => &[Way::TlsIfOffered, Way::Plain],
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => &[Way::Tls],
    };
    let mut refused = None;
    for way in ways {
        match one_way(address, host, *way, deadline) {
            Ok(wire) => return Ok(wire),
            Err(error) if error.other_way() => refused = refused.or(Some(error)),
            Err(error) => return Err(refused.unwrap_or(error)),
        }
    }
    Err(refused.expect("there is a way to every host"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    TlsIfOffered,
    Tls,
}

fn one_way(address: &Address, host: &Host, way: Way, deadline: Instant) -> Result<Wire, Refused> {
    let socket = socket(host, deadline)?;
    socket.wait_until(Some(deadline));
    let stream = match way {
        Way::Plain => Stream::Plain(socket),
        Way::TlsIfOffered | Way::Tls => encrypted(address, host, way, socket)?,
    };
    let binding = match &stream {
        Stream::Plain(_) => None,
        Stream::Tls(tls) => {
            let certificates = tls.conn.peer_certificates();
            let first = certificates.and_then(<[_]>::first);
            first.and_then(|certificate| tls::end_point(certificate))
        }
    };
    let encrypted = matches!(stream, Stream::Tls(_));
    let mut wire = Wire::new(stream);
    login::log_in(
        &mut wire,
        address,
        host,
        login::Binding { encrypted, binding },
        deadline,
    )?;
    Ok(wire)
}

/// Asks for TLS, and shakes hands if the server has it.
fn encrypted(
    address: &Address,
    host: &Host,
    way: Way,
    mut socket: Socket,
) -> Result<Stream, Refused> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.write_all(&request)?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    match answer {
        [b'S'] => {}
        [b'N'] if way == Way::TlsIfOffered => return Ok(Stream::Plain(socket)),
        [b'N'] => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it has no TLS").into());
        }
        _ => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it does not speak TLS").into());
        }
    }
    let mut connection = tls::begin(address.ssl_mode, address.ssl_root.as_deref(), host)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    Ok(Stream::Tls(Box::new(StreamOwned::new(connection, socket))))
}

fn socket(host: &Host, deadline: Instant) -> io::Result<Socket> {
    if let Some(folder) = host.socket_folder() {
        let path = format!("{folder}/.s.PGSQL.{}", host.port);
        return UnixStream::connect(path).map(Socket::from);
    }
    let mut failure = None;
    for address in addresses(host, deadline)? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            failure.get_or_insert(late());
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                keep_alive(&socket)?;
                return Ok(socket.into());
            }
            Err(error) => failure = Some(error),
        }
    }
    let nowhere = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    Err(failure.unwrap_or_else(nowhere))
}

fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    #[cfg(target_os = "linux")]
    {
        sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
        let silence = KEEPALIVE_IDLE + KEEPALIVE_EVERY * KEEPALIVE_COUNT;
        let silence_ms = u32::try_from(silence.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(socket, silence_ms)?;
    }
    sockopt::set_tcp_keepintvl(socket, KEEPALIVE_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, KEEPALIVE_COUNT)?;
    Ok(())
}

/// Looks a name up. The system's look-up knows no deadline, so it is left to itself when it takes too long.
fn addresses(host: &Host, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    let name = host.address.clone().unwrap_or_else(|| host.name.clone());
    let port = host.port;
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (found, finding) = mpsc::channel();
    thread::Builder::new()
        .name("look-up".to_owned())
        .spawn(move || {
            let addresses = (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
            // Nobody waits any longer: then it is not needed.
            let _ = found.send(addresses);
        })?;
    let left = deadline.saturating_duration_since(Instant::now());
    match finding.recv_timeout(left) {
        Ok(addresses) => addresses.map_err(|error| io::Error::other(error.to_string())),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "its name could not be looked up in time",
        )),
    }
}
