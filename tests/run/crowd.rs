//! Many `run`s of one key at once (contract 4.1, 4.4, 6.4).

use std::process::Command;
use std::time::{Duration, Instant};

use super::procs::together;
use super::stage::{Gate, Running, finish, lines, perform, stands, until};
use super::support::Scratch;

/// Longer than any of them takes, and shorter than what they would wait for.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn of_20_runs_at_once_one_performs_and_no_other_says_success_before_it_is_done() {
    let ledger = Scratch::with_ledger();
    let run = perform(
        &ledger,
        "--busy-timeout 60s",
        "echo $$ >>effects; sleep 0.3",
    );
    let all = together(&[0; 20].map(|_| clone(&run)));
    assert_eq!(lines(&ledger, "effects").len(), 1);
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
    let told = |decision: &str, code: i32| {
        let start = format!("decision={decision} ");
        all.iter()
            .filter(|said| said.stderr.starts_with(&start) && said.code == code)
            .count()
    };
    let executed = told("EXECUTE", 0);
    let skipped = told("SKIP_IN_FLIGHT", 75) + told("SKIP_SUCCEEDED", 0);
    assert_eq!((executed, skipped), (1, 19), "{all:?}");
    assert!(all.iter().all(|said| said.stdout.is_empty()));
}

#[test]
fn of_20_runs_at_once_that_wait_all_end_with_success_and_the_same_output() {
    let ledger = Scratch::with_ledger();
    let run = perform(
        &ledger,
        "--busy-timeout 60s --wait 1h --capture",
        "echo $$ | tee -a effects; sleep 0.3",
    );
    let all = together(&[0; 20].map(|_| clone(&run)));
    let effects = lines(&ledger, "effects");
    assert_eq!(effects.len(), 1);
    for said in &all {
        assert_eq!(
            (said.stdout.trim_end(), said.code),
            (effects[0].as_str(), 0),
            "{said:?}"
        );
    }
}

#[test]
fn a_wait_that_is_over_says_in_flight_and_one_that_sees_the_end_says_what_it_was() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let began = Instant::now();
    let first = Running::start(&ledger, &mut perform(&ledger, "", "read go <gate; exit 9"));
    let waiting = gate.reached();
    for options in ["", "--wait 0s", "--wait 200ms"] {
        let said = finish(&ledger, &mut perform(&ledger, options, "echo x >>effects"));
        assert_eq!(
            (said.stderr.as_str(), said.code),
            ("decision=SKIP_IN_FLIGHT state=reserved attempt=1\n", 75)
        );
    }
    let mut second = Running::start(
        &ledger,
        &mut perform(&ledger, "--wait 1h", "echo x >>effects"),
    );
    assert!(!second.has_ended());
    drop(waiting);
    assert_eq!(first.said().code, 9);
    until("the one that waits ends", || second.has_ended());
    let said = second.said();
    assert_eq!(
        (said.stderr.as_str(), said.code),
        ("decision=SKIP_UNKNOWN state=unknown attempt=1\n", 75)
    );
    assert!(began.elapsed() < LONG);
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}

#[test]
fn who_waits_for_a_failure_and_may_retry_performs_it_then() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let first = perform(&ledger, "--failed-exit 9", "read go <gate; exit 9");
    let first = Running::start(&ledger, &mut { first });
    let waiting = gate.reached();
    let run = perform(
        &ledger,
        "--wait 1h --allow-failed-retry",
        "echo x >>effects",
    );
    let second = Running::start(&ledger, &mut { run });
    drop(waiting);
    assert_eq!(first.said().code, 9);
    let said = second.said();
    assert_eq!(
        (said.stderr.as_str(), said.code),
        ("decision=RETRY state=reserved attempt=2\n", 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}

fn clone(command: &Command) -> Command {
    super::procs::wrapped("env", &["--"], command)
}
