//! Where receipts are kept, in the ledger's own words.

pub mod sqlite;

use crate::decide::Change;
use crate::error::Error;
use crate::receipt::{Entry, HistoryRow, Key, Timestamp};

/// A rule, ready to be run on what is stored for one key at the store's clock. It may be run more than once; the last
/// run is the one whose change was kept.
pub type Rule<'a> = dyn FnMut(Option<&Entry>, Timestamp) -> Change + 'a;

/// A place that keeps receipts. It decides nothing.
pub trait Store {
    /// Reads what is stored for the key, runs the rule on it, keeps the change: one atomic step against every other
    /// caller, on stable storage before it returns. The clock is read after the key is held.
    ///
    /// # Errors
    /// [`Error`]; nothing of the change is then to be relied on.
    fn update(&mut self, key: &Key, rule: &mut Rule<'_>) -> Result<(), Error>;

    /// What is stored for the key, and its history if asked for, oldest first.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error>;
}

/// What a store holds for one key at a moment of its clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The key's entry, if there is one.
    pub entry: Option<Entry>,
    /// The store's clock.
    pub now: Timestamp,
    /// The key's history, oldest first; empty unless it was asked for.
    pub history: Vec<HistoryRow>,
}
