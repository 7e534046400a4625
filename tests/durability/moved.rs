//! A ledger file that goes away while it is open (contract 10.3): noticed before an answer is given.

use std::fs;
use std::path::{Path, PathBuf};

use receipt_ledger::decide::{self, Decision, Reserve};
use receipt_ledger::receipt::{Fingerprint, Key};
use receipt_ledger::store::Store;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
use receipt_ledger::{Error, Ledger};

use super::procs::{integrity, plain, standing};
use super::support::Scratch;

fn open(path: &Path) -> Ledger<SqliteStore> {
    Ledger::new(SqliteStore::open(OpenOptions::new(path)).unwrap())
}

fn request(key: &str) -> Reserve {
    Reserve::new(Key::parse(key).unwrap(), Fingerprint::parse("v1").unwrap())
}

/// Another ledger, at rest, to be put in the place of the one that is open.
fn another(ledger: &Scratch) -> PathBuf {
    let path = ledger.path("another.db");
    let mut other = open(&path);
    other.reserve(&request("only:in:the:other")).unwrap();
    other.into_store().close().unwrap();
    path
}

fn away(ledger: &Scratch) {
    fs::rename(ledger.path("receipts.db"), ledger.path("away.db")).unwrap();
}

fn away_with_its_log(ledger: &Scratch) {
    away(ledger);
    for ending in ["-wal", "-shm"] {
        let from = ledger.path(&format!("receipts.db{ending}"));
        fs::rename(from, ledger.path(&format!("away.db{ending}"))).unwrap();
    }
}

fn removed(ledger: &Scratch) {
    fs::remove_file(ledger.path("receipts.db")).unwrap();
}

fn replaced(ledger: &Scratch) {
    fs::rename(another(ledger), ledger.path("receipts.db")).unwrap();
}

/// What somebody does to the file, and in words.
type Going = (&'static str, fn(&Scratch));

const ALL: [Going; 4] = [
    ("renamed away", away),
    ("renamed away with its log", away_with_its_log),
    ("removed", removed),
    ("replaced", replaced),
];

#[test]
fn no_answer_comes_from_a_file_that_no_longer_has_the_ledgers_name() {
    for (what, go) in ALL {
        let scratch = Scratch::new();
        let mut ledger = open(&scratch.path("receipts.db"));
        assert_eq!(
            ledger.reserve(&request("a")).unwrap().decision,
            Decision::Execute
        );
        go(&scratch);
        for key in ["a", "b"] {
            let told = ledger.reserve(&request(key));
            assert!(
                matches!(told, Err(Error::Moved { .. })),
                "{what}: reserve {key}: {told:?}"
            );
            let told = ledger.show(&Key::parse(key).unwrap(), false);
            assert!(
                matches!(told, Err(Error::Moved { .. })),
                "{what}: show {key}: {told:?}"
            );
        }
    }
}

#[test]
fn a_file_that_goes_away_while_it_is_being_decided_in_gives_no_answer() {
    for (what, go) in ALL {
        let scratch = Scratch::new();
        let path = scratch.path("receipts.db");
        let mut store = SqliteStore::open(OpenOptions::new(&path)).unwrap();
        let request = request("a");
        let told = store.update(&request.key, &mut |existing, now| {
            go(&scratch);
            decide::reserve(existing, &request, now).1
        });
        assert!(matches!(told, Err(Error::Moved { .. })), "{what}: {told:?}");
    }
}

#[test]
fn a_reader_notices_it_too() {
    for (what, go) in ALL {
        let scratch = Scratch::new();
        let path = scratch.path("receipts.db");
        open(&path).into_store().close().unwrap();
        let store = SqliteStore::open_to_read(OpenOptions::new(&path)).unwrap();
        let mut reader = Ledger::new(store);
        reader.show(&Key::parse("a").unwrap(), false).unwrap();
        go(&scratch);
        let told = reader.show(&Key::parse("a").unwrap(), false);
        assert!(matches!(told, Err(Error::Moved { .. })), "{what}: {told:?}");
    }
}

#[test]
fn the_ledger_that_took_the_place_is_not_harmed_by_who_had_the_old_one_open() {
    let scratch = Scratch::new();
    let path = scratch.path("receipts.db");
    let mut ledger = open(&path);
    for n in 0..20 {
        ledger.reserve(&request(&format!("old:{n}"))).unwrap();
    }
    // Somebody who swaps the files by hand waits until the log is empty.
    plain(&path)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    replaced(&scratch);
    for n in 0..20 {
        let told = ledger.reserve(&request(&format!("new:{n}")));
        assert!(matches!(told, Err(Error::Moved { .. })), "{told:?}");
    }
    drop(ledger);
    scratch.says(
        "reserve --key only:in:the:other --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    assert_eq!(integrity(&path), "ok");
    for key in ["old:0", "new:0"] {
        assert_eq!(
            standing(&scratch.run(&format!("show --key {key}"))),
            None,
            "{key}"
        );
    }
}

#[test]
fn a_ledger_renamed_away_whole_holds_everything_that_was_answered() {
    let scratch = Scratch::new();
    let mut ledger = open(&scratch.path("receipts.db"));
    ledger.reserve(&request("a")).unwrap();
    away_with_its_log(&scratch);
    ledger.reserve(&request("b")).unwrap_err();
    drop(ledger);
    let mut there = open(&scratch.path("away.db"));
    assert_eq!(
        there.reserve(&request("a")).unwrap().decision,
        Decision::SkipInFlight
    );
    assert_eq!(integrity(&scratch.path("away.db")), "ok");
}
