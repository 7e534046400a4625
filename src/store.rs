//! Where receipts are kept, in the ledger's own words.

pub mod sqlite;

use crate::decide::Change;
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use crate::error::Error;
use crate::receipt::{Entry, HistoryRow, Key, Timestamp};

/// A rule, ready to be run on what is stored for one key at the store's clock. It may be run more than once; the last
/// run is the one whose change was kept.
pub type Rule<'a> = dyn FnMut(Option<&Entry>, Timestamp) -> Change + 'a;

/// A place that keeps receipts. It decides nothing.
pub trait Store: fmt::Debug {
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

    /// How long to wait for others' locks from now on.
    ///
    /// # Errors
    /// [`Error`] when the store does not take it.
    fn set_busy_timeout(&mut self, busy_timeout: Duration) -> Result<(), Error>;

    /// The store's name for messages and for a command's environment: an absolute path, or a URL without its password.
    fn name(&self) -> OsString;

    /// Whether opening the store created it.
    fn created(&self) -> bool;

    /// Closes the store: what is at rest is then whole.
    ///
    /// # Errors
    /// [`Error`]; every answer given still stands.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn update(&mut self, key: &Key, rule: &mut Rule<'_>) -> Result<(), Error> {
        (**self).update(key, rule)
    }

    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error> {
        (**self).read(key, with_history)
    }

    fn set_busy_timeout(&mut self, busy_timeout: Duration) -> Result<(), Error> {
        (**self).set_busy_timeout(busy_timeout)
    }

    fn name(&self) -> OsString {
        (**self).name()
    }

    fn created(&self) -> bool {
        (**self).created()
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        (*self).close()
    }
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
