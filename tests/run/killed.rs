//! Kills of `run`, of its command and of both: never a second execution, and nobody is told that it failed.

use rustix::process::Signal;

use super::stage::{Gate, Running, expire, lines, perform, skips, stands, until, without_terminal};
use super::support::Scratch;

/// Performs at once, then stays until the gate opens.
const STAYS: &str = "echo x >>effects; echo $$ >pid; read go <gate; echo ended >>ends";

#[test]
fn run_killed_with_9_leaves_an_attempt_in_flight_and_unknown_after_its_lease() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(&ledger, &mut perform(&ledger, "", STAYS));
    let waiting = gate.reached();
    run.signal(Signal::KILL);
    assert_eq!(run.said().code, -9);
    skips(&ledger, "SKIP_IN_FLIGHT", 75);
    expire(&ledger, "k");
    skips(&ledger, "SKIP_UNKNOWN", 75);
    drop(waiting);
    // The command goes on, and what it settles itself is taken.
    until("the command ends", || !lines(&ledger, "ends").is_empty());
    ledger.says("succeed --key k --attempt 1", "state=succeeded attempt=1\n");
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}

#[test]
fn a_command_killed_with_9_is_unknown_and_not_performed_again() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(&ledger, &mut perform(&ledger, "--failed-exit any", STAYS));
    let waiting = gate.reached();
    let pid = lines(&ledger, "pid")[0].parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL)
        .unwrap();
    assert_eq!(run.said().code, 137);
    drop(waiting);
    assert_eq!(stands(&ledger, "k"), "unknown 1");
    skips(&ledger, "SKIP_UNKNOWN", 75);
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}

#[test]
fn a_cancelled_ci_job_whose_command_obeys_is_unknown() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = without_terminal(&perform(&ledger, "--failed-exit any", STAYS));
    let run = Running::start(&ledger, &mut { run });
    let waiting = gate.reached();
    run.signal_group(Signal::INT);
    assert_eq!(run.said().code, 130);
    drop(waiting);
    assert_eq!(stands(&ledger, "k"), "unknown 1");
    skips(&ledger, "SKIP_UNKNOWN", 75);
    assert_eq!(
        (lines(&ledger, "effects"), lines(&ledger, "ends")),
        (vec!["x".to_owned()], vec![])
    );
}

#[test]
fn a_cancelled_ci_job_whose_command_ignores_all_but_kill_is_unknown_after_its_lease() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let script = format!("trap '' INT TERM; {STAYS}");
    let run = without_terminal(&perform(&ledger, "", &script));
    let run = Running::start(&ledger, &mut { run });
    let waiting = gate.reached();
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        run.signal_group(signal);
    }
    assert_eq!(run.said().code, -9);
    skips(&ledger, "SKIP_IN_FLIGHT", 75);
    expire(&ledger, "k");
    skips(&ledger, "SKIP_UNKNOWN", 75);
    // The kill of the group has spared the command.
    drop(waiting);
    until("the command ends", || !lines(&ledger, "ends").is_empty());
    assert_eq!(stands(&ledger, "k"), "unknown 1");
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}
