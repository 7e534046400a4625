//! Contract §5 through the binary: every receipt before × every call, what is said and what is left.

use super::contract;
use super::prepared::{RESULT, RIGHT, SAME, prepare, shown, told};
use super::support::{Said, Scratch};
use super::table::{cells, rows};

/// The arguments of a call, without its attempt.
pub(super) fn call(verb: &str, key: &str) -> Vec<String> {
    let line = match verb {
        "succeed" => "succeed".to_owned(),
        "succeed same result" => format!("succeed --result-json={RESULT}"),
        "succeed other result" => "succeed --result-json=null".to_owned(),
        "fail" => "fail --reason=declined".to_owned(),
        "unknown" => "unknown --reason=timeout".to_owned(),
        "renew" => "renew --lease=1h".to_owned(),
        "resolve succeeded" => "resolve --as=succeeded --evidence=seen".to_owned(),
        "resolve failed" => "resolve --as=failed --evidence=seen".to_owned(),
        "resolve succeeded same result" => {
            format!("resolve --as=succeeded --evidence=seen --result-json={RESULT}")
        }
        "resolve succeeded other result" => {
            "resolve --as=succeeded --evidence=seen --result-json=null".to_owned()
        }
        other => panic!("no such call: {other}"),
    };
    let mut args: Vec<String> = line.split(' ').map(str::to_owned).collect();
    args.push(format!("--key={key}"));
    args
}

/// No answer, with this code, the message saying `says`; a hint is given.
pub(super) fn refused(said: &Said, code: &str, says: &str, case: &str) {
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("", 2),
        "{case}: {}",
        said.stderr
    );
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert!(
        lines[0].starts_with(&format!("error[{code}]: ")),
        "{case}: {}",
        said.stderr
    );
    assert!(lines[0].contains(says), "{case}: {}", said.stderr);
    assert_eq!(lines.len(), 2, "{case}: {}", said.stderr);
    assert!(lines[1].starts_with("hint: "), "{case}: {}", said.stderr);
}

fn every_cell(table: &'static str, prefix: &str, fingerprint: bool) {
    let ledger = Scratch::with_ledger();
    for (index, (name, column, expected)) in cells(table).into_iter().enumerate() {
        let key = format!("key-{index}");
        let current = prepare(&ledger, name, &key);
        let verb = format!("{prefix}{column}");
        let mut args = call(&verb, &key);
        if current > 0 || column == "renew" {
            args.push(format!("--attempt={}", current.max(1)));
        }
        if fingerprint {
            args.push(format!("--fingerprint={SAME}"));
        }
        let before = shown(&ledger, &key);
        let said = ledger.run_args(&args);
        let after = shown(&ledger, &key);
        let case = format!("{name} / {verb}");
        let settled = |state: &str| {
            let line = format!("state={state} attempt={}\n", current.max(1));
            assert_eq!(
                (said.stdout.as_str(), said.stderr.as_str(), said.code),
                (line.as_str(), "", 0),
                "{case}"
            );
        };
        match expected {
            "not-found" => refused(&said, "not-found", &key, &case),
            "invalid" | "invalid, marked" => {
                refused(
                    &said,
                    "invalid-transition",
                    &format!(" {} ", told(name)),
                    &case,
                );
                let receipt = |text: &str| text.lines().next().unwrap_or_default().to_owned();
                assert_eq!(
                    receipt(&after),
                    receipt(&before),
                    "{case}: a refusal changes no state"
                );
                let rows = after.lines().count() - before.lines().count();
                // A pruned receipt has no history to keep it in.
                let kept = expected != "invalid" && !name.starts_with("pruned");
                assert_eq!(rows, usize::from(kept), "{case}: {after}");
            }
            "same" | "answered" => {
                settled(told(name));
                assert_eq!(after, before, "{case}: changes nothing");
            }
            "renewed" | "back" => {
                settled("reserved");
                let rows = after.lines().count() - before.lines().count();
                assert_eq!(rows, usize::from(expected == "back"), "{case}");
                assert!(!after.contains(" lease_expires_at= "), "{case}: {after}");
            }
            state => {
                settled(state);
                let pruned = name.starts_with("pruned");
                assert!(
                    after.starts_with(&format!(
                        "state={state} attempt={} key={key} ",
                        current.max(1)
                    )),
                    "{case}: {after}"
                );
                assert!(after.contains(" lease_expires_at= "), "{case}: {after}");
                let by = match (prefix, state) {
                    ("resolve ", _) => "settled_by=reconciled reason=seen",
                    (_, "succeeded") => "settled_by=caller reason= ",
                    (_, "failed") => "settled_by=caller reason=declined",
                    (_, _) => "settled_by= reason=",
                };
                assert!(after.contains(by), "{case}: {after}");
                if !pruned && name != "nothing" {
                    assert_eq!(
                        after.lines().count(),
                        before.lines().count() + 1,
                        "{case}: one row"
                    );
                }
            }
        }
    }
}

#[test]
fn every_cell_of_succeed_fail_and_unknown() {
    every_cell(contract::SETTLE, "", false);
}

#[test]
fn every_cell_of_renew() {
    every_cell(contract::RENEW, "", false);
}

#[test]
fn every_cell_of_resolve() {
    every_cell(contract::RESOLVE, "resolve ", true);
}

#[test]
fn attempt_and_owner_are_asked_in_this_order_before_the_state_is() {
    let ledger = Scratch::with_ledger();
    let table = rows(contract::FENCING);
    for (row_index, row) in table[1..].iter().enumerate() {
        for (column, expected) in table[0].iter().zip(row).skip(2) {
            if *expected == "-" {
                continue;
            }
            let key = format!("key-{row_index}-{}", column.replace(' ', "-"));
            assert_eq!(prepare(&ledger, "reserved, lease run out, late", &key), 2);
            let mut args = call(column, &key);
            match row[0] {
                "none" => {}
                "current" => args.push("--attempt=2".to_owned()),
                "older" => args.push("--attempt=1".to_owned()),
                _ => args.push("--attempt=3".to_owned()),
            }
            match row[1] {
                "none" => {}
                "right" => args.push(format!("--owner={RIGHT}")),
                _ => args.push("--owner=worker-9".to_owned()),
            }
            let receipt = |text: &str| text.lines().next().unwrap().to_owned();
            let before = receipt(&shown(&ledger, &key));
            let said = ledger.run_args(&args);
            let case = format!("{column} / attempt {} / owner {}", row[0], row[1]);
            match *expected {
                "go" => assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{case}"),
                "stale-attempt" => refused(&said, "stale-attempt", "attempt 2", &case),
                code => refused(&said, code, RIGHT, &case),
            }
            if *expected != "go" {
                assert_eq!(receipt(&shown(&ledger, &key)), before, "{case}");
            }
        }
    }
}

#[test]
fn what_was_declared_unknown_becomes_failed_only_by_evidence() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        "unknown --key k --reason timeout",
        "state=unknown attempt=1\n",
    );
    let said = ledger.refuses("fail --key k --attempt 1", "invalid-transition");
    assert!(
        said.contains("resolve --key k --as failed --evidence"),
        "{said}"
    );
    ledger.refuses("resolve --key k --as failed", "usage");
    ledger.refuses("resolve --key k --as failed --evidence=", "invalid-input");
    ledger.says(
        "resolve --key k --as failed --evidence e",
        "state=failed attempt=1\n",
    );
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=2\n",
    );
}

#[test]
fn a_late_success_makes_the_failure_of_the_next_attempt_unknown() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("fail --key k --attempt 1", "state=failed attempt=1\n");
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=2\n",
    );
    ledger.refuses("succeed --key k --attempt 1", "stale-attempt");
    ledger.says(
        "fail --key k --attempt 2 --reason declined",
        "state=unknown attempt=2\n",
    );
    ledger.says(
        "fail --key k --attempt 2 --reason declined",
        "state=unknown attempt=2\n",
    );
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=SKIP_UNKNOWN state=unknown attempt=2\n",
    );
    ledger.says(
        "resolve --key k --as failed --attempt 2 --evidence e",
        "state=failed attempt=2\n",
    );
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=3\n",
    );
}

#[test]
fn a_success_that_contradicts_a_failure_bars_the_retry_until_evidence_answers_it() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("fail --key k --attempt 1", "state=failed attempt=1\n");
    ledger.refuses("succeed --key k --attempt 1", "invalid-transition");
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=SKIP_FAILED state=failed attempt=1\n",
    );
    ledger.says(
        "resolve --key k --as failed --evidence e",
        "state=failed attempt=1\n",
    );
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=2\n",
    );
}
