//! Contract §5.1 and §5.4: which attempt and which owner a call speaks for, for every verb and every receipt.

use receipt_ledger::decide::{
    Change, Refusal, Renew, Resolve, ResolveAnswer, SettleAnswer, Verdict, renew, resolve, settle,
};
use receipt_ledger::receipt::{Entry, EventKind, Owner, State};

use crate::cast::*;
use crate::contract::FENCING;
use crate::settle::call;
use crate::table::rows;

const VERBS: [&str; 6] = [
    "succeed",
    "fail",
    "unknown",
    "renew",
    "resolve succeeded",
    "resolve failed",
];

/// Any settling call: its refusal, if it was refused, and the change.
fn say(
    verb: &str,
    existing: Option<&Entry>,
    attempt: Option<u32>,
    owner: Option<Owner>,
) -> (Option<Refusal>, Change) {
    match verb {
        "renew" => {
            let request = Renew {
                key: key(),
                attempt: attempt.unwrap(),
                owner,
                lease_ms: MINUTE,
            };
            let (answer, change) = renew(existing, &request, at(NOW));
            (refusal(answer), change)
        }
        "resolve succeeded" | "resolve failed" => {
            let verdict = match verb {
                "resolve succeeded" => Verdict::Succeeded { result: None },
                _ => Verdict::Failed,
            };
            let evidence = text("seen");
            let request = Resolve {
                key: key(),
                fingerprint: None,
                attempt,
                owner,
                verdict,
                evidence,
            };
            match resolve(existing, &request, at(NOW)) {
                (ResolveAnswer::Refused(refusal), change) => (Some(refusal), change),
                (_, change) => (None, change),
            }
        }
        _ => {
            let mut request = call(verb);
            (request.attempt, request.owner) = (attempt, owner);
            let (answer, change) = settle(existing, &request, at(NOW));
            (refusal(answer), change)
        }
    }
}

fn refusal(answer: SettleAnswer) -> Option<Refusal> {
    match answer {
        SettleAnswer::Refused(refusal) => Some(refusal),
        SettleAnswer::Settled { .. } => None,
    }
}

#[test]
fn attempt_and_owner_are_asked_in_this_order_before_the_state_is() {
    let table = rows(FENCING);
    let standing = BEFORE
        .iter()
        .filter(|name| !matches!(**name, "nothing" | "recorded"));
    for name in standing {
        for row in &table[1..] {
            // A pruned receipt keeps no owner to compare with.
            if is_pruned(name) && row[1] != "none" {
                continue;
            }
            for (verb, expected) in VERBS.iter().zip(&row[2..]) {
                if *expected != "-" {
                    check(name, row[0], row[1], verb, expected);
                }
            }
        }
    }
}

fn check(name: &str, attempt: &str, by: &str, verb: &str, expected: &str) {
    let case = format!("{name} / {verb} / attempt {attempt} / owner {by}");
    let given = match attempt {
        "none" => None,
        "current" => Some(2),
        "older" => Some(1),
        _ => Some(3),
    };
    let owner = match by {
        "none" => None,
        "right" => Some(owner(RIGHT)),
        _ => Some(owner("worker-9")),
    };
    let existing = before(name, 2);
    let (refused, change) = say(verb, existing.as_ref(), given, owner);
    if expected == "go" {
        // What the state makes of it is told in the verb's own table.
        let code = refused.as_ref().map(code);
        assert!(
            matches!(code, None | Some("invalid-transition")),
            "{case}: {code:?}"
        );
        return;
    }
    let refused = refused.unwrap_or_else(|| panic!("{case}: was not refused"));
    assert_eq!(code(&refused), expected, "{case}");
    match &refused {
        Refusal::StaleAttempt {
            given: said,
            current,
        } => {
            assert_eq!((Some(*said), *current), (given, 2), "{case}");
        }
        Refusal::AttemptNeeded { current } => assert_eq!((given, *current), (None, 2), "{case}"),
        Refusal::NotFound | Refusal::NotOwner { .. } | Refusal::InvalidTransition { .. } => {}
    }
    kept_of_a_refusal(name, attempt, verb, &existing.unwrap(), &change, &case);
}

/// A late settlement leaves a row, and a late success its mark; nothing else leaves anything, and no state changes.
fn kept_of_a_refusal(
    name: &str,
    attempt: &str,
    verb: &str,
    before: &Entry,
    change: &Change,
    case: &str,
) {
    let late = match (attempt, verb) {
        ("older", "succeed" | "resolve succeeded") => Some(EventKind::LateSucceeded),
        ("older", "fail") => Some(EventKind::LateFailed),
        ("older", "unknown") => Some(EventKind::LateUnknown),
        _ => None,
    };
    match (&change.entry, before) {
        (None, _) => {}
        (Some(Entry::Whole(after)), Entry::Whole(before)) => {
            assert_eq!(late, Some(EventKind::LateSucceeded), "{case}");
            let mut marked = before.clone();
            marked.late_success = true;
            marked.contested = before.stored_state == State::Failed;
            assert_eq!(*after, marked, "{case}: only the mark may change");
        }
        (Some(Entry::Pruned(after)), Entry::Pruned(before)) => {
            assert_eq!(
                (late, name),
                (Some(EventKind::LateSucceeded), "pruned failed"),
                "{case}"
            );
            assert_eq!(
                (after.state, after.attempt),
                (before.state, before.attempt),
                "{case}"
            );
            assert!(after.contested, "{case}");
        }
        (after, _) => panic!("{case}: {after:?}"),
    }
    let marked = match change.entry.as_ref().unwrap_or(before) {
        Entry::Whole(receipt) => receipt.late_success,
        Entry::Pruned(pruned) => pruned.contested || pruned.state == State::Succeeded,
    };
    if late == Some(EventKind::LateSucceeded) {
        assert!(marked, "{case}: the evidence is kept");
    }
    match late {
        Some(kind) if !is_pruned(name) => {
            let event = event(change);
            assert_eq!((event.kind, event.attempt), (kind, 1), "{case}");
        }
        _ => assert_eq!(change.events, [], "{case}"),
    }
}

#[test]
fn the_first_attempt_need_not_be_named() {
    for name in BEFORE.iter().filter(|name| **name != "nothing") {
        for verb in VERBS.iter().filter(|verb| **verb != "renew") {
            let (refused, _) = say(verb, before(name, 1).as_ref(), None, None);
            let code = refused.as_ref().map(code);
            assert!(
                matches!(code, None | Some("invalid-transition")),
                "{name} / {verb}: {code:?}"
            );
        }
    }
}

#[test]
fn any_attempt_named_for_what_is_only_recorded_is_not_the_current_one_and_leaves_nothing() {
    for verb in VERBS {
        let (refused, change) = say(verb, before("recorded", 0).as_ref(), Some(1), None);
        assert_eq!(
            refused,
            Some(Refusal::StaleAttempt {
                given: 1,
                current: 0
            }),
            "{verb}"
        );
        assert!(change.is_none(), "{verb}");
    }
}

#[test]
fn nothing_on_record_is_not_found_whatever_the_call_says() {
    for verb in VERBS {
        for attempt in [Some(1), Some(2), None] {
            if verb == "renew" && attempt.is_none() {
                continue;
            }
            let (refused, change) = say(verb, None, attempt, Some(owner(RIGHT)));
            assert_eq!(refused, Some(Refusal::NotFound), "{verb}");
            assert!(change.is_none(), "{verb}");
        }
    }
}

#[test]
fn an_owner_is_the_wrong_one_where_the_receipt_has_none() {
    for verb in VERBS {
        let Some(Entry::Whole(mut receipt)) = before("reserved, no lease", 1) else {
            unreachable!()
        };
        receipt.owner = None;
        let (refused, change) = say(
            verb,
            Some(&Entry::Whole(receipt)),
            Some(1),
            Some(owner(RIGHT)),
        );
        assert_eq!(refused, Some(Refusal::NotOwner { owner: None }), "{verb}");
        assert!(change.is_none(), "{verb}");
    }
}

#[test]
fn after_a_late_success_the_failure_of_the_current_attempt_is_unknown_and_no_retry_is_given() {
    let existing = before("reserved, no lease", 2);
    let (_, change) = say("succeed", existing.as_ref(), Some(1), None);
    let (refused, change) = say("fail", change.entry.as_ref(), Some(2), None);
    assert_eq!(refused, None);
    assert_eq!(whole(&change).stored_state, State::Unknown);
    assert_eq!(event(&change).kind, EventKind::Unknown);
}
