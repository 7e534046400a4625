//! The words of the ledger: keys, fingerprints, states, receipts and their history.
//!
//! Every type here is parsed once, at the edge, and valid from then on. Nothing here reads a clock, a file or a store.

mod amount;
mod history;
mod name;
mod pruned;
mod time;

pub use amount::{Amount, AmountError};
pub use history::{Event, EventKind, HistoryRow};
pub use name::{Fingerprint, Key, NAME_BYTES_MAX, NameError, Owner, RunId};
pub use pruned::{Entry, FingerprintDigest, KeyDigest, Pruned};
pub use time::{DurationError, LONGEST_MS, Timestamp, duration_ms};

use std::fmt;

use crate::fingerprint::{JsonRefusal, RESULT_BYTES_MAX, compact_json};

/// Longest reason or evidence, in bytes of UTF-8: a sentence or a stack trace's top, never a payload.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;

/// Longest result that a store takes, in bytes: a command's output of 1 MiB, escaped as JSON, and what surrounds it.
pub const STORED_RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What is known of one intended effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The intent is on record; nobody was told to perform it.
    Recorded,
    /// Somebody was told to perform it and has not said what came of it.
    Reserved,
    /// The effect happened.
    Succeeded,
    /// It is known that the effect did not happen.
    Failed,
    /// Nobody knows whether the effect happened.
    Unknown,
}

impl State {
    /// Every state, in the order of a receipt's life.
    pub const ALL: [State; 5] = [
        State::Recorded,
        State::Reserved,
        State::Succeeded,
        State::Failed,
        State::Unknown,
    ];

    /// The state's word, the same in columns, flags and output.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Recorded => "recorded",
            State::Reserved => "reserved",
            State::Succeeded => "succeeded",
            State::Failed => "failed",
            State::Unknown => "unknown",
        }
    }

    /// The state with this word.
    pub fn parse(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether what came of the effect is known: succeeded or failed.
    pub fn is_settled(self) -> bool {
        match self {
            State::Succeeded | State::Failed => true,
            State::Recorded | State::Reserved | State::Unknown => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who settled a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettledBy {
    /// The caller that performed the attempt.
    Caller,
    /// Somebody who compared with the outside world and gave evidence.
    Reconciled,
}

impl SettledBy {
    /// The word kept in the column and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            SettledBy::Caller => "caller",
            SettledBy::Reconciled => "reconciled",
        }
    }

    /// The settler with this word.
    pub fn parse(word: &str) -> Option<SettledBy> {
        [SettledBy::Caller, SettledBy::Reconciled]
            .into_iter()
            .find(|by| by.as_str() == word)
    }
}

/// What the ledger keeps for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The intended effect's name.
    pub key: Key,
    /// What binds the key to the content of the intent.
    pub fingerprint: Fingerprint,
    /// The state somebody put on record; what the receipt *is* at a moment is [`Receipt::state`].
    pub stored_state: State,
    /// 0 while only recorded, then the number of the current attempt: the fencing number.
    pub attempt: u32,
    /// Who holds the attempt, as the caller named itself.
    pub owner: Option<Owner>,
    /// The run (a CI run, a nightly batch) this effect belongs to.
    pub run: Option<RunId>,
    /// The money the effect moves.
    pub amount: Option<Amount>,
    /// When the key first came on record.
    pub created_at: Timestamp,
    /// When the receipt last changed.
    pub updated_at: Timestamp,
    /// When the first attempt began; none for what never began here, or began before a prune.
    pub first_reserved_at: Option<Timestamp>,
    /// When the current attempt began.
    pub attempt_started_at: Option<Timestamp>,
    /// Until when the current attempt promised to be settled or renewed.
    pub lease_expires_at: Option<Timestamp>,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// Who settled it.
    pub settled_by: Option<SettledBy>,
    /// Whether a refused, late success stands against it: evidence that the effect happened.
    pub late_success: bool,
    /// Whether such a success came after it was settled as failed, and nobody has answered it with evidence since.
    pub contested: bool,
    /// The reason or the evidence given for the current state.
    pub reason: Option<Text>,
    /// What the effect returned, as JSON.
    pub result: Option<ResultJson>,
}

impl Receipt {
    /// What the receipt is at `now`: a reserved one whose lease has run out is unknown.
    pub fn state(&self, now: Timestamp) -> State {
        match (self.stored_state, self.lease_expires_at) {
            (State::Reserved, Some(lease_expires_at)) if lease_expires_at <= now => State::Unknown,
            (state, _) => state,
        }
    }
}

/// A reason or evidence: UTF-8, 1 to [`TEXT_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Takes a text within the limits.
    ///
    /// # Errors
    /// [`TextError`] for an empty or too long text, and for one with a NUL, which no shell variable or C string holds.
    pub fn parse(text: &str) -> Result<Text, TextError> {
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(TextError::TooLong { bytes: text.len() });
        }
        match text.bytes().position(|byte| byte == 0) {
            Some(position) => Err(TextError::Nul {
                position: position + 1,
            }),
            None => Ok(Text(text.to_owned())),
        }
    }

    /// The text as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing in it.
    #[error("is empty")]
    Empty,
    /// Longer than [`TEXT_BYTES_MAX`].
    #[error("is {bytes} bytes long; at most {TEXT_BYTES_MAX} are kept")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A NUL byte, at this position counted from 1.
    #[error("byte {position} is 0x00")]
    Nul {
        /// Position from 1.
        position: usize,
    },
}

/// One JSON value, as given but for white space between tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultJson(String);

impl ResultJson {
    /// Takes one JSON value of at most [`RESULT_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// [`JsonRefusal`] says what is wrong, and where, without showing the value.
    pub fn parse(bytes: &[u8]) -> Result<ResultJson, JsonRefusal> {
        compact_json(bytes, RESULT_BYTES_MAX).map(ResultJson)
    }

    /// Takes one JSON value of at most [`STORED_RESULT_BYTES_MAX`] bytes: what another ledger has kept.
    ///
    /// # Errors
    /// [`JsonRefusal`] says what is wrong, and where, without showing the value.
    pub fn stored(bytes: &[u8]) -> Result<ResultJson, JsonRefusal> {
        compact_json(bytes, STORED_RESULT_BYTES_MAX).map(ResultJson)
    }

    /// What a command returned: its exit code and what it wrote. What is kept of the output is bounded where it is
    /// captured; escaped as JSON it can be six times as long, which the store takes.
    pub fn of_command(value: &serde_json::Value) -> ResultJson {
        ResultJson(value.to_string())
    }

    /// Takes text that this type gave out before: the store's way back.
    pub(crate) fn from_compact(text: String) -> ResultJson {
        ResultJson(text)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
