//! What comes too late: refused, but a success is evidence all the same.

use super::settle::{Settlement, event};
use super::{Change, Refusal};
use crate::receipt::{Entry, Event, EventKind, Owner, Pruned, Receipt, State, Text};

/// What a refused settlement of an older attempt leaves behind: a row of history, and for a success the mark that the
/// effect may well have happened.
pub(super) fn late(
    existing: Option<&Entry>,
    refusal: &Refusal,
    kind: EventKind,
    detail: Option<&Text>,
    actor: &Option<Owner>,
) -> Change {
    let (entry, given) = match (existing, refusal) {
        (Some(entry), Refusal::StaleAttempt { given, current }) if given < current => {
            (entry, *given)
        }
        (_, _) => return Change::none(),
    };
    let success = kind == EventKind::LateSucceeded;
    match entry {
        Entry::Whole(receipt) => {
            let event = Event {
                attempt: given,
                ..event(kind, receipt, actor, detail)
            };
            if success {
                Change::to(marked(receipt), event)
            } else {
                Change::note(event)
            }
        }
        Entry::Pruned(pruned) if success => marked_pruned(*pruned),
        Entry::Pruned(_) => Change::none(),
    }
}

/// What is left of a receipt, with a late success against it; there is no history to append a row to.
pub(super) fn marked_pruned(pruned: Pruned) -> Change {
    if pruned.state != State::Failed || pruned.contested {
        return Change::none();
    }
    let marked = Pruned {
        contested: true,
        ..pruned
    };
    Change {
        entry: Some(Entry::Pruned(marked)),
        ..Change::none()
    }
}

/// The receipt with a late success against it.
pub(super) fn marked(receipt: &Receipt) -> Receipt {
    let contested = receipt.stored_state == State::Failed;
    Receipt {
        late_success: true,
        contested,
        ..receipt.clone()
    }
}

/// The row of history that a refused settlement leaves.
pub(super) fn late_kind(settlement: &Settlement) -> (EventKind, Option<&Text>) {
    match settlement {
        Settlement::Succeeded { .. } => (EventKind::LateSucceeded, None),
        Settlement::Failed { reason } => (EventKind::LateFailed, reason.as_ref()),
        Settlement::Unknown { reason } => (EventKind::LateUnknown, reason.as_ref()),
    }
}
