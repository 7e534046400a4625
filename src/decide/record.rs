//! `record`: put an intent on record, to be performed later.

use std::sync::Arc;

use super::{Change, Facts, conflict, first_receipt};
use crate::receipt::{Entry, Event, EventKind, Fingerprint, Key, State, Timestamp};

/// Longest payload kept, in bytes: an outbox holds messages, not files.
pub const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A request to keep an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The effect's name.
    pub key: Key,
    /// Its content.
    pub fingerprint: Fingerprint,
    /// What to keep on the receipt.
    pub facts: Facts,
    /// The payload's bytes, if they are to be kept until the effect has happened; at most [`PAYLOAD_BYTES_MAX`].
    pub payload: Option<Arc<[u8]>>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordAnswer {
    /// The intent is now on record.
    Created,
    /// The key was on record already, with the same content.
    Exists {
        /// What it is.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
    /// The key is bound to another content.
    Conflict {
        /// What it is.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
}

/// The rule of contract §7.1.
pub fn record(
    existing: Option<&Entry>,
    request: &Record,
    now: Timestamp,
) -> (RecordAnswer, Change) {
    let Some(entry) = existing else {
        let receipt = first_receipt(&request.key, &request.fingerprint, &request.facts, now);
        let event = Event {
            kind: EventKind::Recorded,
            attempt: 0,
            actor: request.facts.owner.clone(),
            detail: None,
        };
        let change = Change {
            payload: request.payload.clone(),
            ..Change::to(receipt, event)
        };
        return (RecordAnswer::Created, change);
    };
    let (state, attempt) = (entry.state(now), entry.attempt());
    if entry.matches(&request.fingerprint) {
        (RecordAnswer::Exists { state, attempt }, Change::none())
    } else {
        let change = conflict(entry, &request.fingerprint, &request.facts.owner);
        (RecordAnswer::Conflict { state, attempt }, change)
    }
}
