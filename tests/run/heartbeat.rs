//! Contract 6.5: the lease is renewed while the command runs, and never decides over the command.

use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::procs::plain;
use super::stage::{Gate, Running, expire, perform, stands, until};
use super::support::Scratch;

/// When the receipt was changed last and when its lease runs out, in milliseconds.
fn lease(ledger: &Connection) -> (i64, i64) {
    const SQL: &str = "SELECT updated_at_ms, lease_expires_at_ms FROM receipt_ledger_receipt";
    ledger
        .query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

#[test]
fn the_lease_is_60_s_unless_it_is_given() {
    for (options, expected) in [("", 60_000), ("--lease 1h", 3_600_000)] {
        let ledger = Scratch::with_ledger();
        let gate = Gate::new(&ledger, "gate");
        let run = Running::start(&ledger, &mut perform(&ledger, options, "read go <gate"));
        let waiting = gate.reached();
        let (reserved, expires) = lease(&plain(&ledger.path("receipts.db")));
        assert_eq!(expires - reserved, expected);
        drop(waiting);
        run.said();
    }
}

#[test]
fn a_command_that_outlasts_its_lease_several_times_is_in_flight_all_the_while() {
    const LEASE_MS: i64 = 3_000;
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(
        &ledger,
        &mut perform(
            &ledger,
            &format!("--lease {LEASE_MS}ms"),
            "read go <gate; exit 0",
        ),
    );
    let waiting = gate.reached();
    let looker = plain(&ledger.path("receipts.db"));
    let (reserved, mut expires) = lease(&looker);
    let mut latest = reserved;
    let mut beats = 0;
    until("it outlasts its lease twice", || {
        let (updated, next) = lease(&looker);
        if next != expires {
            assert!(
                updated < expires,
                "renewed only {} ms after it ran out",
                updated - expires
            );
            assert_eq!(next - updated, LEASE_MS);
            expires = next;
            beats += 1;
        }
        latest = updated;
        updated > reserved + 2 * LEASE_MS
    });
    // At a third of it, and no more often.
    let at_most = (latest - reserved) / (LEASE_MS / 3) + 1;
    assert!((3..=at_most).contains(&beats), "{beats}");
    assert_eq!(stands(&ledger, "k"), "reserved 1");
    drop(waiting);
    let said = run.said();
    assert_eq!(
        (said.stderr.as_str(), said.code),
        ("decision=EXECUTE state=reserved attempt=1\n", 0)
    );
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
    let history = ledger.run("show --key k --history").stdout;
    assert_eq!(
        history.lines().count(),
        3,
        "a beat leaves no row: {history}"
    );
}

#[test]
fn a_beat_that_fails_is_told_once_and_made_up_for_before_the_lease_is_over() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(
        &ledger,
        &mut perform(&ledger, "--lease 6s", "read go <gate; exit 0"),
    );
    let waiting = gate.reached();
    let mut rival = plain(&ledger.path("receipts.db"));
    let (_, expires) = lease(&rival);
    let held = rival
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    until("the beat has failed", || {
        run.told().contains("could not be renewed")
    });
    held.rollback().unwrap();
    until("the next one comes", || lease(&rival).1 != expires);
    let (renewed, _) = lease(&rival);
    assert!(renewed < expires, "{} ms too late", renewed - expires);
    drop(waiting);
    let said = run.said();
    assert_eq!(said.code, 0);
    let notes: Vec<&str> = said.stderr.lines().skip(1).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    let start = "note: the lease of k could not be renewed; the command goes on: ";
    assert!(notes[0].starts_with(start), "{notes:?}");
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
}

#[test]
fn beats_that_all_fail_do_not_stop_the_command() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let options = "--lease 300ms --busy-timeout 10ms";
    let run = Running::start(
        &ledger,
        &mut perform(&ledger, options, "read go <gate; exit 0"),
    );
    let waiting = gate.reached();
    let mut rival = plain(&ledger.path("receipts.db"));
    let held = rival
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    until("the lease has run out", || {
        stands(&ledger, "k") == "unknown 1"
    });
    held.rollback().unwrap();
    until("it is back in flight", || {
        stands(&ledger, "k") == "reserved 1"
    });
    drop(waiting);
    assert_eq!(run.said().code, 0);
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
}

#[test]
fn a_lease_that_ran_out_is_taken_up_again_unless_the_attempt_is_no_longer_ours() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(
        &ledger,
        &mut perform(&ledger, "--lease 1500ms", "read go <gate; exit 0"),
    );
    let waiting = gate.reached();
    expire(&ledger, "k");
    until("it is back in flight", || {
        stands(&ledger, "k") == "reserved 1"
    });
    let looker = plain(&ledger.path("receipts.db"));
    // Between two beats somebody else gets the key; should a beat come first, it is tried again.
    until("another attempt begins", || {
        expire(&ledger, "k");
        let again = "reserve --key k --fingerprint f --retry-unknown-within 24h --lease 1h";
        ledger.run(again).stdout.starts_with("decision=RETRY ")
    });
    let theirs = lease(&looker);
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(
        lease(&looker),
        theirs,
        "a beat for attempt 1 does not touch attempt 2"
    );
    drop(waiting);
    let said = run.said();
    assert_eq!(said.code, 2);
    assert!(
        said.stderr
            .contains("error[not-recorded]: attempt 1 of k ended"),
        "{said:?}"
    );
    assert_eq!(stands(&ledger, "k"), "reserved 2");
}

#[test]
fn a_beat_under_way_keeps_run_no_longer_than_its_record() {
    let ledger = Scratch::with_ledger();
    let run = perform(&ledger, "--lease 100ms", "sleep 1");
    let said = Running::start(&ledger, &mut { run }).said();
    assert_eq!(said.code, 0);
    let wal = std::fs::metadata(ledger.path("receipts.db-wal")).map_or(0, |facts| facts.len());
    assert_eq!(wal, 0, "at rest the ledger is one file");
}
