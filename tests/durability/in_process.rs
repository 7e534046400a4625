//! Several connections in one process: POSIX drops a process's locks with the first descriptor that it closes.

use std::fs;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::Duration;

use receipt_ledger::Ledger;
use receipt_ledger::decide::{Decision, Reserve, Settle, Settlement};
use receipt_ledger::receipt::{Fingerprint, Key, State};
use receipt_ledger::store::Store as _;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};

use super::procs::{alone, integrity};
use super::support::Scratch;

fn open(ledger: &Scratch) -> Ledger<SqliteStore> {
    let mut options = OpenOptions::new(ledger.path("receipts.db"));
    options.busy_timeout = Duration::from_secs(60);
    Ledger::new(SqliteStore::open(options).unwrap())
}

fn reserve(ledger: &mut Ledger<SqliteStore>, key: &str) -> Decision {
    let request = Reserve::new(Key::parse(key).unwrap(), Fingerprint::parse("v1").unwrap());
    ledger.reserve(&request).unwrap().decision
}

fn close(ledger: Ledger<SqliteStore>) {
    ledger.into_store().close().unwrap();
}

/// Another process decides and leaves. It must not take itself for the last one: the log keeps what it wrote.
fn a_third_writes(ledger: &Scratch, key: &str) {
    ledger.says(
        &format!("reserve --key {key} --fingerprint v1"),
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let log = fs::metadata(ledger.path("receipts.db-wal")).unwrap().len();
    assert!(
        log > 0,
        "{key}: our lock was lost, and the log cut under us"
    );
}

#[test]
fn a_second_connection_opened_and_closed_leaves_the_first_ones_locks_alone() {
    let ledger = Scratch::with_ledger();
    let mut first = open(&ledger);
    assert_eq!(reserve(&mut first, "a"), Decision::Execute);
    let mut second = open(&ledger);
    a_third_writes(&ledger, "b");
    assert_eq!(reserve(&mut second, "c"), Decision::Execute);
    close(second);
    a_third_writes(&ledger, "d");
    let reader = SqliteStore::open_to_read(OpenOptions::new(ledger.path("receipts.db"))).unwrap();
    a_third_writes(&ledger, "e");
    reader.close().unwrap();
    a_third_writes(&ledger, "f");
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(reserve(&mut first, key), Decision::SkipInFlight, "{key}");
    }
    close(first);
    for key in ["a", "b", "c", "d", "e", "f"] {
        ledger.says(
            &format!("reserve --key {key} --fingerprint v1"),
            "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
        );
    }
    assert_eq!(integrity(&ledger.path("receipts.db")), "ok");
}

#[test]
fn the_connection_that_created_the_ledger_keeps_its_locks_too() {
    let ledger = Scratch::new();
    let mut first = open(&ledger);
    assert!(first.store().created());
    a_third_writes(&ledger, "a");
    let second = open(&ledger);
    a_third_writes(&ledger, "b");
    close(second);
    a_third_writes(&ledger, "c");
    assert_eq!(reserve(&mut first, "c"), Decision::SkipInFlight);
    close(first);
}

/// How many locks this process holds on the ledger's file, as the kernel counts them.
#[cfg(target_os = "linux")]
fn locks_held(path: &Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", fs::metadata(path).unwrap().ino());
    let own = format!(" {} ", std::process::id());
    let all = fs::read_to_string("/proc/locks").unwrap_or_default();
    let ours = |line: &&str| line.contains(&inode) && line.contains(&own);
    all.lines().filter(ours).count()
}

/// SQLite survives the loss of this lock in most ways by now; where there is no log yet it does not.
#[test]
#[cfg(target_os = "linux")]
fn no_lock_on_the_file_is_lost_to_another_look_at_it() {
    let ledger = Scratch::new();
    let path = ledger.path("receipts.db");
    let mut first = open(&ledger);
    assert_eq!(reserve(&mut first, "a"), Decision::Execute);
    let held = locks_held(&path);
    if held == 0 {
        eprintln!("skipped: this kernel does not show its locks");
        return;
    }
    let second = open(&ledger);
    assert_eq!(locks_held(&path), held, "a second connection was opened");
    let reader = SqliteStore::open_to_read(OpenOptions::new(&path)).unwrap();
    assert_eq!(locks_held(&path), held, "a reader was opened");
    reader.close().unwrap();
    close(second);
    assert_eq!(locks_held(&path), held, "both were closed");
    let (made, _) = SqliteStore::init(OpenOptions::new(&path)).unwrap();
    assert_eq!(
        (made, locks_held(&path)),
        (false, held),
        "init was told again"
    );
    close(first);
    assert_eq!(locks_held(&path), 0);
}

#[test]
fn connections_closed_in_every_order_lose_nothing() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let ledger = Scratch::with_ledger();
        let mut open_ones = [
            Some(open(&ledger)),
            Some(open(&ledger)),
            Some(open(&ledger)),
        ];
        let mut keys = Vec::new();
        for closed in order {
            for (n, one) in open_ones.iter_mut().enumerate() {
                if let Some(one) = one {
                    let key = format!("{closed}:{n}");
                    assert_eq!(reserve(one, &key), Decision::Execute);
                    keys.push(key);
                }
            }
            let key = format!("{closed}:third");
            a_third_writes(&ledger, &key);
            keys.push(key);
            close(open_ones[closed].take().unwrap());
        }
        assert_eq!(
            fs::metadata(ledger.path("receipts.db-wal")).unwrap().len(),
            0,
            "{order:?}"
        );
        for key in keys {
            let said = ledger.run(&format!("reserve --key {key} --fingerprint v1"));
            assert_eq!(
                said.stdout, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
                "{order:?} {key}"
            );
        }
    }
}

#[test]
fn of_many_threads_of_one_process_one_is_told_to_execute() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    for round in 0..10 {
        let key = format!("order:{round}");
        let barrier = std::sync::Barrier::new(8);
        let executed: usize = std::thread::scope(|scope| {
            let worker = |_| {
                scope.spawn(|| {
                    let mut own = open(&ledger);
                    barrier.wait();
                    let decision = reserve(&mut own, &key);
                    close(own);
                    usize::from(decision == Decision::Execute)
                })
            };
            let workers: Vec<_> = (0..8).map(worker).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .sum()
        });
        assert_eq!(executed, 1, "round {round}");
    }
}

#[test]
fn two_connections_of_one_process_see_each_others_decisions_at_once() {
    let ledger = Scratch::with_ledger();
    let (mut one, mut other) = (open(&ledger), open(&ledger));
    for n in 0..20 {
        let key = format!("order:{n}");
        assert_eq!(reserve(&mut one, &key), Decision::Execute);
        assert_eq!(reserve(&mut other, &key), Decision::SkipInFlight);
        let request = Settle {
            key: Key::parse(&key).unwrap(),
            attempt: Some(1),
            owner: None,
            settlement: Settlement::Succeeded { result: None },
        };
        other.settle(&request).unwrap();
        let reading = one.show(&request.key, false).unwrap();
        let state = reading.entry.map(|entry| entry.state(reading.now));
        assert_eq!(state, Some(State::Succeeded));
    }
}
