//! The ledger is removed, replaced, full or locked while the command runs: the loss is loud, and never a success.

use std::fs;
use std::time::Duration;

use rusqlite::TransactionBehavior;
use rustix::process::Signal;

use super::procs::plain;
use super::stage::{Gate, Running, expire, finish, lines, perform, skips, stands, until};
use super::support::{Said, Scratch};

/// Half the time that a lock is held beyond the command's end. A call that does not settle gives up in the whole of it
/// (contract 5.6).
const HALF_HELD: Duration = Duration::from_millis(2_800);

fn is_not_recorded(said: &Said, as_what: &str, code: i32) {
    assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
    let told = said.stderr.lines().nth(1).unwrap_or_default();
    assert!(
        told.starts_with("error[not-recorded]: attempt 1 of k ended ("),
        "{said:?}"
    );
    assert!(told.contains(&format!(
        "counts as {as_what}, which could not be recorded: "
    )));
    assert!(said.stderr.contains("\nhint: "), "{said:?}");
}

const ENDINGS: [(&str, &str, i32); 4] = [
    ("exit 0", "succeeded", 2),
    ("exit 5", "unknown", 5),
    ("exit 9", "failed", 9),
    ("kill -KILL $$", "unknown", 137),
];

#[test]
fn a_ledger_that_was_removed() {
    for (ending, as_what, code) in ENDINGS {
        for remove in [
            "rm receipts.db",
            "rm receipts.db*",
            "mv receipts.db elsewhere",
        ] {
            let ledger = Scratch::with_ledger();
            let script = format!("{remove}; {ending}");
            let said = finish(&ledger, &mut perform(&ledger, "--failed-exit 9", &script));
            is_not_recorded(&said, as_what, code);
            assert!(
                !ledger.path("receipts.db").exists(),
                "{remove}: none was made anew"
            );
        }
    }
}

#[test]
fn a_ledger_that_was_replaced_by_another() {
    for (ending, as_what, code) in ENDINGS {
        let ledger = Scratch::with_ledger();
        let script = format!(
            "\"$RL\" --db other.db init >/dev/null 2>&1; mv other.db receipts.db; rm -f receipts.db-*; {ending}"
        );
        let said = finish(&ledger, &mut perform(&ledger, "--failed-exit 9", &script));
        is_not_recorded(&said, as_what, code);
        assert_eq!(
            stands(&ledger, "k"),
            "nothing",
            "the other ledger is left alone"
        );
    }
}

#[test]
fn a_ledger_that_was_retired() {
    for (ending, as_what, code) in ENDINGS {
        let ledger = Scratch::with_ledger();
        let script = format!("\"$RL\" export --retire --to moved.jsonl >/dev/null; {ending}");
        let said = finish(&ledger, &mut perform(&ledger, "--failed-exit 9", &script));
        is_not_recorded(&said, as_what, code);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_ledger_that_is_full() {
    use rustix::process::{Resource, Rlimit, prlimit};

    for (ending, as_what, code) in ENDINGS {
        let ledger = Scratch::with_ledger();
        let gate = Gate::new(&ledger, "gate");
        let script = format!("echo x >>effects; read go <gate; {ending}");
        let run = Running::start(&ledger, &mut perform(&ledger, "--failed-exit 9", &script));
        let waiting = gate.reached();
        // Of the files it can still grow, its standard error must not be one.
        let none = Rlimit {
            current: Some(4096),
            maximum: Some(4096),
        };
        prlimit(Some(run.pid()), Resource::Fsize, none).unwrap();
        drop(waiting);
        is_not_recorded(&run.said(), as_what, code);
        skips(&ledger, "SKIP_IN_FLIGHT", 75);
        expire(&ledger, "k");
        skips(&ledger, "SKIP_UNKNOWN", 75);
        ledger.says("succeed --key k --attempt 1", "state=succeeded attempt=1\n");
        assert_eq!(lines(&ledger, "effects"), ["x"]);
    }
}

#[test]
fn a_ledger_that_stays_locked() {
    for (ending, as_what, code) in ENDINGS {
        let ledger = Scratch::with_ledger();
        let gate = Gate::new(&ledger, "gate");
        let script = format!("echo x >>effects; read go <gate; {ending}");
        let options = "--failed-exit 9 --busy-timeout 100ms";
        let run = Running::start(&ledger, &mut perform(&ledger, options, &script));
        let waiting = gate.reached();
        let mut rival = plain(&ledger.path("receipts.db"));
        let held = rival
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        drop(waiting);
        let said = run.said();
        is_not_recorded(&said, as_what, code);
        assert!(
            said.stderr.contains("it was locked by others for 100 ms"),
            "{said:?}"
        );
        held.rollback().unwrap();
        skips(&ledger, "SKIP_IN_FLIGHT", 75);
        expire(&ledger, "k");
        skips(&ledger, "SKIP_UNKNOWN", 75);
        assert_eq!(lines(&ledger, "effects"), ["x"]);
    }
}

#[test]
fn a_ledger_that_is_locked_for_a_while_is_waited_for_and_signals_meanwhile_lose_nothing() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let script = "read go <gate; echo x >>effects; exit 0";
    let mut run = Running::start(&ledger, &mut perform(&ledger, "--capture", script));
    let waiting = gate.reached();
    let mut rival = plain(&ledger.path("receipts.db"));
    let held = rival
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    drop(waiting);
    until("the command has performed", || {
        !lines(&ledger, "effects").is_empty()
    });
    // Not to wait for something: for so long the lock is there.
    std::thread::sleep(HALF_HELD);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::USR1] {
        run.signal(signal);
    }
    std::thread::sleep(HALF_HELD);
    assert!(!run.has_ended());
    held.rollback().unwrap();
    let said = run.said();
    assert_eq!(
        (said.stderr.as_str(), said.code),
        ("decision=EXECUTE state=reserved attempt=1\n", 0)
    );
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}

#[test]
fn a_folder_that_was_renamed_with_the_ledger_in_it() {
    let ledger = Scratch::new();
    fs::create_dir(ledger.path("folder")).unwrap();
    let mut command = super::support::binary();
    command
        .current_dir(ledger.path(""))
        .args([
            "--db",
            "folder/receipts.db",
            "run",
            "--key",
            "k",
            "--fingerprint",
            "f",
            "--",
        ])
        .args(["mv", "folder", "elsewhere"]);
    let said = finish(&ledger, &mut command);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("error[not-recorded]: "), "{said:?}");
}
