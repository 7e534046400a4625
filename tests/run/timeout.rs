//! Contract 6.3: `--timeout` is TERM, then KILL, and `unknown` whatever the command then says.

use std::time::{Duration, Instant};

use super::stage::{fact, finish, lines, perform, skips, stands};
use super::support::Scratch;

#[test]
fn a_command_that_runs_into_its_timeout_is_unknown_even_if_it_then_exits_with_0() {
    for (script, reason) in [
        ("exec sleep 60", "timed out, then killed by signal 15"),
        (
            "trap 'exit 0' TERM; while :; do sleep 0.02; done",
            "timed out, then exit code 0",
        ),
        (
            "trap 'exit 9' TERM; while :; do sleep 0.02; done",
            "timed out, then exit code 9",
        ),
    ] {
        for options in ["", "--failed-exit any", "--capture"] {
            let ledger = Scratch::with_ledger();
            let options = format!("--timeout 400ms {options}");
            let script = format!("echo x >>effects; {script}");
            let began = Instant::now();
            let said = finish(&ledger, &mut perform(&ledger, &options, &script));
            assert_eq!((said.stdout.as_str(), said.code), ("", 124), "{said:?}");
            assert!(began.elapsed() >= Duration::from_millis(400));
            assert_eq!(stands(&ledger, "k"), "unknown 1");
            assert_eq!(fact(&ledger, "k", "reason"), reason);
            skips(&ledger, "SKIP_UNKNOWN", 75);
            assert_eq!(lines(&ledger, "effects"), ["x"]);
        }
    }
}

#[test]
fn a_command_that_ignores_term_gets_kill_ten_seconds_later() {
    let ledger = Scratch::with_ledger();
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    let began = Instant::now();
    let said = finish(&ledger, &mut perform(&ledger, "--timeout 200ms", script));
    assert_eq!(said.code, 124);
    let took = began.elapsed();
    assert!(
        took >= Duration::from_millis(10_200) && took < Duration::from_secs(25),
        "{took:?}"
    );
    assert_eq!(stands(&ledger, "k"), "unknown 1");
    let reason = "timed out, then killed by signal 9";
    assert_eq!(fact(&ledger, "k", "reason"), reason);
}

#[test]
fn a_command_that_ends_in_time_does_not_notice_its_timeout() {
    let ledger = Scratch::with_ledger();
    let said = finish(&ledger, &mut perform(&ledger, "--timeout 1h", "exit 0"));
    assert_eq!(said.code, 0);
    let said = finish(
        &ledger,
        &mut perform(&ledger, "--timeout 1h --key own", "exit 124"),
    );
    assert_eq!(said.code, 124);
    assert_eq!(fact(&ledger, "own", "reason"), "exit code 124");
}
