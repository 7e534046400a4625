//! Somebody else holds the ledger (contract 10.1, 5.6, 4.4).

use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use super::procs::{alone, plain};
use super::support::{Scratch, said};

fn with_receipt() -> (Scratch, Connection) {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let other = plain(&ledger.path("receipts.db"));
    (ledger, other)
}

#[test]
fn a_call_waits_as_long_as_it_was_told_and_then_says_busy() {
    let _alone = alone();
    let (ledger, mut other) = with_receipt();
    let _held = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    for (flag, least_ms, most_ms) in [("0s", 0, 150), ("200ms", 200, 700), ("1s", 1000, 1800)] {
        for call in [
            "reserve --key order:2 --fingerprint v1",
            "succeed --key order:1",
        ] {
            let began = Instant::now();
            let told = ledger.refuses(&format!("--busy-timeout {flag} {call}"), "busy");
            let took = began.elapsed();
            let (least, most) = (
                Duration::from_millis(least_ms),
                Duration::from_millis(most_ms),
            );
            assert!(
                took >= least && took < most,
                "{flag} {call}: {took:?}: {told}"
            );
        }
    }
}

#[test]
fn a_conflict_is_told_and_the_ledger_shown_while_somebody_else_holds_it() {
    let (ledger, mut other) = with_receipt();
    let _held = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    ledger.conflicts(
        "--busy-timeout 50ms reserve --key order:1 --fingerprint v2",
        "decision=CONFLICT state=reserved attempt=1\n",
    );
    let show = ledger.run("--busy-timeout 50ms show --key order:1");
    assert!(
        show.code == 0 && show.stdout.starts_with("state=reserved attempt=1 "),
        "{show:?}"
    );
}

#[test]
fn settling_tries_longer_than_deciding() {
    let _alone = alone();
    let (ledger, mut other) = with_receipt();
    let held = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    let settling = ledger
        .command(["succeed", "--key", "order:1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Deciding gives up after its 5 s; settling, begun before it, is still there.
    ledger.refuses("reserve --key order:2 --fingerprint v1", "busy");
    held.commit().unwrap();
    let told = said(&settling.wait_with_output().unwrap());
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (0, "state=succeeded attempt=1\n"),
        "{told:?}"
    );
}

#[test]
fn no_lock_is_held_while_a_call_waits_for_somebody_elses_outcome() {
    let _alone = alone();
    let (ledger, mut other) = with_receipt();
    let mut waiting = ledger
        .command([
            "reserve",
            "--key",
            "order:1",
            "--fingerprint",
            "v1",
            "--wait",
            "60s",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (done, answer) = mpsc::channel();
    let output = waiting.stdout.take().unwrap();
    thread::spawn(move || done.send(std::io::read_to_string(output).unwrap()));
    for n in 0..200 {
        let transaction = other
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap_or_else(|error| panic!("look {n}: {error}"));
        transaction.rollback().unwrap();
    }
    let no_answer = answer.recv_timeout(Duration::from_millis(300));
    assert!(
        no_answer.is_err(),
        "it answered before there was anything to say: {no_answer:?}"
    );
    ledger.says(
        "--busy-timeout 1s fail --key order:1",
        "state=failed attempt=1\n",
    );
    let told = answer.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(told, "decision=SKIP_FAILED state=failed attempt=1\n");
    assert!(waiting.wait().unwrap().success());
}
