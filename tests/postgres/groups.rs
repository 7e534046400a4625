//! Many lines in one transaction on a server: the same answers, and the same order on record, as in a file (contract 7.4).

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::cluster::shared;
use super::procs::alone;
use super::support::{Said, Scratch, base, batch_of};

/// Feeds all these lines at once.
fn batch(ledger: &base::Scratch, lines: &[&str]) -> Said {
    batch_of(ledger, &[], &lines.join("\n"))
}

fn keys_in_order(ledger: &base::Scratch) -> Vec<String> {
    let listed = ledger.run("list").stdout;
    let keys = listed
        .split(' ')
        .filter_map(|word| word.strip_prefix("key="));
    keys.map(str::to_owned).collect()
}

#[test]
fn receipts_come_on_record_in_the_order_in_which_they_were_first_written() {
    let server = Scratch::with_ledger();
    let folder = Scratch::new();
    let file = folder.at("receipts.db");
    file.says("init", "created=true\n");
    for ledger in [&*server, &file] {
        for key in ["p1", "p2", "p3"] {
            ledger.run(&format!("reserve --key {key} --fingerprint f"));
            ledger.run(&format!("fail --key {key}"));
        }
        ledger.says("prune --older-than 0s", "pruned=3 kept_live=0\n");
        let again = |key: &str| {
            format!(
                r#"{{"op":"reserve","key":"{key}","fingerprint":"f","allow_failed_retry":true}}"#
            )
        };
        let told = batch(ledger, &[&again("p3"), &again("p1"), &again("p2")]);
        assert_eq!(told.stdout.matches("\"RETRY\"").count(), 3, "{told:?}");
        let told = batch(
            ledger,
            &[
                r#"{"op":"succeed","key":"z1"}"#,
                r#"{"op":"record","key":"z2","fingerprint":"f"}"#,
                r#"{"op":"record","key":"z3","fingerprint":"f"}"#,
                r#"{"op":"record","key":"z1","fingerprint":"f"}"#,
                r#"{"op":"reserve","key":"z3","fingerprint":"f","owner":"w"}"#,
                r#"{"op":"reserve","key":"z2","fingerprint":"g"}"#,
            ],
        );
        assert_eq!(told.code, 2, "{told:?}");
        for key in ["q1", "q2"] {
            ledger.run(&format!("reserve --key {key} --fingerprint f"));
            ledger.run(&format!("fail --key {key}"));
        }
        ledger.says("prune --older-than 0s", "pruned=2 kept_live=0\n");
        let new = |key: &str| format!(r#"{{"op":"reserve","key":"{key}","fingerprint":"f"}}"#);
        let told = batch(
            ledger,
            &[
                &new("y1"),
                &again("q2"),
                &new("y2"),
                &new("y3"),
                &again("q1"),
                &new("y4"),
            ],
        );
        assert_eq!(told.code, 0, "{told:?}");
        let keys = keys_in_order(ledger);
        let first = ["p3", "p1", "p2", "z2", "z3", "z1"];
        let then = ["y1", "q2", "y2", "y3", "q1", "y4"];
        assert_eq!(keys, [first, then].concat());
        let history = ledger.run("show --key z3 --history").stdout;
        assert_eq!(history.matches("event=").count(), 2, "{history}");
        let history = ledger.run("show --key z2 --history").stdout;
        assert_eq!(history.matches("event=").count(), 2, "{history}");
        let history = ledger.run("show --key q2 --history").stdout;
        assert_eq!(history.matches("event=").count(), 1, "{history}");
        ledger.says("verify", "verify=ok receipts=12\n");
    }
}

#[test]
fn a_lease_in_a_group_begins_when_its_key_is_held() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let insert = "INSERT INTO receipt_ledger.receipt (key_digest, token, attempt, key, fingerprint, state, created_at_ms, \
                  updated_at_ms, late_success, contested) \
                  VALUES (substring(sha256('order:1') FROM 1 FOR 16), gen_random_uuid(), 0, 'order:1', 'v1', 'recorded', 1, 1, false, false)";
    let sql = format!("BEGIN; {insert}; SELECT pg_sleep(3); ROLLBACK;");
    let mut holder = shared().psql("postgres", &ledger.database, &sql);
    let mut holder = holder.stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
    while ledger.sql(sleeps) == "0" {
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    let reserve =
        |key: &str| format!(r#"{{"op":"reserve","key":"{key}","fingerprint":"v1","lease":"2s"}}"#);
    let told = batch(&ledger, &[&reserve("order:1"), &reserve("order:2")]);
    assert_eq!(told.stdout.matches("\"EXECUTE\"").count(), 2, "{told:?}");
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    holder.wait().unwrap();
}

/// A `batch` that is told some lines at a time, which it takes as one group.
struct Coprocess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Coprocess {
    fn start(ledger: &Scratch, options: &[&str]) -> Coprocess {
        let mut batch = ledger.command(options);
        batch
            .arg("batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = batch.spawn().unwrap();
        Coprocess {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, lines: &str) -> String {
        self.stdin.write_all(lines.as_bytes()).unwrap();
        let mut told = String::new();
        for _ in lines.lines() {
            self.stdout.read_line(&mut told).unwrap();
        }
        told
    }

    fn answers(mut self, mut next: impl FnMut(Option<&str>) -> Option<String>) {
        let mut line = next(None);
        while let Some(asked) = line {
            let answer = self.ask(&(asked + "\n"));
            line = next(Some(&answer));
        }
        self.end();
    }

    fn end(mut self) -> Option<i32> {
        drop(self.stdin);
        self.child.wait().unwrap().code()
    }
}

fn new_lines(name: &str, count: usize) -> String {
    let line = |nth| format!(r#"{{"op":"reserve","key":"{name}:{nth}","fingerprint":"f"}}"#);
    (0..count).map(|nth| line(nth) + "\n").collect()
}

#[test]
fn a_group_that_was_taken_for_all_new_and_is_not_is_looked_up_however_short_the_timeout() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&ledger, &["--busy-timeout", "0s"]);
    for (first, second) in [("a", "b"), ("c", "d"), ("e", "f")] {
        let told = batch.ask(&new_lines(first, 300));
        assert_eq!(told.matches("\"EXECUTE\"").count(), 300, "{told}");
        let known = new_lines(first, 1);
        let told = batch.ask(&(new_lines(second, 299) + &known));
        assert_eq!(told.matches("\"EXECUTE\"").count(), 299, "{told}");
        assert_eq!(told.matches("\"SKIP_IN_FLIGHT\"").count(), 1, "{told}");
    }
    assert_eq!(batch.end(), Some(0));
}

#[test]
fn a_ledger_that_stops_deciding_is_not_held_by_who_was_refused() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&ledger, &[]);
    let told = batch.ask(&new_lines("a", 300));
    assert_eq!(told.matches("\"EXECUTE\"").count(), 300, "{told}");
    ledger.sql("INSERT INTO receipt_ledger.meta VALUES ('standing', 'copy')");
    let told = batch.ask(&new_lines("b", 300));
    assert_eq!(told.matches("\"restored-backup\"").count(), 300, "{told}");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%' AND datname = current_database()";
    assert_eq!(ledger.sql(open), "0");
    let began = Instant::now();
    ledger.run("restore --accept-gap");
    assert!(began.elapsed() < Duration::from_secs(3));
    let told = batch.ask(&new_lines("b", 300));
    assert_eq!(told.matches("\"EXECUTE\"").count(), 300, "{told}");
    assert_eq!(batch.end(), Some(2));
}

#[test]
fn a_receipt_and_its_history_are_shown_as_they_were_at_one_moment() {
    const SHOWN: usize = 300;
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key t --fingerprint f");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut attempt = 0;
            let mut fails = false;
            Coprocess::start(&ledger, &[]).answers(|_| {
                fails = !fails;
                attempt += usize::from(fails);
                let line = if fails {
                    format!(r#"{{"op":"fail","key":"t","attempt":{attempt}}}"#)
                } else {
                    r#"{"op":"reserve","key":"t","fingerprint":"f","allow_failed_retry":true}"#
                        .to_owned()
                };
                (!over.load(Ordering::SeqCst)).then_some(line)
            });
        });
        let (mut shown, mut torn) = (0, Vec::new());
        Coprocess::start(&ledger, &[]).answers(|answer| {
            if let Some(answer) = answer {
                shown += 1;
                let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
                let last = answer["history"].as_array().unwrap().last().unwrap();
                if (&last["event"], &last["attempt"]) != (&answer["state"], &answer["attempt"]) {
                    torn.push(answer.to_string());
                }
            }
            (shown < SHOWN).then(|| r#"{"op":"show","key":"t","history":true}"#.to_owned())
        });
        over.store(true, Ordering::SeqCst);
        assert_eq!(torn, Vec::<String>::new());
    });
}

/// Lines for groups of a thousand, each of which says something else of what the group before it would let one expect.
fn groups_of_a_thousand() -> Vec<String> {
    let op = |op: &str, key: &str| format!(r#"{{"op":"{op}","key":"{key}"}}"#);
    let reserve = |key: &str| format!(r#"{{"op":"reserve","key":"{key}","fingerprint":"f"}}"#);
    fn new(group: &str, count: usize) -> impl Iterator<Item = String> {
        (0..count).map(move |nth| format!("{group}:{nth}"))
    }
    let mut lines: Vec<String> = new("a", 1000).map(|key| reserve(&key)).collect();
    // As new as the first, and the last of them again, shown, and with a fingerprint that is not its own.
    let other = |fingerprint: &str| {
        format!(r#"{{"op":"reserve","key":"b:995","fingerprint":"{fingerprint}"}}"#)
    };
    lines.extend(new("b", 995).map(|key| reserve(&key)));
    lines.push(r#"{"op":"record","key":"b:995","fingerprint":"f"}"#.to_owned());
    lines.extend([other("g"), other("g"), other("h")]);
    lines.push(r#"{"op":"show","key":"b:995","history":true}"#.to_owned());
    // What is there already, among new ones: first, last, settled, shown, missing.
    for (nth, (before, behind)) in [
        (reserve("a:7"), op("succeed", "a:8")),
        (op("show", "a:8"), op("show", "nothing")),
        (op("succeed", "nothing"), reserve("b:0")),
        (op("fail", "b:1"), op("unknown", "b:2")),
        (other("g"), other("i")),
    ]
    .into_iter()
    .enumerate()
    {
        let (all_new, mixed) = (format!("c{nth}"), format!("d{nth}"));
        lines.extend(new(&all_new, 1000).map(|key| reserve(&key)));
        lines.push(before);
        lines.extend(new(&mixed, 998).map(|key| reserve(&key)));
        lines.push(behind);
    }
    lines.extend(new("a", 1000).map(|key| reserve(&key)));
    lines
}

/// Leaves a member out wherever it is.
fn remove(value: &mut serde_json::Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
        members.values_mut().for_each(|value| remove(value, name));
    } else if let Some(elements) = value.as_array_mut() {
        elements.iter_mut().for_each(|value| remove(value, name));
    }
}

#[test]
fn a_group_is_answered_by_what_is_stored_whatever_the_one_before_was() {
    let server = Scratch::with_ledger();
    let folder = Scratch::new();
    let file = folder.at("receipts.db");
    file.says("init", "created=true\n");
    let lines = groups_of_a_thousand();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let of_group = |told: &Said| -> Vec<String> {
        let lines = told.stdout.lines();
        let without_times = lines.map(|line| {
            let mut answer: serde_json::Value = serde_json::from_str(line).unwrap();
            for time in ["created_at", "updated_at", "at"] {
                remove(&mut answer, time);
            }
            answer.to_string()
        });
        without_times.collect()
    };
    let (on_server, in_file) = (batch(&server, &lines), batch(&file, &lines));
    assert_eq!((on_server.code, in_file.code), (2, 2));
    assert_eq!(on_server.stdout.lines().count(), lines.len());
    for ((ours, theirs), line) in of_group(&on_server)
        .iter()
        .zip(of_group(&in_file))
        .zip(&lines)
    {
        assert_eq!(*ours, theirs, "{line}");
    }
    assert_eq!(keys_in_order(&server), keys_in_order(&file));
    for key in ["a:8", "b:995", "b:1", "d2:5"] {
        let show = format!("show --key {key} --history");
        let events = |ledger: &base::Scratch| {
            let told = ledger.run(&show).stdout;
            let words = told.split([' ', '\n']).map(str::to_owned);
            words
                .filter(|word| !word.contains("at="))
                .collect::<Vec<_>>()
        };
        assert_eq!(events(&server), events(&file), "{key}");
    }
    server.says("verify", "verify=ok receipts=11986\n");
}
