//! Contract §4: `reserve`, every receipt before × every flag × the fingerprint.

use receipt_ledger::decide::{Decision, Reserve, ReserveAnswer, reserve};
use receipt_ledger::receipt::{Entry, EventKind, State};

use crate::cast::*;
use crate::contract::RESERVE;
use crate::table::cells;

fn request(flags: &str, bound_to: &str, attempt: u32) -> Reserve {
    let mut request = Reserve::new(key(), fingerprint(bound_to));
    for flag in flags.split(' ') {
        match flag {
            "plain" => {}
            "allow" => request.allow_failed_retry = true,
            "younger" => request.retry_unknown_within_ms = Some(HOUR + 1),
            "exactly" => request.retry_unknown_within_ms = Some(HOUR),
            "older" => request.retry_unknown_within_ms = Some(HOUR - 1),
            "max" => request.max_attempts = Some(attempt),
            "max+1" => request.max_attempts = Some(attempt + 1),
            other => panic!("no such flag: {other}"),
        }
    }
    request
}

#[test]
fn every_cell_of_the_table_gives_its_decision_its_state_and_its_attempt() {
    let mut seen = 0;
    for (name, flags, expected) in cells(RESERVE) {
        for attempt in [1, 2, 7] {
            let existing = before(name, attempt);
            let (answer, change) =
                reserve(existing.as_ref(), &request(flags, SAME, attempt), at(NOW));
            let case = format!("{name} / {flags} / attempt {attempt}");
            assert_eq!(answer.decision.as_str(), expected, "{case}");
            let current = existing.as_ref().map_or(0, Entry::attempt);
            let (state, after) = match expected {
                "EXECUTE" => (State::Reserved, 1),
                "RETRY" => (State::Reserved, current + 1),
                _ => (told(name), current),
            };
            assert_eq!((answer.state, answer.attempt), (state, after), "{case}");
            if matches!(expected, "EXECUTE" | "RETRY") {
                let receipt = whole(&change);
                assert_eq!(
                    (receipt.stored_state, receipt.attempt),
                    (state, after),
                    "{case}"
                );
                assert_eq!(event(&change).kind, EventKind::Reserved, "{case}");
                assert_eq!(event(&change).attempt, after, "{case}");
            } else {
                assert!(
                    change.is_none(),
                    "{case}: a skip changes nothing: {change:?}"
                );
            }
            seen += 1;
        }
    }
    assert_eq!(seen, BEFORE.len() * 11 * 3);
}

#[test]
fn another_fingerprint_is_a_conflict_before_anything_else_and_changes_no_receipt() {
    for (name, flags, _) in cells(RESERVE) {
        let Some(existing) = before(name, 2) else {
            continue;
        };
        let (answer, change) = reserve(Some(&existing), &request(flags, "send-v2", 2), at(NOW));
        let unchanged = ReserveAnswer {
            decision: Decision::Conflict,
            state: told(name),
            attempt: existing.attempt(),
        };
        assert_eq!(answer, unchanged, "{name} / {flags}");
        assert_eq!(change.entry, None, "{name} / {flags}");
        if is_pruned(name) {
            assert_eq!(change.events, [], "{name}: a pruned receipt has no history");
        } else {
            let event = event(&change);
            assert_eq!(event.kind, EventKind::Conflict, "{name}");
            assert_eq!(event.detail.as_deref(), Some("send-v2"), "{name}");
        }
    }
}

#[test]
fn fingerprints_are_compared_byte_for_byte() {
    for name in BEFORE.iter().filter(|name| **name != "nothing") {
        for other in ["send-v", "send-v10", "Send-v1", "SEND-V1", "send_v1", "s"] {
            let (answer, _) = reserve(
                before(name, 1).as_ref(),
                &request("plain", other, 1),
                at(NOW),
            );
            assert_eq!(answer.decision, Decision::Conflict, "{name} / {other}");
        }
    }
}

/// Where the clock stands against the receipt's times: the age is measured from the first attempt to the later of now
/// and the last change, and a first attempt in the future, or on no record, proves nothing.
#[test]
fn a_clock_that_was_set_back_never_makes_the_first_attempt_look_younger() {
    let table: [(&str, Option<i64>, i64, i64, &str); 9] = [
        // what                                  first attempt     last change     within      decision
        (
            "an hour old, trusted for longer",
            Some(NOW - HOUR),
            NOW - MINUTE,
            HOUR + 1,
            "RETRY",
        ),
        ("began this very millisecond", Some(NOW), NOW, 1, "RETRY"),
        (
            "began a millisecond ahead",
            Some(NOW + 1),
            NOW + 1,
            i64::MAX,
            "SKIP_UNKNOWN",
        ),
        (
            "began a day ahead",
            Some(NOW + 24 * HOUR),
            NOW + 25 * HOUR,
            100 * HOUR,
            "SKIP_UNKNOWN",
        ),
        (
            "last changed ahead, still within",
            Some(NOW - HOUR),
            NOW + HOUR,
            2 * HOUR + 1,
            "RETRY",
        ),
        (
            "last changed ahead, just not within",
            Some(NOW - HOUR),
            NOW + HOUR,
            2 * HOUR,
            "SKIP_UNKNOWN",
        ),
        (
            "last changed far ahead",
            Some(NOW - 1),
            NOW + 24 * HOUR,
            HOUR,
            "SKIP_UNKNOWN",
        ),
        (
            "last changed before the first began",
            Some(NOW - HOUR),
            NOW - 9 * HOUR,
            HOUR,
            "SKIP_UNKNOWN",
        ),
        (
            "no first attempt on record",
            None,
            NOW - MINUTE,
            i64::MAX,
            "SKIP_UNKNOWN",
        ),
    ];
    for (what, first, updated, within, expected) in table {
        for name in ["unknown", "reserved, lease run out"] {
            let Some(Entry::Whole(mut receipt)) = before(name, 2) else {
                unreachable!()
            };
            receipt.first_reserved_at = first.map(at);
            receipt.updated_at = at(updated);
            let mut request = request("plain", SAME, 2);
            request.retry_unknown_within_ms = Some(within);
            let (answer, _) = reserve(Some(&Entry::Whole(receipt)), &request, at(NOW));
            assert_eq!(answer.decision.as_str(), expected, "{what} / {name}");
        }
    }
}

#[test]
fn a_change_while_the_clock_is_set_back_does_not_make_the_first_attempt_look_younger() {
    use receipt_ledger::decide::{Renew, renew};
    let Some(Entry::Whole(mut receipt)) = before("reserved, lease run out", 1) else {
        unreachable!()
    };
    receipt.first_reserved_at = Some(at(NOW - 50 * HOUR));
    let set_back = at(NOW - 49 * HOUR);
    let call = Renew {
        key: key(),
        attempt: 1,
        owner: None,
        lease_ms: 1,
    };
    let (_, change) = renew(Some(&Entry::Whole(receipt)), &call, set_back);
    let mut request = request("plain", SAME, 1);
    request.retry_unknown_within_ms = Some(24 * HOUR);
    let (answer, _) = reserve(change.entry.as_ref(), &request, set_back.plus_ms(1));
    assert_eq!(answer.decision, Decision::SkipUnknown);
}

#[test]
fn a_lease_has_run_out_exactly_at_its_moment() {
    for (expires, decision) in [
        (NOW + 1, "SKIP_IN_FLIGHT"),
        (NOW, "SKIP_UNKNOWN"),
        (NOW - 1, "SKIP_UNKNOWN"),
    ] {
        let Some(Entry::Whole(mut receipt)) = before("reserved, no lease", 1) else {
            unreachable!()
        };
        receipt.lease_expires_at = Some(at(expires));
        let (answer, _) = reserve(
            Some(&Entry::Whole(receipt)),
            &request("plain", SAME, 1),
            at(NOW),
        );
        assert_eq!(answer.decision.as_str(), decision, "{expires}");
    }
}

#[test]
fn the_caller_that_is_told_to_perform_puts_its_facts_and_its_lease_on_the_receipt() {
    use receipt_ledger::receipt::{Amount, RunId};
    for name in ["nothing", "recorded", "unknown", "failed", "pruned failed"] {
        let mut request = request("allow younger", SAME, 1);
        request.facts.owner = Some(owner("worker-2"));
        request.facts.run = Some(RunId::parse("night-8").unwrap());
        request.facts.amount = Some(Amount::parse("7", "USD").unwrap());
        request.lease_ms = Some(MINUTE);
        let existing = before(name, 1);
        let (_, change) = reserve(existing.as_ref(), &request, at(NOW));
        let receipt = whole(&change);
        assert_eq!(receipt.owner, request.facts.owner, "{name}");
        assert_eq!(receipt.run, request.facts.run, "{name}");
        assert_eq!(receipt.amount, request.facts.amount, "{name}");
        assert_eq!(receipt.lease_expires_at, Some(at(NOW + MINUTE)), "{name}");
        assert_eq!(receipt.attempt_started_at, Some(at(NOW)), "{name}");
        assert_eq!(
            (receipt.settled_at, receipt.settled_by),
            (None, None),
            "{name}"
        );
        assert_eq!((&receipt.reason, &receipt.result), (&None, &None), "{name}");
        assert_eq!(event(&change).actor, Some(owner("worker-2")), "{name}");
        let first = match name {
            "nothing" | "recorded" => Some(at(NOW)),
            "pruned failed" => None,
            _ => Some(at(FIRST)),
        };
        assert_eq!(receipt.first_reserved_at, first, "{name}");
    }
}

#[test]
fn without_a_lease_the_attempt_never_becomes_unknown_by_itself() {
    let (_, change) = reserve(None, &request("plain", SAME, 1), at(NOW));
    let receipt = whole(&change).clone();
    assert_eq!(receipt.lease_expires_at, None);
    let far = at(253_402_300_799_999);
    assert_eq!(receipt.state(far), State::Reserved);
}

#[test]
fn the_last_attempt_that_can_be_counted_gives_no_further_one() {
    for name in ["failed", "unknown", "pruned failed"] {
        let existing = before(name, u32::MAX);
        let (answer, change) = reserve(
            existing.as_ref(),
            &request("allow younger", SAME, 1),
            at(NOW),
        );
        assert!(!answer.decision.performs(), "{name}: {answer:?}");
        assert!(change.is_none(), "{name}");
    }
}
