//! What can be asked about many receipts.

use crate::error::Error;
use crate::receipt::{RunId, State, Timestamp};

/// Which receipts are looked at. An empty filter means all whole receipts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these states, as they are at the ledger's clock; all if there are none.
    pub states: Vec<State>,
    /// Only keys that begin with this, taken literally.
    pub prefix: Option<String>,
    /// Only this run.
    pub run: Option<RunId>,
    /// Only what has not changed for so long, in milliseconds.
    pub unchanged_for_ms: Option<i64>,
    /// At most this many.
    pub limit: Option<u64>,
}

/// The ledger in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Receipts that are recorded.
    pub recorded: u64,
    /// Receipts in flight.
    pub reserved: u64,
    /// Receipts that have succeeded, pruned ones left out.
    pub succeeded: u64,
    /// Receipts that have failed, pruned ones left out.
    pub failed: u64,
    /// Receipts that nobody knows of, those whose lease has run out among them.
    pub unknown: u64,
    /// Pruned receipts that still answer.
    pub pruned: u64,
    /// Receipts deleted whole, ever.
    pub forgotten: u64,
    /// Since when the oldest attempt in flight has run.
    pub oldest_in_flight_at: Option<Timestamp>,
    /// Since when the oldest unknown receipt has been unknown.
    pub oldest_unknown_at: Option<Timestamp>,
}

/// Which settled receipts are pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prune {
    /// Settled at least so long ago, in milliseconds.
    pub older_than_ms: i64,
    /// `succeeded`, `failed` or both.
    pub states: Vec<State>,
    /// Delete them whole, which makes their keys executable again.
    pub forget: bool,
    /// Only count.
    pub dry_run: bool,
}

/// What a prune did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Receipts reduced to digests, or deleted.
    pub pruned: u64,
    /// Receipts old enough, but kept because their run still has an unsettled one.
    pub kept_live: u64,
}

/// Whether a ledger decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It decides.
    InUse,
    /// It is a copy of a ledger that may still decide elsewhere.
    Copy,
    /// Its receipts have moved to another ledger, for good.
    Retired,
}

impl Standing {
    /// The word kept in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::InUse => "in_use",
            Standing::Copy => "copy",
            Standing::Retired => "retired",
        }
    }

    /// Refuses a ledger of this name that decides nothing.
    ///
    /// # Errors
    /// [`Error::Copy`] or [`Error::Retired`].
    pub fn refuse_idle(self, ledger: impl Into<String>) -> Result<(), Error> {
        let ledger = ledger.into();
        match self {
            Standing::InUse => Ok(()),
            Standing::Copy => Err(Error::Copy { ledger }),
            Standing::Retired => Err(Error::Retired { ledger }),
        }
    }

    /// The standing with this word.
    pub fn parse(word: &str) -> Option<Standing> {
        [Standing::InUse, Standing::Copy, Standing::Retired]
            .into_iter()
            .find(|standing| standing.as_str() == word)
    }
}
