//! Contract §7.1: `record`.

use receipt_ledger::decide::{Facts, Record, RecordAnswer, record};
use receipt_ledger::receipt::{EventKind, State};

use crate::cast::*;

fn request(bound_to: &str) -> Record {
    let facts = Facts {
        owner: Some(owner("planner")),
        ..Facts::default()
    };
    Record {
        key: key(),
        fingerprint: fingerprint(bound_to),
        facts,
        payload: None,
    }
}

#[test]
fn the_first_to_record_creates_an_attempt_0_that_nobody_performs() {
    let (answer, change) = record(None, &request(SAME), at(NOW));
    assert_eq!(answer, RecordAnswer::Created);
    let receipt = whole(&change);
    assert_eq!(
        (receipt.stored_state, receipt.attempt),
        (State::Recorded, 0)
    );
    assert_eq!(
        (receipt.created_at, receipt.first_reserved_at),
        (at(NOW), None)
    );
    assert_eq!(receipt.owner, Some(owner("planner")));
    assert_eq!(event(&change).kind, EventKind::Recorded);
}

#[test]
fn what_stands_is_told_as_it_stands_and_not_touched() {
    for name in BEFORE.iter().filter(|name| **name != "nothing") {
        let existing = before(name, 3).unwrap();
        let (answer, change) = record(Some(&existing), &request(SAME), at(NOW));
        let (state, attempt) = (told(name), existing.attempt());
        assert_eq!(answer, RecordAnswer::Exists { state, attempt }, "{name}");
        assert!(change.is_none(), "{name}");
    }
}

#[test]
fn another_fingerprint_is_a_conflict_whatever_stands() {
    for name in BEFORE.iter().filter(|name| **name != "nothing") {
        let existing = before(name, 3).unwrap();
        let (answer, change) = record(Some(&existing), &request("send-v2"), at(NOW));
        let (state, attempt) = (told(name), existing.attempt());
        assert_eq!(answer, RecordAnswer::Conflict { state, attempt }, "{name}");
        assert_eq!(change.entry, None, "{name}");
        assert_eq!(change.events.len(), usize::from(!is_pruned(name)), "{name}");
    }
}
