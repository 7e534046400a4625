//! Contract §5: `resolve`, every receipt before × every verdict × the fingerprint.

use receipt_ledger::decide::{Refusal, Resolve, ResolveAnswer, Verdict, resolve};
use receipt_ledger::receipt::{Entry, EventKind, SettledBy, State};

use crate::cast::*;
use crate::contract::RESOLVE;
use crate::table::cells;

fn call(verdict: &str) -> Resolve {
    let result = match verdict {
        "succeeded same result" => Some(result(RESULT)),
        "succeeded other result" => Some(result("null")),
        _ => None,
    };
    Resolve {
        key: key(),
        fingerprint: Some(fingerprint(SAME)),
        attempt: None,
        owner: None,
        verdict: if verdict == "failed" {
            Verdict::Failed
        } else {
            Verdict::Succeeded { result }
        },
        evidence: text("the dashboard shows it"),
    }
}

#[test]
fn every_cell_of_the_table_settles_by_evidence_refuses_or_changes_nothing() {
    let mut seen = 0;
    for (name, verdict, expected) in cells(RESOLVE) {
        for attempt in [1, 2, 7] {
            let existing = before(name, attempt);
            let current = existing.as_ref().map_or(0, Entry::attempt);
            let mut request = call(verdict);
            request.attempt = (current > 0).then_some(current);
            let (answer, change) = resolve(existing.as_ref(), &request, at(NOW));
            let case = format!("{name} / {verdict} / attempt {attempt}");
            let after = current.max(1);
            let stands = |state| ResolveAnswer::Resolved {
                state,
                attempt: after,
            };
            match expected {
                "not-found" => {
                    assert_eq!(answer, ResolveAnswer::Refused(Refusal::NotFound), "{case}")
                }
                "invalid" => {
                    let ResolveAnswer::Refused(Refusal::InvalidTransition { state, .. }) = answer
                    else {
                        panic!("{case}: {answer:?}")
                    };
                    assert_eq!(state, told(name), "{case}");
                    assert!(change.is_none(), "{case}");
                }
                "same" => {
                    assert_eq!(answer, stands(told(name)), "{case}");
                    assert!(change.is_none(), "{case}");
                }
                "answered" => {
                    assert_eq!(answer, stands(State::Failed), "{case}");
                    let Some(Entry::Pruned(mut answered)) = existing else {
                        unreachable!()
                    };
                    answered.contested = false;
                    assert_eq!(change.entry, Some(Entry::Pruned(answered)), "{case}");
                }
                state => {
                    let state = State::parse(state).unwrap();
                    assert_eq!(answer, stands(state), "{case}");
                    let receipt = whole(&change);
                    assert_eq!(
                        (receipt.stored_state, receipt.attempt),
                        (state, after),
                        "{case}"
                    );
                    assert_eq!(receipt.settled_by, Some(SettledBy::Reconciled), "{case}");
                    assert_eq!(receipt.settled_at, Some(at(NOW)), "{case}");
                    assert_eq!(receipt.updated_at, at(NOW), "{case}");
                    assert_eq!(receipt.lease_expires_at, None, "{case}");
                    assert_eq!(receipt.reason, Some(request.evidence.clone()), "{case}");
                    assert_eq!(receipt.fingerprint, fingerprint(SAME), "{case}");
                    let given = match &request.verdict {
                        Verdict::Succeeded { result } => result.clone(),
                        Verdict::Failed => None,
                    };
                    assert_eq!(receipt.result, given, "{case}");
                    let event = event(&change);
                    let kind = if state == State::Failed {
                        EventKind::Failed
                    } else {
                        EventKind::Succeeded
                    };
                    assert_eq!((event.kind, event.attempt), (kind, after), "{case}");
                    assert_eq!(
                        event.detail.as_deref(),
                        Some("the dashboard shows it"),
                        "{case}"
                    );
                }
            }
            seen += 1;
        }
    }
    assert_eq!(seen, BEFORE.len() * 4 * 3);
}

#[test]
fn another_fingerprint_is_a_conflict_before_attempt_owner_and_state() {
    for (name, verdict, _) in cells(RESOLVE) {
        let Some(existing) = before(name, 2) else {
            continue;
        };
        for attempt in [None, Some(1), Some(2), Some(3)] {
            let mut request = call(verdict);
            request.fingerprint = Some(fingerprint("send-v2"));
            request.attempt = attempt;
            request.owner = Some(owner("worker-9"));
            let (answer, change) = resolve(Some(&existing), &request, at(NOW));
            let attempt = existing.attempt();
            assert_eq!(
                answer,
                ResolveAnswer::Conflict {
                    state: told(name),
                    attempt
                },
                "{name} / {verdict}"
            );
            assert_eq!(change.entry, None, "{name} / {verdict}");
        }
    }
}

#[test]
fn without_a_fingerprint_nothing_can_be_put_on_record_but_what_stands_can_be_settled() {
    for (name, verdict, expected) in cells(RESOLVE) {
        let mut request = call(verdict);
        request.fingerprint = None;
        let (answer, change) = resolve(before(name, 1).as_ref(), &request, at(NOW));
        let case = format!("{name} / {verdict}");
        match (name, expected) {
            ("nothing", _) => {
                assert_eq!(answer, ResolveAnswer::Refused(Refusal::NotFound), "{case}");
                assert!(change.is_none(), "{case}");
            }
            // The digests can take the other state, but hold no result and cannot become whole again.
            (name, "succeeded") if is_pruned(name) => match verdict {
                "succeeded" => {
                    let Some(Entry::Pruned(pruned)) = change.entry else {
                        panic!("{case}")
                    };
                    assert_eq!(
                        (pruned.state, pruned.attempt),
                        (State::Succeeded, 1),
                        "{case}"
                    );
                    assert!(!pruned.contested, "{case}");
                }
                _ => {
                    assert!(matches!(answer, ResolveAnswer::Refused(_)), "{case}");
                    assert!(change.is_none(), "{case}");
                }
            },
            (_, "invalid") => assert!(matches!(answer, ResolveAnswer::Refused(_)), "{case}"),
            _ => assert!(
                matches!(answer, ResolveAnswer::Resolved { .. }),
                "{case}: {answer:?}"
            ),
        }
    }
}

#[test]
fn evidence_for_what_was_never_on_record_makes_a_receipt_at_attempt_1_that_never_began_here() {
    let mut request = call("succeeded other result");
    request.owner = Some(owner("auditor"));
    let (_, change) = resolve(None, &request, at(NOW));
    let receipt = whole(&change);
    assert_eq!((receipt.key.as_str(), receipt.attempt), ("order:42", 1));
    assert_eq!(receipt.created_at, at(NOW));
    assert_eq!(receipt.first_reserved_at, None);
    assert_eq!(receipt.attempt_started_at, None);
    assert_eq!(event(&change).actor, Some(owner("auditor")));
}
