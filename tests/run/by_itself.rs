//! Contract 6.7: what the command settled itself stands; what others did meanwhile is not overwritten.

use super::stage::{Gate, Running, expire, fact, finish, lines, perform, skips, stands};
use super::support::{Said, Scratch};

#[test]
fn what_the_command_settled_itself_stands_and_0_is_earned_only_by_a_success() {
    let succeed = "succeed --result-json '{\"id\":7}'";
    for (verb, ending, state, code) in [
        (succeed, "exit 0", "succeeded", 0),
        (succeed, "exit 5", "succeeded", 5),
        (succeed, "kill -TERM $$", "succeeded", 143),
        ("fail --reason declined", "exit 0", "failed", 75),
        ("fail --reason declined", "exit 3", "failed", 3),
        ("fail --reason declined", "kill -KILL $$", "failed", 137),
        ("unknown --reason timeout", "exit 0", "unknown", 75),
        ("unknown --reason timeout", "exit 4", "unknown", 4),
        ("unknown --reason timeout", "exit 9", "unknown", 9),
    ] {
        for options in ["--failed-exit 9", "--failed-exit 9 --skip-exit 0"] {
            let ledger = Scratch::with_ledger();
            let script = format!("\"$RL\" {verb} --key k --attempt 1 >/dev/null; {ending}");
            let said = finish(&ledger, &mut perform(&ledger, options, &script));
            let case = format!("{verb}; {ending}: {said:?}");
            assert_eq!((said.stdout.as_str(), said.code), ("", code), "{case}");
            assert_eq!(said.stderr, "decision=EXECUTE state=reserved attempt=1\n");
            assert_eq!(stands(&ledger, "k"), format!("{state} 1"), "{case}");
            match state {
                "succeeded" => {
                    assert_eq!(fact(&ledger, "k", "result"), serde_json::json!({"id": 7}));
                }
                "failed" => assert_eq!(fact(&ledger, "k", "reason"), "declined"),
                _ => assert_eq!(fact(&ledger, "k", "reason"), "timeout"),
            }
        }
    }
}

#[test]
fn what_it_settled_itself_stands_after_a_timeout_too() {
    let ledger = Scratch::with_ledger();
    let script = "\"$RL\" succeed --key k --attempt 1 >/dev/null; exec sleep 60";
    let said = finish(&ledger, &mut perform(&ledger, "--timeout 1s", script));
    assert_eq!(said.code, 124);
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
}

#[test]
fn a_success_that_it_settled_itself_stands_though_it_was_pruned_meanwhile() {
    for (ending, code) in [("exit 0", 0), ("exit 5", 5)] {
        let ledger = Scratch::with_ledger();
        let script = format!(
            "exec >/dev/null
             \"$RL\" succeed --key k --attempt 1 && \"$RL\" prune --older-than 0s && {ending}"
        );
        let said = finish(&ledger, &mut perform(&ledger, "", &script));
        assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
        assert!(!said.stderr.contains("error["), "{said:?}");
        assert!(ledger.run("show --key k").stdout.contains(" pruned=true"));
        skips(&ledger, "SKIP_SUCCEEDED", 0);
    }
}

/// Runs a command that ends as `ending` once `meanwhile` has happened to its attempt, whose lease has run out.
fn meanwhile(ledger: &Scratch, ending: &str, meanwhile: impl FnOnce()) -> Said {
    let gate = Gate::new(ledger, "gate");
    let script = format!("echo x >>effects; read go <gate; {ending}");
    let options = "--lease 1h --failed-exit 9";
    let run = Running::start(ledger, &mut perform(ledger, options, &script));
    let waiting = gate.reached();
    expire(ledger, "k");
    meanwhile();
    drop(waiting);
    run.said()
}

fn is_not_recorded(said: &Said, code: i32) {
    assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
    assert!(
        said.stderr
            .contains("error[not-recorded]: attempt 1 of k ended"),
        "{said:?}"
    );
}

#[test]
fn a_late_outcome_of_an_attempt_whose_lease_ran_out_is_still_taken() {
    for (ending, code, state) in [
        ("exit 0", 0, "succeeded"),
        ("exit 9", 9, "failed"),
        ("exit 8", 8, "unknown"),
    ] {
        let ledger = Scratch::with_ledger();
        let said = meanwhile(&ledger, ending, || skips(&ledger, "SKIP_UNKNOWN", 75));
        assert_eq!(said.code, code);
        assert_eq!(stands(&ledger, "k"), format!("{state} 1"));
        assert_eq!(lines(&ledger, "effects"), ["x"]);
    }
}

#[test]
fn a_success_on_record_by_an_operator_is_a_success() {
    for (ending, code) in [("exit 0", 0), ("exit 8", 8), ("exit 9", 9)] {
        let ledger = Scratch::with_ledger();
        let said = meanwhile(&ledger, ending, || {
            ledger.says(
                "resolve --key k --as succeeded --evidence seen",
                "state=succeeded attempt=1\n",
            );
        });
        assert_eq!(said.code, code, "{said:?}");
        assert!(!said.stderr.contains("error["), "{said:?}");
        assert_eq!(stands(&ledger, "k"), "succeeded 1");
    }
}

#[test]
fn an_operators_failed_is_not_overwritten_and_a_success_after_it_is_kept_as_evidence() {
    for (ending, code) in [("exit 0", 2), ("exit 8", 8)] {
        let ledger = Scratch::with_ledger();
        let said = meanwhile(&ledger, ending, || {
            ledger.says(
                "resolve --key k --as failed --evidence absent",
                "state=failed attempt=1\n",
            );
        });
        is_not_recorded(&said, code);
        assert_eq!(stands(&ledger, "k"), "failed 1");
        let history = ledger.run("show --key k --history").stdout;
        let late = history.contains(" event=late_succeeded ");
        assert_eq!(late, code == 2, "{history}");
    }
}

#[test]
fn a_success_after_another_attempt_began_is_told_loudly_and_kept_as_evidence() {
    for (ending, code) in [
        ("exit 0", 2),
        ("exit 8", 8),
        ("exit 9", 9),
        ("kill -KILL $$", 137),
    ] {
        let ledger = Scratch::with_ledger();
        let said = meanwhile(&ledger, ending, || {
            ledger.says(
                "reserve --key k --fingerprint f --retry-unknown-within 24h",
                "decision=RETRY state=reserved attempt=2\n",
            );
        });
        is_not_recorded(&said, code);
        assert_eq!(stands(&ledger, "k"), "reserved 2");
        let after = if code == 2 { "unknown" } else { "failed" };
        ledger.says(
            "fail --key k --attempt 2",
            &format!("state={after} attempt=2\n"),
        );
        let history = ledger.run("show --key k --history").stdout;
        assert!(history.contains(" event=late_"), "{history}");
    }
}
