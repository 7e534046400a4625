//! Where receipts are kept, in the ledger's own words.

mod portable;
#[cfg(feature = "postgres")]
pub mod postgres;
mod query;
pub mod sqlite;

pub use portable::{Abandon, Imported, Portable, Source};
pub use query::{Filter, Prune, Pruned, Standing, Stats};

use crate::decide::Change;
use std::ffi::OsString;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::error::Error;
use crate::receipt::{Entry, Fingerprint, HistoryRow, Key, Receipt, Timestamp};

/// A rule, ready to be run on what is stored for one key at the store's clock. It may be run more than once; the last
/// run is the one whose change was kept.
pub type Rule<'a> = dyn FnMut(Option<&Entry>, Timestamp) -> Change + 'a;

/// One step of a group.
pub enum Step<'a> {
    /// As [`Store::update`].
    Update(&'a Key, &'a mut Rule<'a>),
    /// As [`Store::read`], with what the steps before it have changed.
    Read(&'a Key, bool, &'a mut Option<Reading>),
}

/// Which intents wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Only keys that begin with this.
    pub prefix: Option<String>,
    /// Which of them.
    pub which: PendingKind,
    /// Only what came behind this one.
    pub after: Option<Cursor>,
}

/// Why an intent waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingKind {
    /// It was recorded and never performed.
    Recorded,
    /// It failed, and its payload is still kept.
    FailedWithPayload,
}

/// A place in the order in which receipts were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(pub(crate) i64);

/// An intent that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingIntent {
    /// Its place.
    pub cursor: Cursor,
    /// Its name.
    pub key: Key,
    /// Its content.
    pub fingerprint: Fingerprint,
}

/// A place that keeps receipts. It decides nothing.
pub trait Store: fmt::Debug {
    /// Reads what is stored for the key, runs the rule on it, keeps the change: one atomic step against every other
    /// caller, on stable storage before it returns. The clock is read after the key is held.
    ///
    /// # Errors
    /// [`Error`]; nothing of the change is then to be relied on.
    fn update(&mut self, key: &Key, rule: &mut Rule<'_>) -> Result<(), Error>;

    /// Takes the steps in order, in one atomic step against every other caller: all of them are on stable storage before
    /// it returns, or it fails and none is to be relied on. A step that fails is undone alone and has its own error.
    ///
    /// # Errors
    /// [`Error`] when nothing was kept.
    fn group(&mut self, steps: &mut [Step<'_>]) -> Result<Vec<Result<(), Error>>, Error>;

    /// As [`Store::update`], but runs these SQL statements in the same transaction, before the change is kept, unless
    /// the rule changes nothing.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Sql`] when the statements were refused or failed. Nothing is then kept.
    fn apply(&mut self, key: &Key, rule: &mut Rule<'_>, sql: &str) -> Result<(), Error>;

    /// What is stored for the key, and its history if asked for, oldest first.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error>;

    /// The payload kept for the key.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn payload(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Error>;

    /// The oldest intent that waits to be performed, behind `after`.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn next_pending(&mut self, pending: &Pending) -> Result<Option<PendingIntent>, Error>;

    /// Hands out the whole receipts that pass the filter, in the order in which they came on record, each with the
    /// store's clock, from one consistent view, without holding more than one at a time.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn scan(
        &mut self,
        filter: &Filter,
        each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), Error>;

    /// The ledger in figures, from one consistent view.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn stats(&mut self) -> Result<Stats, Error>;

    /// Prunes in small transactions; after each, `progress` is told what was done so far.
    ///
    /// # Errors
    /// [`Error`]; what was done so far is done.
    fn prune(&mut self, prune: &Prune, progress: &mut dyn FnMut(&Pruned)) -> Result<Pruned, Error>;

    /// Deletes what earlier prunes left, in small transactions, which makes those keys executable again. Returns how
    /// many there were, or would be in a dry run.
    ///
    /// # Errors
    /// [`Error`]; what was done so far is done.
    fn forget_pruned(&mut self, dry_run: bool) -> Result<u64, Error>;

    /// Hands out everything, from one consistent view.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn export(&mut self, each: &mut dyn FnMut(Portable) -> ControlFlow<()>) -> Result<(), Error>;

    /// Takes everything in, in one transaction. With `mark`, a ledger that thereby changes becomes a copy.
    ///
    /// # Errors
    /// [`Error`]; nothing was then changed.
    fn import(&mut self, source: &mut dyn Source, mark: bool) -> Result<Imported, Error>;

    /// Whether the ledger decides.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    fn standing(&mut self) -> Result<Standing, Error>;

    /// Changes whether the ledger decides, if it stands as `from`. Returns how it stands afterwards.
    ///
    /// # Errors
    /// [`Error`] when it cannot be written.
    fn stand(&mut self, from: Standing, to: Standing) -> Result<Standing, Error>;

    /// Looks for damage below the level of receipts: pages, indexes, orphaned rows. Each finding is a sentence.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read at all.
    fn damage(&mut self, each: &mut dyn FnMut(String)) -> Result<(), Error>;

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

    fn group(&mut self, steps: &mut [Step<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
        (**self).group(steps)
    }

    fn apply(&mut self, key: &Key, rule: &mut Rule<'_>, sql: &str) -> Result<(), Error> {
        (**self).apply(key, rule, sql)
    }

    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error> {
        (**self).read(key, with_history)
    }

    fn payload(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        (**self).payload(key)
    }

    fn next_pending(&mut self, pending: &Pending) -> Result<Option<PendingIntent>, Error> {
        (**self).next_pending(pending)
    }

    fn scan(
        &mut self,
        filter: &Filter,
        each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        (**self).scan(filter, each)
    }

    fn stats(&mut self) -> Result<Stats, Error> {
        (**self).stats()
    }

    fn prune(&mut self, prune: &Prune, progress: &mut dyn FnMut(&Pruned)) -> Result<Pruned, Error> {
        (**self).prune(prune, progress)
    }

    fn forget_pruned(&mut self, dry_run: bool) -> Result<u64, Error> {
        (**self).forget_pruned(dry_run)
    }

    fn export(&mut self, each: &mut dyn FnMut(Portable) -> ControlFlow<()>) -> Result<(), Error> {
        (**self).export(each)
    }

    fn import(&mut self, source: &mut dyn Source, mark: bool) -> Result<Imported, Error> {
        (**self).import(source, mark)
    }

    fn standing(&mut self) -> Result<Standing, Error> {
        (**self).standing()
    }

    fn stand(&mut self, from: Standing, to: Standing) -> Result<Standing, Error> {
        (**self).stand(from, to)
    }

    fn damage(&mut self, each: &mut dyn FnMut(String)) -> Result<(), Error> {
        (**self).damage(each)
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
