//! The transactions of a file: the one that may write, and the look that takes nobody's place.

use std::time::{Duration, Instant};

use rusqlite::{Connection, FileControl, MAIN_DB, Transaction, TransactionBehavior};

use super::connect::{self, View};
use super::error::Trouble;
use super::file::Place;
use super::options::Clock;
use super::turn::Turn;
use super::{SqliteStore, meta};
use crate::error::Error;

/// A turn that came faster has cost no time worth counting.
const AT_ONCE: Duration = Duration::from_millis(1);

impl SqliteStore {
    /// Has SQLite wait so long for others' locks.
    pub(super) fn wait_up_to(&mut self, limit: Duration) -> Result<(), Error> {
        connect::wait_up_to(&mut self.connection, limit)
            .map_err(|error| Trouble::Sqlite(error).told("set up", &self.place.shown(), limit))
    }

    /// A transaction of a ledger that is in use: a copy and a retired ledger decide nothing.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &dyn Clock) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let ledger = self.place.shown();
        self.transact(|transaction, clock| {
            meta::standing(transaction)?
                .refuse_idle(ledger)
                .map_err(Trouble::Ledger)?;
            work(transaction, clock)
        })
    }

    /// Waits for a turn and makes one transaction of it. What the wait took is no longer there to wait for SQLite's lock.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &dyn Clock) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let began = Instant::now();
        let turn = Turn::wait(&self.place.beside("-wal"), self.busy_timeout);
        let waited = began.elapsed();
        if waited < AT_ONCE {
            return self.transact_in(turn, work);
        }
        self.wait_up_to(self.busy_timeout.saturating_sub(waited))?;
        let done = self.transact_in(turn, work);
        self.wait_up_to(self.busy_timeout)?;
        done
    }

    /// The one place where a transaction that may write begins and ends. `IMMEDIATE`, so that nobody decides between
    /// our look and our write.
    fn transact_in<T>(
        &mut self,
        turn: Turn,
        work: impl FnOnce(&Transaction<'_>, &dyn Clock) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        const ACTION: &str = "write to";
        let ledger = self.place.shown();
        if let Some(reason) = &self.read_only {
            return Err(Error::Io {
                action: ACTION,
                ledger,
                source: reason.clone().into(),
            });
        }
        let told = |trouble: Trouble| trouble.told(ACTION, &ledger, self.busy_timeout);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| told(error.into()))?;
        // Before a byte is written: the log goes by name, and would be another ledger's by now.
        refuse_moved(&transaction, &self.place, self.busy_timeout)?;
        let done = meta::refuse_newer(&transaction, &self.place)
            .and_then(|()| work(&transaction, &*self.clock))
            .map_err(told)?;
        // Others can decide while a commit folds the log back. Where that takes long, they shall.
        let turn = Some(turn).filter(|_| self.folds_at.is_none());
        transaction
            .commit()
            .map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::SystemIoFailure) => Error::Uncertain {
                    ledger: ledger.clone(),
                    source: Box::new(error),
                },
                Some(_) | None => told(error.into()),
            })?;
        drop(turn);
        refuse_moved(&self.connection, &self.place, self.busy_timeout)?;
        Ok(done)
    }

    /// One consistent view. A reader without locks cannot take an answer back that it has handed out: if the file changes
    /// meanwhile, that is an error.
    pub(super) fn look<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &dyn Clock) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let told = |trouble: Trouble| trouble.told("read", &self.place.shown(), self.busy_timeout);
        let transaction = self
            .connection
            .transaction()
            .map_err(|error| told(error.into()))?;
        let done = work(&transaction, &*self.clock).map_err(told)?;
        drop(transaction);
        if self.view == View::Shared {
            refuse_moved(&self.connection, &self.place, self.busy_timeout)?;
        } else if View::still(&self.place).as_ref() != Some(&self.view) {
            let source = "it was changed while it was read without locks".into();
            return Err(Error::Io {
                action: "read",
                ledger: self.place.shown(),
                source,
            });
        }
        Ok(done)
    }
}

/// An answer from a file that no longer has the ledger's name would be forgotten by whoever asks next.
pub(super) fn refuse_moved(
    connection: &Connection,
    place: &Place,
    busy_timeout: Duration,
) -> Result<(), Error> {
    let mut moved = 0;
    connection
        .file_control(Some(MAIN_DB), FileControl::HasMoved(&mut moved))
        .map_err(|error| Trouble::Sqlite(error).told("look at", &place.shown(), busy_timeout))?;
    if moved == 0 {
        Ok(())
    } else {
        Err(Error::Moved {
            ledger: place.shown(),
        })
    }
}
