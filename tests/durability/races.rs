//! Many processes at the same instant (contract 4.1, 10.1, 10.2).

use std::fs;
use std::process::Command;
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use receipt_ledger::Error;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
use rusqlite::TransactionBehavior;

use super::procs::{alone, count, integrity, names, plain, scale, together};
use super::support::{Said, Scratch};

fn many(ledger: &Scratch, how_many: usize, args: &str) -> Vec<Said> {
    let commands: Vec<Command> = (0..how_many)
        .map(|_| ledger.command(args.split_whitespace()))
        .collect();
    together(&commands)
}

fn all_answered(all: &[Said]) {
    for said in all {
        let silent = said.stderr.is_empty() || said.stderr.starts_with("note: created ledger /");
        assert!(said.code == 0 && silent, "{said:?}");
        assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    }
}

#[test]
fn of_32_processes_at_once_on_one_key_one_is_told_to_execute() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    for round in 0..4 * scale() {
        let args = format!("--busy-timeout 60s reserve --key order:{round} --fingerprint v1");
        let all = many(&ledger, 32, &args);
        all_answered(&all);
        assert_eq!(
            (count(&all, "EXECUTE"), count(&all, "SKIP_IN_FLIGHT")),
            (1, 31),
            "round {round}"
        );
    }
    assert_eq!(integrity(&ledger.path("receipts.db")), "ok");
}

#[test]
fn of_32_processes_at_once_on_a_failed_key_one_is_told_to_retry() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    for attempt in 1..=4 {
        ledger.says(
            &format!("fail --key order:1 --attempt {attempt}"),
            &format!("state=failed attempt={attempt}\n"),
        );
        let all = many(
            &ledger,
            32,
            "--busy-timeout 60s reserve --key order:1 --fingerprint v1 --allow-failed-retry",
        );
        all_answered(&all);
        assert_eq!(
            (count(&all, "RETRY"), count(&all, "SKIP_IN_FLIGHT")),
            (1, 31)
        );
        let next = format!("decision=RETRY state=reserved attempt={}\n", attempt + 1);
        assert!(all.iter().any(|said| said.stdout == next));
    }
}

#[test]
fn processes_at_once_on_many_keys_each_get_one_execution_a_key() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let commands: Vec<Command> = (0..48)
        .map(|n| {
            let key = format!("order:{}", n % 6);
            ledger.command([
                "--busy-timeout",
                "60s",
                "reserve",
                "--fingerprint",
                "v1",
                "--key",
                &key,
            ])
        })
        .collect();
    let all = together(&commands);
    all_answered(&all);
    assert_eq!(count(&all, "EXECUTE"), 6);
}

#[test]
fn of_24_processes_at_once_on_no_ledger_one_creates_it_and_all_answer() {
    let _alone = alone();
    for round in 0..20 * scale() {
        let ledger = Scratch::new();
        let all = many(
            &ledger,
            24,
            "--busy-timeout 60s reserve --key order:1 --fingerprint v1",
        );
        all_answered(&all);
        assert_eq!(
            (count(&all, "EXECUTE"), count(&all, "SKIP_IN_FLIGHT")),
            (1, 23),
            "round {round}"
        );
        let notes: Vec<&Said> = all.iter().filter(|said| !said.stderr.is_empty()).collect();
        assert_eq!(notes.len(), 1, "round {round}: {notes:?}");
        let note = format!(
            "note: created ledger {}\n",
            ledger.path("receipts.db").display()
        );
        assert_eq!(notes[0].stderr, note);
        let left = names(&ledger.path(""));
        let known = ["receipts.db", "receipts.db-shm", "receipts.db-wal"];
        assert!(
            left.iter().all(|name| known.contains(&name.as_str())),
            "{left:?}"
        );
        assert!(left.contains(&"receipts.db".to_owned()));
    }
}

#[test]
fn a_ledger_without_a_log_is_switched_to_one_while_somebody_else_is_writing() {
    let _alone = alone();
    for round in 0..5 * scale() {
        let ledger = Scratch::with_ledger();
        let path = ledger.path("receipts.db");
        let mut writer = plain(&path);
        let mode: String = writer
            .pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "delete");
        let (asked, go_on) = mpsc::channel();
        let all = thread::scope(|scope| {
            let held = writer
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .unwrap();
            held.execute_batch("CREATE TABLE held (x); DROP TABLE held;")
                .unwrap();
            let callers = scope.spawn(|| {
                asked.send(()).unwrap();
                many(
                    &ledger,
                    12,
                    "--busy-timeout 60s reserve --key order:1 --fingerprint v1",
                )
            });
            go_on.recv().unwrap();
            // The callers meet the lock while these wait for it as long as they were told, which SQLite itself would not.
            for _ in 0..3 {
                let began = Instant::now();
                let said =
                    ledger.run("--busy-timeout 150ms reserve --key order:1 --fingerprint v1");
                assert!(said.stderr.starts_with("error[busy]: "), "{said:?}");
                assert!(
                    began.elapsed() >= Duration::from_millis(150),
                    "it did not wait"
                );
            }
            assert!(!callers.is_finished());
            held.commit().unwrap();
            drop(writer);
            callers.join().unwrap()
        });
        all_answered(&all);
        assert_eq!(count(&all, "EXECUTE"), 1, "round {round}: {all:?}");
        let mode: String = plain(&path)
            .query_row("PRAGMA journal_mode", [], |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
    }
}

/// Between the look for the file and the look for a log without one, a rival may create the ledger and decide in it.
#[test]
fn a_ledger_that_is_created_and_used_while_somebody_looks_is_no_leftover() {
    let made = Scratch::with_ledger();
    let open = plain(&made.path("receipts.db"));
    open.query_row(
        "SELECT count(*) FROM receipt_ledger_receipt",
        [],
        |_| Ok(()),
    )
    .unwrap();
    made.run("reserve --key order:1 --fingerprint v1");
    for _ in 0..150 * scale() {
        let ledger = Scratch::new();
        for ending in ["", "-wal"] {
            let (from, to) = (format!("receipts.db{ending}"), format!("new{ending}"));
            fs::copy(made.path(&from), ledger.path(&to)).unwrap();
        }
        let names = ["", "-wal"].map(|ending| {
            let (from, to) = (format!("new{ending}"), format!("receipts.db{ending}"));
            (ledger.path(&from), ledger.path(&to))
        });
        let path = ledger.path("receipts.db");
        let looking = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                looking.wait();
                for (from, to) in &names {
                    fs::rename(from, to).unwrap();
                }
            });
            looking.wait();
            loop {
                match SqliteStore::open_to_read(OpenOptions::new(&path)) {
                    Err(Error::NoLedger { .. }) => {}
                    Err(error @ Error::RefusedFile { .. }) => panic!("{error}"),
                    Ok(_) | Err(_) => break,
                }
            }
        });
    }
}
