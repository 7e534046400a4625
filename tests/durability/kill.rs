//! SIGKILL at any instant (contract 10.7): what was printed still holds.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use super::procs::{alone, chance, integrity, names, plain, scale, standing};
use super::support::{Said, Scratch, said};

/// Longest time a call lives before it is killed, in microseconds: a call takes about this long.
const LIFE_US_MAX: u64 = 25_000;

/// Starts it, and kills it some time later, unless it has ended by then.
fn killed(command: &mut Command, after: Duration) -> Said {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Not to wait for something: the moment of the kill is what is drawn.
    thread::sleep(after);
    let _ = child.kill();
    let mut said = Said {
        stdout: String::new(),
        stderr: String::new(),
        code: 0,
    };
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    out.read_to_string(&mut said.stdout).unwrap();
    err.read_to_string(&mut said.stderr).unwrap();
    said.code = child.wait().unwrap().code().unwrap_or(-1);
    said
}

/// What was printed about one key so far.
#[derive(Debug, Default, Clone)]
struct Told {
    executes: u32,
    retries: HashMap<u32, u32>,
    failed: u32,
    succeeded: bool,
    attempt_max: u32,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let Some((start, attempt)) = line.trim_end().split_once("attempt=") else {
            assert_eq!(line, "", "a partial line");
            return;
        };
        assert!(line.ends_with('\n'), "a partial line: {line:?}");
        let attempt: u32 = attempt.parse().unwrap();
        self.attempt_max = self.attempt_max.max(attempt);
        match start.trim_end() {
            "decision=EXECUTE state=reserved" => self.executes += 1,
            "decision=RETRY state=reserved" => *self.retries.entry(attempt).or_default() += 1,
            "state=succeeded" | "decision=SKIP_SUCCEEDED state=succeeded" => self.succeeded = true,
            "state=failed" => self.failed = self.failed.max(attempt),
            _ => {}
        }
    }
}

fn one_call(ledger: &Scratch, rng: &mut Rng, told: &Mutex<Vec<Told>>) {
    let n = rng.usize(0..told.lock().unwrap().len());
    let before = told.lock().unwrap()[n].clone();
    let attempt = before.attempt_max.max(1).to_string();
    let key = format!("order:{n}");
    let verb: &[&str] = match rng.u32(0..100) {
        0..55 => &["reserve", "--fingerprint", "v1", "--allow-failed-retry"],
        55..80 => &["fail", "--attempt", &attempt],
        80..82 => &["succeed", "--attempt", &attempt],
        _ => &["reserve", "--fingerprint", "v1"],
    };
    let mut command = ledger.command(verb);
    command.args(["--key", &key]);
    let said = if rng.u32(0..3) == 0 {
        killed(&mut command, Duration::from_micros(rng.u64(0..LIFE_US_MAX)))
    } else {
        killed(
            &mut command,
            Duration::ZERO.max(Duration::from_millis(rng.u64(15..40))),
        )
    };
    assert!(!said.stderr.contains("panicked"), "{said:?}");
    assert!(!said.stderr.contains("error[corrupt]"), "{said:?}");
    if before.succeeded && said.stdout.starts_with("decision=") {
        assert!(
            said.stdout.starts_with("decision=SKIP_SUCCEEDED "),
            "{key}: {said:?}"
        );
    }
    if said.stdout.starts_with("decision=RETRY ") {
        assert!(!before.succeeded, "{key}: retried after success was told");
    }
    told.lock().unwrap()[n].hear(&said.stdout);
}

#[test]
fn what_was_printed_still_holds_after_thousands_of_calls_many_of_them_killed() {
    const WORKERS: u32 = 4;
    let _alone = alone();
    let mut rng = chance("kill");
    let ledger = Scratch::with_ledger();
    let path = ledger.path("receipts.db");
    let told = Mutex::new(vec![Told::default(); 40]);
    let rounds = 4 * scale();
    for _ in 0..rounds {
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                let mut rng = rng.fork();
                let (ledger, told) = (&ledger, &told);
                scope.spawn(move || {
                    for _ in 0..150 {
                        one_call(ledger, &mut rng, told);
                    }
                });
            }
        });
        assert_eq!(integrity(&path), "ok");
    }
    for (n, told) in told.into_inner().unwrap().iter().enumerate() {
        let show = ledger.run(&format!("show --key order:{n}"));
        let standing = standing(&show);
        let held = match &standing {
            None => told.executes == 0 && told.attempt_max == 0,
            Some((state, attempt)) => {
                told.executes <= 1
                    && told.retries.values().all(|times| *times == 1)
                    && *attempt >= told.attempt_max
                    && (!told.succeeded || state == "succeeded")
                    && !(state == "reserved" && *attempt == told.failed)
            }
        };
        assert!(held, "order:{n} is {standing:?}, but was told {told:?}");
    }
}

#[test]
fn a_kill_during_creation_leaves_no_ledger_or_a_whole_one() {
    let _alone = alone();
    let mut rng = chance("kill during creation");
    let (mut without, mut with) = (0, 0);
    for round in 0..150 * scale() {
        let ledger = Scratch::new();
        let path = ledger.path("receipts.db");
        let args = ["reserve", "--key", "order:1", "--fingerprint", "v1"];
        let first = killed(
            &mut ledger.command(args),
            Duration::from_micros(rng.u64(0..LIFE_US_MAX)),
        );
        if path.exists() {
            with += 1;
            // What a copy shows is what a reader would find; opening the file itself would mend it. A kill while the log
            // was folded back leaves the log with its content, which is then a part of the ledger.
            let copy = ledger.path("copy.db");
            std::fs::copy(&path, &copy).unwrap();
            if ledger.path("receipts.db-wal").exists() {
                let (log, copied) = ("receipts.db-wal", "copy.db-wal");
                std::fs::copy(ledger.path(log), ledger.path(copied)).unwrap();
            }
            let version: String = plain(&copy)
                .query_row(
                    "SELECT value FROM receipt_ledger_meta WHERE name = 'schema_version'",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(
                (version.as_str(), integrity(&copy).as_str()),
                ("1", "ok"),
                "round {round}"
            );
        } else {
            without += 1;
            assert_eq!(first.stdout, "");
        }
        let next = ledger.run_args(&args);
        assert_eq!(next.code, 0, "round {round}: {next:?}");
        if first.stdout.starts_with("decision=EXECUTE ") {
            assert!(
                next.stdout.starts_with("decision=SKIP_IN_FLIGHT "),
                "{next:?}"
            );
        }
        let drafts = names(&ledger.path(""));
        let drafts = drafts
            .iter()
            .filter(|name| name.ends_with(".draft"))
            .count();
        assert!(drafts <= 1, "round {round}");
    }
    eprintln!("killed before the name was there: {without}, after: {with}");
}

/// How many receipts stand so, by `stats`.
fn standing_as(ledger: &Scratch, state: &str) -> usize {
    let told = ledger.run("stats").stdout;
    let start = format!("{state}=");
    let word = told.split(' ').find_map(|word| word.strip_prefix(&start));
    word.unwrap().parse().unwrap()
}

#[test]
fn a_reconcile_that_is_killed_settles_each_receipt_whole_or_not_and_the_next_one_goes_on() {
    const APPLIED: usize = 1500;
    let _alone = alone();
    let mut rng = chance("kill a reconcile");
    let ledger = Scratch::with_ledger();
    let (mut lines, mut rows) = (String::new(), String::from("key,reference\n"));
    for nth in 0..APPLIED + 100 {
        lines += &format!(
            "{{\"op\":\"reserve\",\"key\":\"order:{nth}\",\"fingerprint\":\"v1\"}}\n\
             {{\"op\":\"unknown\",\"key\":\"order:{nth}\"}}\n"
        );
        if nth < APPLIED {
            rows += &format!("order:{nth},ref-{nth}\n");
        }
    }
    fs::write(ledger.path("lines"), lines).unwrap();
    fs::write(ledger.path("charges.csv"), rows).unwrap();
    let mut batch = ledger.command(["batch"]);
    batch.stdin(fs::File::open(ledger.path("lines")).unwrap());
    assert_eq!(said(&batch.output().unwrap()).code, 0);
    let settle = ["reconcile", "--provider", "charges.csv", "--settle"];
    let mut before = 0;
    for _ in 0..10 * scale() {
        let mut command = ledger.command(settle);
        killed(&mut command, Duration::from_micros(rng.u64(0..60_000)));
        let settled = standing_as(&ledger, "succeeded");
        assert!(settled >= before, "{settled} after {before}");
        before = settled;
        let all = APPLIED + 100;
        ledger.says("verify", &format!("verify=ok receipts={all}\n"));
    }
    let told = ledger.run(&settle.join(" "));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(standing_as(&ledger, "succeeded"), APPLIED);
    assert_eq!(standing_as(&ledger, "unknown"), 100);
    for nth in [0, APPLIED / 2, APPLIED - 1] {
        let history = ledger.run(&format!("show --key order:{nth} --history"));
        let events = history.stdout.matches("event=").count();
        assert_eq!(events, 3, "{history:?}");
    }
}
