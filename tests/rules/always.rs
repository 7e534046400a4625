//! What holds for every call on every receipt, whatever the tables say.

use receipt_ledger::decide::{
    Change, Facts, Record, Renew, Reserve, Resolve, Settle, Settlement, Verdict, record, renew,
    reserve, resolve, settle,
};
use receipt_ledger::receipt::{Entry, EventKind, State, Timestamp};

use crate::cast::*;

/// Any call, as a rule from what stands and the clock to what was answered and what changes.
type Call = Box<dyn Fn(Option<&Entry>, Timestamp) -> (String, Change)>;

/// Every call there is, over all its flags.
fn calls() -> Vec<(String, Call)> {
    let mut calls: Vec<(String, Call)> = Vec::new();
    for bound_to in [SAME, "send-v2"] {
        for flags in 0..16u32 {
            let mut request = Reserve::new(key(), fingerprint(bound_to));
            request.allow_failed_retry = flags & 1 != 0;
            request.retry_unknown_within_ms = (flags & 2 != 0).then_some(2 * HOUR);
            request.max_attempts = (flags & 4 != 0).then_some(2);
            request.lease_ms = (flags & 8 != 0).then_some(MINUTE);
            calls.push((
                format!("{request:?}"),
                Box::new(move |existing, now| {
                    let (answer, change) = reserve(existing, &request, now);
                    (format!("{answer:?}"), change)
                }),
            ));
        }
        let request = Record {
            key: key(),
            fingerprint: fingerprint(bound_to),
            facts: Facts::default(),
            payload: None,
        };
        calls.push((
            format!("{request:?}"),
            Box::new(move |existing, now| {
                let (answer, change) = record(existing, &request, now);
                (format!("{answer:?}"), change)
            }),
        ));
    }
    for attempt in [None, Some(1), Some(2), Some(3)] {
        for by in [None, Some(owner(RIGHT)), Some(owner("worker-9"))] {
            speaking_for(attempt, &by, &mut calls);
        }
    }
    calls
}

fn speaking_for(
    attempt: Option<u32>,
    by: &Option<receipt_ledger::receipt::Owner>,
    calls: &mut Vec<(String, Call)>,
) {
    let results = [None, Some(result(RESULT)), Some(result("null"))];
    let mut settlements: Vec<Settlement> = results
        .iter()
        .map(|result| Settlement::Succeeded {
            result: result.clone(),
        })
        .collect();
    settlements.push(Settlement::Failed { reason: None });
    settlements.push(Settlement::Unknown { reason: None });
    for settlement in settlements {
        let request = Settle {
            key: key(),
            attempt,
            owner: by.clone(),
            settlement,
        };
        calls.push((
            format!("{request:?}"),
            Box::new(move |existing, now| {
                let (answer, change) = settle(existing, &request, now);
                (format!("{answer:?}"), change)
            }),
        ));
    }
    if let Some(attempt) = attempt {
        let request = Renew {
            key: key(),
            attempt,
            owner: by.clone(),
            lease_ms: MINUTE,
        };
        calls.push((
            format!("{request:?}"),
            Box::new(move |existing, now| {
                let (answer, change) = renew(existing, &request, now);
                (format!("{answer:?}"), change)
            }),
        ));
    }
    let verdicts = results
        .into_iter()
        .map(|result| Verdict::Succeeded { result });
    for verdict in verdicts.chain([Verdict::Failed]) {
        for bound_to in [None, Some(SAME), Some("send-v2")] {
            let request = Resolve {
                key: key(),
                fingerprint: bound_to.map(fingerprint),
                attempt,
                owner: by.clone(),
                verdict: verdict.clone(),
                evidence: text("seen"),
            };
            calls.push((
                format!("{request:?}"),
                Box::new(move |existing, now| {
                    let (answer, change) = resolve(existing, &request, now);
                    (format!("{answer:?}"), change)
                }),
            ));
        }
    }
}

/// Runs every call on every receipt at three clocks and hands over (case, before, answer, change).
fn everything(mut look: impl FnMut(&str, Option<&Entry>, &str, &Change)) {
    let calls = calls();
    for name in BEFORE {
        for attempt in [1, 2, 3] {
            let existing = before(name, attempt);
            for clock in [NOW, NOW - 9 * HOUR, NOW + 90_000 * HOUR] {
                for (call, rule) in &calls {
                    let (answer, change) = rule(existing.as_ref(), at(clock));
                    let case = format!("{name} at attempt {attempt}, clock {clock}: {call}");
                    look(&case, existing.as_ref(), &answer, &change);
                }
            }
        }
    }
}

#[test]
fn the_same_question_on_the_same_receipt_has_the_same_answer() {
    let mut first = Vec::new();
    everything(|_, _, answer, change| first.push((answer.to_owned(), change.clone())));
    let mut index = 0;
    everything(|case, _, answer, change| {
        assert_eq!(
            (answer, change),
            (first[index].0.as_str(), &first[index].1),
            "{case}"
        );
        index += 1;
    });
    assert!(index > 20_000, "{index}");
}

#[test]
fn what_is_succeeded_never_becomes_anything_else() {
    everything(|case, before, _, change| {
        let (Some(before), Some(after)) = (before, &change.entry) else {
            return;
        };
        let is = |entry: &Entry| match entry {
            Entry::Whole(receipt) => receipt.stored_state,
            Entry::Pruned(pruned) => pruned.state,
        };
        if is(before) == State::Succeeded {
            assert_eq!(is(after), State::Succeeded, "{case}");
        }
    });
}

#[test]
fn the_attempt_never_goes_back_and_grows_by_one_at_most_and_only_when_somebody_is_told_to_perform()
{
    everything(|case, before, answer, change| {
        let Some(after) = &change.entry else { return };
        let (was, is) = (before.map_or(0, Entry::attempt), after.attempt());
        assert!(is == was || is == was + 1, "{case}: from {was} to {is}");
        let performs = answer.contains("decision: Execute") || answer.contains("decision: Retry");
        let by_evidence = was == 0 && answer.starts_with("Resolved");
        assert_eq!(is == was + 1, performs || by_evidence, "{case}: {answer}");
    });
}

#[test]
fn a_refusal_a_skip_and_a_conflict_change_no_state_and_no_attempt() {
    everything(|case, before, answer, change| {
        let refused = ["Refused", "Conflict", "decision: Skip", "Exists"]
            .iter()
            .any(|word| answer.contains(word));
        if !refused {
            return;
        }
        match (before, &change.entry) {
            (_, None) => {}
            (Some(Entry::Whole(before)), Some(Entry::Whole(after))) => {
                let mut unmarked = after.clone();
                unmarked.late_success = before.late_success;
                unmarked.contested = before.contested;
                assert_eq!(unmarked, *before, "{case}");
                assert!(
                    after.late_success,
                    "{case}: the mark is never taken away by a refusal"
                );
            }
            (Some(Entry::Pruned(before)), Some(Entry::Pruned(after))) => {
                assert_eq!(
                    (after.state, after.attempt, after.fingerprint),
                    (before.state, before.attempt, before.fingerprint),
                    "{case}"
                );
            }
            (before, after) => panic!("{case}: {before:?} became {after:?}"),
        }
    });
}

#[test]
fn key_fingerprint_and_the_time_of_creation_stay_and_every_change_of_state_leaves_its_row() {
    everything(|case, before, answer, change| {
        assert!(change.events.len() <= 1, "{case}: {:?}", change.events);
        let Some(Entry::Whole(after)) = &change.entry else {
            return;
        };
        assert_eq!(after.key, key(), "{case}");
        let mut state = None;
        if let Some(Entry::Whole(before)) = before {
            assert_eq!(after.fingerprint, before.fingerprint, "{case}");
            assert_eq!(after.created_at, before.created_at, "{case}");
            state = Some((before.stored_state, before.attempt));
        }
        if state != Some((after.stored_state, after.attempt)) {
            assert_eq!(change.events.len(), 1, "{case}: {answer}");
            let late = [
                EventKind::LateSucceeded,
                EventKind::LateFailed,
                EventKind::LateUnknown,
                EventKind::Conflict,
            ];
            assert!(!late.contains(&change.events[0].kind), "{case}");
            assert_eq!(change.events[0].attempt, after.attempt, "{case}");
        }
    });
}

#[test]
fn no_answer_frees_a_key_but_those_that_name_what_they_speak_for() {
    everything(|case, before, answer, change| {
        let performs = answer.contains("decision: Execute") || answer.contains("decision: Retry");
        let Some(before) = before else { return };
        if !performs {
            return;
        }
        assert!(change.entry.is_some(), "{case}");
        match before {
            Entry::Whole(receipt) => {
                assert_ne!(receipt.stored_state, State::Succeeded, "{case}");
                match receipt.stored_state {
                    State::Recorded => assert!(answer.contains("Execute"), "{case}"),
                    State::Failed => assert!(case.contains("allow_failed_retry: true"), "{case}"),
                    State::Reserved | State::Unknown | State::Succeeded => {
                        assert!(case.contains("retry_unknown_within_ms: Some"), "{case}");
                    }
                }
            }
            Entry::Pruned(pruned) => {
                assert_eq!(pruned.state, State::Failed, "{case}");
                assert!(case.contains("allow_failed_retry: true"), "{case}");
            }
        }
    });
}

#[test]
fn a_clock_that_was_set_back_dates_no_change_before_the_last_one() {
    everything(|case, before, _, change| {
        let (Some(Entry::Whole(before)), Some(Entry::Whole(after))) = (before, &change.entry)
        else {
            return;
        };
        assert!(after.updated_at >= before.updated_at, "{case}");
    });
}
