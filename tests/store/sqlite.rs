//! The suite on a SQLite file, and what it adds: the clock is read under the lock, a change of nothing leaves no byte.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use receipt_ledger::decide::Change;
use receipt_ledger::receipt::Timestamp;
use receipt_ledger::store::Store;
use receipt_ledger::store::sqlite::{Clock, OpenOptions, SqliteStore};
use receipt_ledger::{Error, Ledger};
use rusqlite::Connection;

use crate::conformance::{self, key};
use crate::grouping;
use crate::hand::Hand;
use crate::racing;

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipts.db");
        Place {
            _folder: folder,
            path,
        }
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new(&self.path);
        options.busy_timeout = Duration::from_secs(60);
        options
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.options()).unwrap()
    }
}

#[test]
fn a_sqlite_file_keeps_every_promise_of_a_store() {
    conformance::all(&|| {
        let place = Place::new();
        Box::new(move || place.open())
    });
}

#[test]
fn a_sqlite_file_keeps_groups_payloads_and_the_order_of_what_waits() {
    grouping::all(&|| {
        let place = Place::new();
        Box::new(move || place.open())
    });
}

#[test]
fn connections_in_one_process_never_both_get_to_perform() {
    let place = Place::new();
    racing::one_is_told_to_execute_and_one_to_retry(&|| place.open());
}

/// Counts how often it was asked; stands still otherwise.
#[derive(Debug, Clone, Default)]
struct CountingClock {
    asked: Arc<AtomicUsize>,
    hand: Hand,
}

impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.hand.now()
    }
}

#[test]
fn the_clock_is_read_once_a_decision_and_only_after_the_lock_is_held() {
    let place = Place::new();
    let clock = CountingClock::default();
    let mut options = place.options();
    options.clock = Box::new(clock.clone());
    options.busy_timeout = Duration::ZERO;
    let mut store = SqliteStore::open(options).unwrap();
    let holder = Connection::open(&place.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.update(&key("k"), &mut |_, _| panic!("nobody may decide now"));
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    assert_eq!(
        clock.asked.load(Ordering::SeqCst),
        0,
        "read before the lock was held"
    );
    holder.execute_batch("ROLLBACK").unwrap();
    store
        .update(&key("k"), &mut |_, _| Change::default())
        .unwrap();
    assert_eq!(clock.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn no_decision_that_had_to_wait_is_dated_before_the_one_it_waited_for() {
    let place = Place::new();
    let hand = Hand::default();
    let start = hand.ms();
    let mut options = place.options();
    options.clock = Box::new(hand.clone());
    let mut store = SqliteStore::open(options).unwrap();
    let holder = Connection::open(&place.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut at = None;
            store
                .update(&key("k"), &mut |_, now| {
                    at = Some(now.as_ms());
                    Change::default()
                })
                .unwrap();
            at.unwrap()
        });
        // However long the other has been waiting by now, its moment comes after this one.
        hand.move_to(start + 5_000);
        holder.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), start + 5_000);
    });
}

#[test]
fn a_writer_among_others_is_never_dated_before_what_it_saw() {
    let place = Place::new();
    place.open();
    let callers = 4;
    thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                let mut ledger = Ledger::new(place.open());
                for _ in 0..50 {
                    let request = receipt_ledger::decide::Reserve {
                        allow_failed_retry: true,
                        ..receipt_ledger::decide::Reserve::new(
                            key("k"),
                            receipt_ledger::receipt::Fingerprint::parse("send-v1").unwrap(),
                        )
                    };
                    let answer = ledger.reserve(&request).unwrap();
                    let settlement = receipt_ledger::decide::Settlement::Failed { reason: None };
                    let settle = receipt_ledger::decide::Settle {
                        key: key("k"),
                        attempt: Some(answer.attempt),
                        owner: None,
                        settlement,
                    };
                    ledger.settle(&settle).unwrap();
                }
            });
        }
    });
    let history = place.open().read(&key("k"), true).unwrap().history;
    let moments: Vec<i64> = history.iter().map(|row| row.at.as_ms()).collect();
    assert!(moments.len() > 50, "{}", moments.len());
    assert!(moments.is_sorted(), "{moments:?}");
}

#[test]
fn a_change_of_nothing_leaves_every_byte_of_file_and_log_as_it_was() {
    let place = Place::new();
    let mut store = place.open();
    let request = receipt_ledger::decide::Reserve::new(
        key("k"),
        receipt_ledger::receipt::Fingerprint::parse("send-v1").unwrap(),
    );
    let mut ledger = Ledger::new(place.open());
    ledger.reserve(&request).unwrap();
    let bytes = || {
        let log = place.path.with_extension("db-wal");
        (fs::read(&place.path).unwrap(), fs::read(log).unwrap())
    };
    let before = bytes();
    for _ in 0..3 {
        store
            .update(&key("k"), &mut |_, _| Change::default())
            .unwrap();
        store
            .update(&key("nothing"), &mut |_, _| Change::default())
            .unwrap();
        ledger.reserve(&request).unwrap();
    }
    assert!(before == bytes(), "something was written");
}

#[test]
fn history_cannot_be_rewritten_nor_deleted_while_its_receipt_is_whole() {
    let place = Place::new();
    let mut ledger = Ledger::new(place.open());
    let request = receipt_ledger::decide::Reserve::new(
        key("k"),
        receipt_ledger::receipt::Fingerprint::parse("send-v1").unwrap(),
    );
    ledger.reserve(&request).unwrap();
    let intruder = Connection::open(&place.path).unwrap();
    for sql in [
        "UPDATE receipt_ledger_history SET detail = 'x'",
        "UPDATE receipt_ledger_history SET at_ms = 0",
        "DELETE FROM receipt_ledger_history",
    ] {
        assert!(intruder.execute_batch(sql).is_err(), "{sql}");
    }
    assert_eq!(ledger.show(&key("k"), true).unwrap().history.len(), 1);
}

#[test]
fn an_impossible_row_is_refused_by_the_file_itself() {
    let place = Place::new();
    let mut ledger = Ledger::new(place.open());
    let request = receipt_ledger::decide::Reserve::new(
        key("k"),
        receipt_ledger::receipt::Fingerprint::parse("send-v1").unwrap(),
    );
    ledger.reserve(&request).unwrap();
    let intruder = Connection::open(&place.path).unwrap();
    for set in [
        "state = 'done'",
        "state = 'recorded'",
        "state = 'succeeded'",
        "attempt = 0",
        "attempt = -1",
        "attempt = 4294967296",
        "key = ''",
        "key = 'a b'",
        "key = 'a' || char(10)",
        "fingerprint = 'ä'",
        "settled_by = 'caller'",
        "settled_at_ms = 1",
        "result = '1'",
        "late_success = 2",
        "attempt_started_at_ms = NULL",
        "currency = 'EUR'",
        "reason = ''",
        "lease_expires_at_ms = 'soon'",
    ] {
        let sql = format!("UPDATE receipt_ledger_receipt SET {set}");
        assert!(intruder.execute_batch(&sql).is_err(), "{set}");
    }
}
