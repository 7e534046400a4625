//! Contract §5: `succeed`, `fail`, `unknown` of the current attempt, every receipt before × every call.

use receipt_ledger::decide::{Refusal, Settle, SettleAnswer, Settlement, settle};
use receipt_ledger::receipt::{Entry, EventKind, SettledBy, State};

use crate::cast::*;
use crate::contract::SETTLE;
use crate::table::cells;

pub(crate) fn call(call: &str) -> Settle {
    let settlement = match call {
        "succeed" => Settlement::Succeeded { result: None },
        "succeed same result" => Settlement::Succeeded {
            result: Some(result(RESULT)),
        },
        "succeed other result" => Settlement::Succeeded {
            result: Some(result("null")),
        },
        "fail" => Settlement::Failed {
            reason: Some(text("declined")),
        },
        "unknown" => Settlement::Unknown {
            reason: Some(text("timeout")),
        },
        other => panic!("no such call: {other}"),
    };
    Settle {
        key: key(),
        attempt: None,
        owner: Some(owner(RIGHT)),
        settlement,
    }
}

#[test]
fn every_cell_of_the_table_settles_refuses_or_changes_nothing() {
    let mut seen = 0;
    for (name, verb, expected) in cells(SETTLE) {
        for attempt in [1, 2, 7] {
            let existing = before(name, attempt);
            let current = existing.as_ref().map_or(0, Entry::attempt);
            let mut request = call(verb);
            request.attempt = (current > 0).then_some(current);
            let (answer, change) = settle(existing.as_ref(), &request, at(NOW));
            let case = format!("{name} / {verb} / attempt {attempt}");
            match expected {
                "not-found" => {
                    assert_eq!(answer, SettleAnswer::Refused(Refusal::NotFound), "{case}");
                    assert!(change.is_none(), "{case}");
                }
                "invalid" => {
                    refused(name, current, &answer, &case);
                    assert!(change.is_none(), "{case}: {change:?}");
                }
                "invalid, marked" => {
                    refused(name, current, &answer, &case);
                    match existing {
                        Some(Entry::Whole(mut marked)) => {
                            marked.late_success = true;
                            marked.contested = true;
                            assert_eq!(whole(&change), &*marked, "{case}: nothing else changes");
                            assert_eq!(event(&change).kind, EventKind::LateSucceeded, "{case}");
                        }
                        Some(Entry::Pruned(mut marked)) => {
                            marked.contested = true;
                            assert_eq!(change.entry, Some(Entry::Pruned(marked)), "{case}");
                            assert_eq!(change.events, [], "{case}: there is no history");
                        }
                        None => unreachable!(),
                    }
                }
                "same" => {
                    let state = told(name);
                    assert_eq!(answer, SettleAnswer::Settled { state, attempt }, "{case}");
                    assert!(change.is_none(), "{case}: {change:?}");
                }
                state => {
                    let state = State::parse(state).unwrap();
                    assert_eq!(answer, SettleAnswer::Settled { state, attempt }, "{case}");
                    changed(existing.as_ref().unwrap(), &request, state, &change, &case);
                }
            }
            seen += 1;
        }
    }
    assert_eq!(seen, BEFORE.len() * 5 * 3);
}

fn refused(name: &str, current: u32, answer: &SettleAnswer, case: &str) {
    let SettleAnswer::Refused(Refusal::InvalidTransition {
        state,
        attempt,
        pruned,
        ..
    }) = answer
    else {
        panic!("{case}: {answer:?}");
    };
    assert_eq!(
        (*state, *attempt, *pruned),
        (told(name), current, is_pruned(name)),
        "{case}"
    );
}

/// The receipt after a change of state: what the state brings with it, and everything else as it was.
fn changed(
    before: &Entry,
    request: &Settle,
    state: State,
    change: &receipt_ledger::decide::Change,
    case: &str,
) {
    let Entry::Whole(before) = before else {
        unreachable!()
    };
    let mut expected = before.clone();
    expected.stored_state = state;
    expected.updated_at = at(NOW);
    expected.lease_expires_at = None;
    expected.settled_at = state.is_settled().then_some(at(NOW));
    expected.settled_by = state.is_settled().then_some(SettledBy::Caller);
    let (kind, reason, result) = match (&request.settlement, state) {
        (Settlement::Succeeded { result }, _) => (EventKind::Succeeded, None, result.clone()),
        (Settlement::Failed { reason }, State::Failed) => (EventKind::Failed, reason.clone(), None),
        (Settlement::Failed { reason } | Settlement::Unknown { reason }, _) => {
            (EventKind::Unknown, reason.clone(), None)
        }
    };
    expected.reason = reason.clone();
    expected.result = result;
    assert_eq!(whole(change), &*expected, "{case}");
    let event = event(change);
    assert_eq!(
        (event.kind, event.attempt),
        (kind, before.attempt),
        "{case}"
    );
    assert_eq!(event.actor, request.owner, "{case}");
    assert_eq!(
        event.detail.as_deref(),
        reason.as_ref().map(|text| text.as_str()),
        "{case}"
    );
}

#[test]
fn a_result_is_the_same_only_if_its_text_is_and_null_is_a_result() {
    for (stored, given, same) in [
        ("null", "null", true),
        ("0", "0", true),
        ("0", "-0", false),
        ("0", "0.0", false),
        ("false", "null", false),
        (r#""""#, "null", false),
        (r#"{"a":1,"b":2}"#, r#"{ "a" : 1, "b" : 2 }"#, true),
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, false),
    ] {
        let Some(Entry::Whole(mut receipt)) = before("succeeded", 1) else {
            unreachable!()
        };
        receipt.result = Some(result(stored));
        let mut request = call("succeed");
        request.settlement = Settlement::Succeeded {
            result: Some(result(given)),
        };
        let (answer, change) = settle(Some(&Entry::Whole(receipt)), &request, at(NOW));
        assert_eq!(
            matches!(answer, SettleAnswer::Settled { .. }),
            same,
            "{stored} / {given}"
        );
        assert!(change.is_none(), "{stored} / {given}");
    }
}

#[test]
fn a_result_for_what_succeeded_without_one_is_another_result_and_the_hint_can_say_so() {
    for name in ["succeeded", "succeeded, result"] {
        let (answer, _) = settle(
            before(name, 1).as_ref(),
            &call("succeed other result"),
            at(NOW),
        );
        let SettleAnswer::Refused(Refusal::InvalidTransition { other_result, .. }) = answer else {
            panic!("{answer:?}")
        };
        assert!(other_result, "{name}");
    }
}
