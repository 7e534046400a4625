//! At rest the ledger is one file (contract 10.6, 10.3).

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use super::procs::{alone, chance, plain, scale, untouched};
use super::support::{Said, Scratch};

const KEYS: usize = 5;

fn any_call(rng: &mut Rng) -> Vec<String> {
    let key = format!("order:{}", rng.usize(0..KEYS));
    let fingerprint = if rng.u32(0..6) == 0 { "v2" } else { "v1" };
    let words = match rng.u32(0..9) {
        0..3 => format!("reserve --key {key} --fingerprint {fingerprint} --allow-failed-retry"),
        3 => format!("reserve --key {key} --fingerprint {fingerprint} --lease 1h"),
        4 => format!("succeed --key {key} --result-json [{}]", rng.u32(0..9)),
        5 => format!("fail --key {key} --attempt 1 --reason no"),
        6 => format!("unknown --key {key}"),
        7 => format!("resolve --key {key} --as succeeded --evidence seen"),
        _ => format!("show --key {key} --history"),
    };
    words.split(' ').map(str::to_owned).collect()
}

/// Everything the ledger says about every key.
fn everything(ledger: &Scratch) -> Vec<Said> {
    let show = |n| ledger.run(&format!("show --key order:{n} --history"));
    (0..KEYS).map(show).collect()
}

fn log_bytes(ledger: &Scratch) -> u64 {
    fs::metadata(ledger.path("receipts.db-wal")).map_or(0, |facts| facts.len())
}

fn copied_alone(ledger: &Scratch) -> Scratch {
    let copy = Scratch::new();
    fs::copy(ledger.path("receipts.db"), copy.path("receipts.db")).unwrap();
    copy
}

fn kill_one(ledger: &Scratch, rng: &mut Rng) {
    let mut child = ledger
        .command(any_call(rng))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The moment of the kill is what is drawn; nothing is waited for.
    thread::sleep(Duration::from_micros(rng.u64(2_000..14_000)));
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn after_any_calls_one_of_them_killed_and_one_more_the_file_alone_answers_everything() {
    let _alone = alone();
    let mut rng = chance("at rest");
    let mut logs_left = 0;
    for round in 0..40 * scale() {
        let ledger = Scratch::with_ledger();
        for _ in 0..rng.u32(1..10) {
            ledger.run_args(&any_call(&mut rng));
        }
        kill_one(&ledger, &mut rng);
        logs_left += u32::from(log_bytes(&ledger) > 0);
        let last = any_call(&mut rng);
        ledger.run_args(&last);
        assert_eq!(log_bytes(&ledger), 0, "round {round}: after {last:?}");
        let copy = copied_alone(&ledger);
        assert_eq!(everything(&copy), everything(&ledger), "round {round}");
    }
    eprintln!("the kill left a log with content {logs_left} times");
}

/// A ledger whose log holds a decision, as a kill leaves it: the same files, at the moment of an answer.
fn with_content_in_the_log() -> Scratch {
    let ledger = Scratch::with_ledger();
    let open = plain(&ledger.path("receipts.db"));
    open.query_row(
        "SELECT count(*) FROM receipt_ledger_receipt",
        [],
        |_| Ok(()),
    )
    .unwrap();
    ledger.says(
        "reserve --key order:0 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    assert!(log_bytes(&ledger) > 0);
    let left = Scratch::new();
    for name in ["receipts.db", "receipts.db-wal"] {
        fs::copy(ledger.path(name), left.path(name)).unwrap();
    }
    left
}

#[test]
fn every_call_that_ends_normally_folds_a_log_back_that_a_kill_left() {
    for last in [
        "reserve --key order:0 --fingerprint v1",
        "reserve --key order:1 --fingerprint v1",
        "reserve --key order:0 --fingerprint v2",
        "succeed --key order:0",
        "fail --key order:9",
        "show --key order:0",
        "show --key order:9",
        "init",
    ] {
        let ledger = with_content_in_the_log();
        ledger.run(last);
        assert_eq!(log_bytes(&ledger), 0, "{last}");
        let copy = copied_alone(&ledger);
        assert_eq!(everything(&copy), everything(&ledger), "{last}");
    }
}

#[test]
fn the_file_is_whole_when_the_last_to_leave_only_looked() {
    let ledger = Scratch::with_ledger();
    let path = ledger.path("receipts.db");
    let open = receipt_ledger::store::sqlite::OpenOptions::new(&path);
    let mut reader = receipt_ledger::store::sqlite::SqliteStore::open_to_read(open).unwrap();
    let key = receipt_ledger::receipt::Key::parse("order:0").unwrap();
    receipt_ledger::store::Store::read(&mut reader, &key, false).unwrap();
    ledger.says(
        "reserve --key order:0 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    reader.close().unwrap();
    assert_eq!(log_bytes(&ledger), 0);
    assert_eq!(everything(&copied_alone(&ledger)), everything(&ledger));
}

#[test]
fn an_older_copy_put_back_at_rest_is_taken_as_it_is() {
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:0 --fingerprint v1");
    let older = copied_alone(&ledger);
    let then = everything(&older);
    for n in 1..KEYS {
        ledger.run(&format!("reserve --key order:{n} --fingerprint v1"));
    }
    ledger.run("succeed --key order:0");
    assert_eq!(log_bytes(&ledger), 0);
    // The log and its index stay where they are, as they do when somebody copies one file.
    fs::copy(older.path("receipts.db"), ledger.path("receipts.db")).unwrap();
    assert_eq!(everything(&ledger), then);
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    assert_eq!(super::procs::integrity(&ledger.path("receipts.db")), "ok");
}

fn refused_without_a_file(ending: &str) {
    let ledger = Scratch::new();
    let beside = ledger.path(&format!("receipts.db{ending}"));
    fs::write(&beside, "the only trace of a ledger").unwrap();
    let before = untouched(&beside);
    for call in [
        "reserve --key order:0 --fingerprint v1",
        "init",
        "succeed --key order:0",
        "show --key order:0",
    ] {
        ledger.refuses(call, "refused-file");
    }
    assert_eq!(untouched(&beside), before);
    assert!(!Path::new(&ledger.path("receipts.db")).exists());
}

#[test]
fn a_missing_file_beside_a_log_with_content_is_refused() {
    refused_without_a_file("-wal");
    refused_without_a_file("-journal");
}

#[test]
fn a_missing_file_beside_an_empty_log_is_a_ledger_to_be_created() {
    let ledger = Scratch::new();
    for ending in ["-wal", "-journal"] {
        fs::write(ledger.path(&format!("receipts.db{ending}")), "").unwrap();
    }
    ledger.says(
        "reserve --key order:0 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
}
