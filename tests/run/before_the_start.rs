//! A signal that comes before the command has started (contract 6.6, 4.4).

use rusqlite::TransactionBehavior;
use rustix::process::Signal;

use super::procs::plain;
use super::stage::{Gate, Running, lines, perform, stands, until};
use super::support::Scratch;

const SCRIPT: &str = "echo x >>effects";

/// Whether the process sleeps, as SQLite does between two looks at a lock, and has set something up for INT: then `run`
/// has taken over its signals and is about to decide.
#[cfg(target_os = "linux")]
fn waits_for_a_lock(run: &Running) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{}/syscall", run.pid())).unwrap_or_default();
    let number = call
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    let sleeps = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];
    number.is_some_and(|number| sleeps.contains(&number)) && minds_signals(run)
}

#[cfg(target_os = "linux")]
fn minds_signals(run: &Running) -> bool {
    let path = format!("/proc/{}/status", run.pid());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    caught.is_some_and(|set| set & (1 << (Signal::INT.as_raw() - 1)) != 0)
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_while_it_is_being_decided_starts_nothing_and_is_failed() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::USR1, 138)] {
        for options in ["", "--capture", "--failed-exit any"] {
            let ledger = Scratch::with_ledger();
            let mut rival = plain(&ledger.path("receipts.db"));
            let held = rival
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .unwrap();
            let options = format!("--busy-timeout 60s {options}");
            let run = Running::start(&ledger, &mut perform(&ledger, &options, SCRIPT));
            until("run waits for the lock", || waits_for_a_lock(&run));
            run.signal(signal);
            held.rollback().unwrap();
            let said = run.said();
            assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
            assert_eq!(stands(&ledger, "k"), "failed 1");
            assert_eq!(lines(&ledger, "effects"), [""; 0]);
        }
    }
}

#[test]
fn a_signal_while_it_waits_for_somebody_else_ends_the_wait_and_changes_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let ledger = Scratch::with_ledger();
        let gate = Gate::new(&ledger, "gate");
        let first = Running::start(&ledger, &mut perform(&ledger, "", "read go <gate"));
        let waiting = gate.reached();
        let run = Running::start(&ledger, &mut perform(&ledger, "--wait 1h", SCRIPT));
        #[cfg(target_os = "linux")]
        until("run waits", || minds_signals(&run));
        run.signal(signal);
        let said = run.said();
        // Before it has taken over its signals, one ends it as it ends any process.
        assert!([code, 128 - code].contains(&said.code), "{said:?}");
        assert_eq!(stands(&ledger, "k"), "reserved 1");
        drop(waiting);
        first.said();
        assert_eq!(lines(&ledger, "effects"), [""; 0]);
    }
}

#[test]
fn a_signal_while_the_payload_is_read_ends_it_at_once() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "payload");
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = ledger.command(["run", "--key", "k", "--payload-file", "payload", "--"]);
        command.args(["sh", "-c", SCRIPT]);
        let run = Running::start(&ledger, &mut command);
        let waiting = gate.reached();
        run.signal(signal);
        let said = run.said();
        drop(waiting);
        let number = signal.as_raw();
        assert!([128 + number, -number].contains(&said.code), "{said:?}");
        assert_eq!(stands(&ledger, "k"), "nothing");
    }
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}
