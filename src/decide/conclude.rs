//! `run` and `drain`: the outcome of a command that was started under an attempt.

use super::settle::{Settle, SettleAnswer, settle};
use super::{Change, Refusal};
use crate::receipt::{Entry, SettledBy, State, Timestamp};

/// What came of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConcludeAnswer {
    /// This stands now: the outcome, or what the command had settled itself.
    Stands {
        /// The state that stands.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
    /// It could not be taken: somebody else has the key, or settled it with evidence.
    Refused(Refusal),
}

/// The rule of contract §6.7: as [`settle`], but what the command itself has said of its attempt stands.
pub fn conclude(
    existing: Option<&Entry>,
    outcome: &Settle,
    now: Timestamp,
) -> (ConcludeAnswer, Change) {
    if let Some(Entry::Whole(receipt)) = existing
        && outcome.attempt == Some(receipt.attempt)
        && receipt.stored_state != State::Reserved
        && (receipt.settled_by != Some(SettledBy::Reconciled)
            || receipt.stored_state == State::Succeeded)
    {
        let (state, attempt) = (receipt.stored_state, receipt.attempt);
        return (ConcludeAnswer::Stands { state, attempt }, Change::none());
    }
    // Pruned meanwhile: it says no more who settled it, but a success stands whoever did.
    if let Some(Entry::Pruned(pruned)) = existing
        && outcome.attempt == Some(pruned.attempt)
        && pruned.state == State::Succeeded
    {
        let (state, attempt) = (pruned.state, pruned.attempt);
        return (ConcludeAnswer::Stands { state, attempt }, Change::none());
    }
    let (answer, change) = settle(existing, outcome, now);
    let answer = match answer {
        SettleAnswer::Settled { state, attempt } => ConcludeAnswer::Stands { state, attempt },
        SettleAnswer::Refused(refusal) => ConcludeAnswer::Refused(refusal),
    };
    (answer, change)
}
