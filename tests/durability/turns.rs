//! Callers that meet at the write lock wait in line (contract 10.1): nobody waits longer for it, whoever stands in front.

use std::fs::File;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use receipt_ledger::decide::Change;
use receipt_ledger::receipt::Key;
use receipt_ledger::store::Store as _;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
use rusqlite::TransactionBehavior;

use super::procs::{alone, plain};
use super::support::{Scratch, said};

/// A ledger, and its line with the test in front.
fn in_front() -> (Scratch, File) {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let line = File::open(ledger.path("receipts.db-wal")).unwrap();
    line.lock().unwrap();
    (ledger, line)
}

#[cfg(target_os = "linux")]
#[test]
fn who_comes_second_is_woken_by_who_was_first() {
    use std::os::unix::fs::MetadataExt;
    let (ledger, line) = in_front();
    let inode = format!(":{} ", line.metadata().unwrap().ino());
    let second = ledger
        .command(["--busy-timeout=60s", "reserve", "--key=order:2"])
        .arg("--fingerprint=v1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The kernel's list marks who is blocked with an arrow.
    let is_blocked = |entry: &str| entry.contains("-> FLOCK") && entry.contains(&inode);
    let began = Instant::now();
    while !std::fs::read_to_string("/proc/locks")
        .unwrap()
        .lines()
        .any(is_blocked)
    {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody waits");
        thread::yield_now();
    }
    line.unlock().unwrap();
    let told = said(&second.wait_with_output().unwrap());
    let answer = "decision=EXECUTE state=reserved attempt=1\n";
    assert_eq!((told.stdout.as_str(), told.code), (answer, 0), "{told:?}");
    assert!(began.elapsed() < Duration::from_secs(25), "it waited on");
}

#[test]
fn one_who_never_ends_its_turn_costs_the_others_half_a_second_at_most_and_no_decision() {
    let _alone = alone();
    let (ledger, _line) = in_front();
    for (number, flag, least_ms, most_ms) in [
        (2, "0s", 0, 400),
        (3, "400ms", 200, 2_000),
        (4, "60s", 500, 5_000),
    ] {
        let began = Instant::now();
        ledger.says(
            &format!("--busy-timeout {flag} reserve --key order:{number} --fingerprint v1"),
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(least_ms), "{flag}: {took:?}");
        assert!(took < Duration::from_millis(most_ms), "{flag}: {took:?}");
    }
}

#[test]
fn the_wait_in_line_and_the_wait_for_the_lock_are_one_wait() {
    let _alone = alone();
    let (ledger, _line) = in_front();
    let mut other = plain(&ledger.path("receipts.db"));
    let _held = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    let began = Instant::now();
    ledger.refuses(
        "--busy-timeout 2s reserve --key order:2 --fingerprint v1",
        "busy",
    );
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_millis(2400), "{took:?}");
}

#[test]
fn a_turn_ends_with_the_decision_and_not_with_the_connection() {
    let (ledger, line) = in_front();
    line.unlock().unwrap();
    let mut store = SqliteStore::open(OpenOptions::new(ledger.path("receipts.db"))).unwrap();
    let key = Key::parse("order:2").unwrap();
    store
        .update(&key, &mut |_, _| {
            assert!(line.try_lock().is_err(), "it took no turn");
            Change::default()
        })
        .unwrap();
    line.try_lock().unwrap();
    store.close().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn turns_that_were_given_up_leave_one_thread_behind_however_many_they_were() {
    let (ledger, _line) = in_front();
    let mut options = OpenOptions::new(ledger.path("receipts.db"));
    options.busy_timeout = Duration::from_millis(2);
    let mut store = SqliteStore::open(options).unwrap();
    let count = |what: &str| {
        std::fs::read_dir(format!("/proc/self/{what}"))
            .unwrap()
            .count()
    };
    let before = count("fd");
    for number in 0..100 {
        let key = Key::parse(format!("order:{number}")).unwrap();
        store.update(&key, &mut |_, _| Change::default()).unwrap();
    }
    // Other tests come and go in this process meanwhile.
    assert!(count("fd") < before + 60, "descriptors were left open");
    store.close().unwrap();
}
