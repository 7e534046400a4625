//! The history behind a receipt: what happened to it, one appended row each.

use super::{Owner, Timestamp};

/// What a row of history tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The intent came on record.
    Recorded,
    /// A caller was told to perform an attempt.
    Reserved,
    /// An attempt whose lease had run out was renewed before anybody else took it.
    Renewed,
    /// It was settled as succeeded.
    Succeeded,
    /// It was settled as failed.
    Failed,
    /// It was declared unknown.
    Unknown,
    /// A success was refused because it came late: evidence that the effect happened.
    LateSucceeded,
    /// A failure was refused because it came late.
    LateFailed,
    /// A declaration that nobody knows was refused because it came late.
    LateUnknown,
    /// A caller came with another fingerprint; only the first time for each such fingerprint.
    Conflict,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [EventKind; 10] = [
        EventKind::Recorded,
        EventKind::Reserved,
        EventKind::Renewed,
        EventKind::Succeeded,
        EventKind::Failed,
        EventKind::Unknown,
        EventKind::LateSucceeded,
        EventKind::LateFailed,
        EventKind::LateUnknown,
        EventKind::Conflict,
    ];

    /// The word kept in the column and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Recorded => "recorded",
            EventKind::Reserved => "reserved",
            EventKind::Renewed => "renewed",
            EventKind::Succeeded => "succeeded",
            EventKind::Failed => "failed",
            EventKind::Unknown => "unknown",
            EventKind::LateSucceeded => "late_succeeded",
            EventKind::LateFailed => "late_failed",
            EventKind::LateUnknown => "late_unknown",
            EventKind::Conflict => "conflict",
        }
    }

    /// The kind with this word.
    pub fn parse(word: &str) -> Option<EventKind> {
        EventKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// Something to append to a key's history; the store adds the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The attempt it speaks of.
    pub attempt: u32,
    /// Who said so, as the caller named itself.
    pub actor: Option<Owner>,
    /// A reason, the evidence, or the other fingerprint.
    pub detail: Option<String>,
}

/// One row of a key's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// When it was appended.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}
