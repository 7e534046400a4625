//! `apply`: an effect that lives in the ledger's own database, performed in the transaction that decides.

use super::Change;
use super::reserve::{Reserve, ReserveAnswer, reserve};
use super::settle::{event, succeeded};
use crate::receipt::{Entry, EventKind, SettledBy, State, Timestamp};

/// The rule of contract §7.3: as [`reserve`], but what would be performed has succeeded with the same commit.
pub fn apply(
    existing: Option<&Entry>,
    request: &Reserve,
    now: Timestamp,
) -> (ReserveAnswer, Change) {
    let (answer, mut change) = reserve(existing, request, now);
    match change.entry.take() {
        Some(Entry::Whole(begun)) if answer.decision.performs() => {
            let done = succeeded(&begun, SettledBy::Caller, None, now);
            change.events.push(event(
                EventKind::Succeeded,
                &done,
                &request.facts.owner,
                None,
            ));
            change.entry = Some(Entry::Whole(Box::new(done)));
            (
                ReserveAnswer {
                    state: State::Succeeded,
                    ..answer
                },
                change,
            )
        }
        entry => (answer, Change { entry, ..change }),
    }
}
