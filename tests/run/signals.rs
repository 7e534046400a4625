//! Contract 6.6: signals reach the command exactly once, and `run` outlives it.

use rustix::process::Signal;

use super::procs::wrapped;
use super::stage::{Gate, Running, finish, lines, perform, stands, until, without_terminal};
use super::support::Scratch;

/// Notes the signals it gets in `got`, until there is a file `stop`; then exits with 7.
const NOTES: &str = "
    for name in INT TERM HUP QUIT USR1 USR2; do trap \"echo $name >>got\" $name; done
    echo ready >>ready
    while ! [ -e stop ]; do sleep 0.02; done
    exit 7";

const SIX: [(&str, Signal); 6] = [
    ("INT", Signal::INT),
    ("TERM", Signal::TERM),
    ("HUP", Signal::HUP),
    ("QUIT", Signal::QUIT),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
];

/// Sends each of the six five times, one after the other, and expects that the command got each as often.
fn each_reaches_the_command_once(send: impl Fn(&Running, Signal)) {
    let ledger = Scratch::with_ledger();
    let run = without_terminal(&perform(&ledger, "", NOTES));
    let run = Running::start(&ledger, &mut { run });
    until("the command is ready", || {
        !lines(&ledger, "ready").is_empty()
    });
    let mut sent = Vec::new();
    for round in 0..5 {
        for (name, signal) in SIX {
            send(&run, signal);
            sent.push(name);
            until(name, || lines(&ledger, "got").len() >= sent.len());
            assert_eq!(lines(&ledger, "got"), sent, "round {round}");
        }
    }
    std::fs::write(ledger.path("stop"), "").unwrap();
    assert_eq!(run.said().code, 7);
    assert_eq!(lines(&ledger, "got"), sent);
    assert_eq!(stands(&ledger, "k"), "unknown 1");
}

#[test]
fn a_signal_to_run_alone_reaches_the_command_once() {
    each_reaches_the_command_once(Running::signal);
}

#[test]
fn a_signal_to_the_whole_group_reaches_the_command_once() {
    each_reaches_the_command_once(Running::signal_group);
}

#[test]
fn a_command_that_traps_term_and_exits_9_is_recorded_as_9_and_passed_through() {
    for (options, state) in [("", "unknown 1"), ("--failed-exit 9", "failed 1")] {
        let ledger = Scratch::with_ledger();
        let script = "trap 'exit 9' TERM; : >ready; while :; do sleep 0.02; done";
        let run = Running::start(&ledger, &mut perform(&ledger, options, script));
        until("the command is ready", || ledger.path("ready").exists());
        run.signal(Signal::TERM);
        assert_eq!(run.said().code, 9);
        assert_eq!(stands(&ledger, "k"), state);
    }
}

#[test]
fn a_command_that_traps_term_and_then_succeeds_has_succeeded() {
    let ledger = Scratch::with_ledger();
    let script = "trap 'exit 0' TERM; : >ready; while :; do sleep 0.02; done";
    let run = Running::start(&ledger, &mut perform(&ledger, "", script));
    until("the command is ready", || ledger.path("ready").exists());
    run.signal(Signal::TERM);
    assert_eq!(run.said().code, 0);
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
}

#[test]
fn nohup_stays_effective_for_run_and_for_its_command() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let script = "kill -HUP $$; read go <gate; kill -HUP $$; echo survived >>effects";
    let nohup = wrapped::<&str>("nohup", &[], &perform(&ledger, "", script));
    let run = Running::start(&ledger, &mut without_terminal(&nohup));
    let waiting = gate.reached();
    run.signal(Signal::HUP);
    run.signal_group(Signal::HUP);
    drop(waiting);
    assert_eq!(run.said().code, 0);
    assert_eq!(lines(&ledger, "effects"), ["survived"]);
}

#[test]
fn what_was_ignored_when_run_started_stays_ignored_in_the_command() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let ignoring = "trap '' INT TERM HUP QUIT USR1 USR2; exec \"$0\" \"$@\"";
    let script = "for s in INT TERM HUP QUIT USR1 USR2; do kill -$s $$; done
        read go <gate; echo survived >>effects";
    let run = wrapped("sh", &["-c", ignoring], &perform(&ledger, "", script));
    let run = Running::start(&ledger, &mut without_terminal(&run));
    let waiting = gate.reached();
    for (_, signal) in SIX {
        run.signal_group(signal);
    }
    drop(waiting);
    let said = run.said();
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(lines(&ledger, "effects"), ["survived"]);
}

#[test]
fn a_command_has_the_usual_reaction_to_a_pipe_that_nobody_reads() {
    let ledger = Scratch::with_ledger();
    let script = "sh -c 'kill -PIPE $$'; echo $? >code; exit 0";
    let said = finish(&ledger, &mut perform(&ledger, "", script));
    assert_eq!(said.code, 0);
    assert_eq!(lines(&ledger, "code"), ["141"]);
}
