//! Receipts in a SQLite file: one file, one machine, any number of processes.

mod apply;
mod connect;
mod copy;
mod create;
mod damage;
mod error;
mod file;
mod group;
mod meta;
mod open;
mod options;
mod pending;
mod portable;
mod prune;
mod receipts;
mod row;
mod scan;
mod schema;
mod transaction;
mod turn;

pub use options::{Clock, OpenOptions, SystemClock};
pub use schema::creation_sql;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::time::Duration;

use rusqlite::Connection;

use self::connect::{STILL_TRIES_MAX, View};
use self::error::Trouble;
use self::file::Place;
use self::group::{Care, Group};
use self::open::open_to_look;
use self::transaction::refuse_moved;
use super::{
    Filter, Imported, Pending, PendingIntent, Portable, Prune, Pruned, Reading, Rule, Source,
    Standing, Stats, Step, Store,
};
use crate::error::Error;
use crate::receipt::{Key, Receipt, Timestamp};

/// A ledger's file, opened.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    place: Place,
    view: View,
    busy_timeout: Duration,
    clock: Box<dyn Clock>,
    created: bool,
    /// How many pages of log are folded back at once, where many steps are taken at a time.
    folds_at: Option<u64>,
    /// Why it cannot be written, where it can only be read.
    read_only: Option<String>,
}

impl SqliteStore {
    /// Closes the file. The last to do so folds the log back, so that the file alone is whole.
    ///
    /// # Errors
    /// [`Error::Io`]; every answer given still stands, the next call folds the log back.
    pub fn close(self) -> Result<(), Error> {
        let SqliteStore {
            connection,
            place,
            busy_timeout,
            ..
        } = self;
        let told = |error| Trouble::Sqlite(error).told("close", &place.shown(), busy_timeout);
        connection.close().map_err(|(_, error)| told(error))
    }

    /// Takes the steps of a group, and says whether it was a step that failed.
    fn take_steps(
        &mut self,
        steps: &mut [Step<'_>],
        care: Care,
    ) -> (Result<Vec<Result<(), Error>>, Error>, StepFailed) {
        let (ledger, busy_timeout) = (self.place.shown(), self.busy_timeout);
        let mut failed = StepFailed(false);
        let taken = self.write(|transaction, clock| {
            let group = Group::begin(transaction, clock, care)?;
            let take = |step| match group.take(step) {
                Ok(taken) => {
                    Ok(taken.map_err(|trouble| trouble.told("write to", &ledger, busy_timeout)))
                }
                Err(trouble) => {
                    failed = StepFailed(true);
                    Err(trouble)
                }
            };
            steps.iter_mut().map(take).collect()
        });
        (taken, failed)
    }

    fn read_once(&mut self, key: &Key, with_history: bool) -> Result<Reading, Trouble> {
        // Deferred: one consistent view of both tables, no lock that a writer would wait for.
        let transaction = self.connection.transaction()?;
        receipts::read(&transaction, key, with_history, &*self.clock)
    }
}

impl Store for SqliteStore {
    fn update(&mut self, key: &Key, rule: &mut Rule<'_>) -> Result<(), Error> {
        self.write(|transaction, clock| receipts::change(transaction, key, rule, clock))
    }

    fn group(&mut self, steps: &mut [Step<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
        if steps.len() > 1 || self.folds_at.is_some() {
            let pages = group::expect_many(&self.connection, &self.place, self.folds_at);
            let pages = pages.map_err(|error| {
                Trouble::Sqlite(error).told("set up", &self.place.shown(), self.busy_timeout)
            })?;
            self.folds_at = Some(pages);
        }
        match self.take_steps(steps, Care::None) {
            (Err(_), StepFailed(true)) => self.take_steps(steps, Care::Savepoints).0,
            (taken, _) => taken,
        }
    }

    fn apply(&mut self, key: &Key, rule: &mut Rule<'_>, sql: &str) -> Result<(), Error> {
        let ledger = self.place.shown();
        let told = |error| Trouble::Sqlite(error).told("write to", &ledger, self.busy_timeout);
        let guard = apply::Guard::stand_at(&mut self.connection).map_err(told)?;
        let applied = self.write(|transaction, clock| {
            receipts::change_with(transaction, key, rule, clock, |transaction| {
                let refused = |why| {
                    Trouble::Ledger(Error::Sql {
                        ledger: ledger.clone(),
                        why,
                    })
                };
                guard.run(transaction, sql).map_err(refused)
            })
        });
        let told = |error| Trouble::Sqlite(error).told("write to", &ledger, self.busy_timeout);
        apply::Guard::leave(&mut self.connection).map_err(told)?;
        applied.map_err(|error| apply::told(error, &ledger))
    }

    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error> {
        for _ in 0..STILL_TRIES_MAX {
            let reading = self
                .read_once(key, with_history)
                .map_err(|trouble| trouble.told("read", &self.place.shown(), self.busy_timeout))?;
            if self.view == View::Shared {
                refuse_moved(&self.connection, &self.place, self.busy_timeout)?;
                return Ok(reading);
            }
            if View::still(&self.place).as_ref() == Some(&self.view) {
                return Ok(reading);
            }
            (self.connection, self.view) = open_to_look(&self.place, self.busy_timeout)?;
        }
        let source = "it is being written faster than it can be read without locks".into();
        Err(Error::Io {
            action: "read",
            ledger: self.place.shown(),
            source,
        })
    }

    fn payload(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        pending::payload(&self.connection, key)
            .map_err(|trouble| trouble.told("read", &self.place.shown(), self.busy_timeout))
    }

    fn next_pending(&mut self, pending: &Pending) -> Result<Option<PendingIntent>, Error> {
        pending::next(&self.connection, pending)
            .map_err(|trouble| trouble.told("read", &self.place.shown(), self.busy_timeout))
    }

    fn scan(
        &mut self,
        filter: &Filter,
        each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.look(|transaction, clock| scan::scan(transaction, filter, clock.now(), each))
    }

    fn stats(&mut self) -> Result<Stats, Error> {
        self.look(|transaction, clock| scan::stats(transaction, clock.now()))
    }

    fn prune(&mut self, prune: &Prune, progress: &mut dyn FnMut(&Pruned)) -> Result<Pruned, Error> {
        prune::prune(self, prune, progress)
    }

    fn forget_pruned(&mut self, dry_run: bool) -> Result<u64, Error> {
        prune::forget_pruned(self, dry_run)
    }

    fn export(&mut self, each: &mut dyn FnMut(Portable) -> ControlFlow<()>) -> Result<(), Error> {
        self.look(|transaction, _| portable::export(transaction, each))
    }

    fn import(&mut self, source: &mut dyn Source, mark: bool) -> Result<Imported, Error> {
        let ledger = self.place.shown();
        self.transact(|transaction, _| match meta::standing(transaction)? {
            Standing::Retired => Err(Trouble::Ledger(Error::Retired { ledger })),
            Standing::InUse | Standing::Copy => portable::import(transaction, source, mark),
        })
    }

    fn standing(&mut self) -> Result<Standing, Error> {
        self.look(|transaction, _| meta::standing(transaction))
    }

    fn stand(&mut self, from: Standing, to: Standing) -> Result<Standing, Error> {
        self.transact(|transaction, _| {
            let stands = meta::standing(transaction)?;
            if stands != from {
                return Ok(stands);
            }
            meta::stand(transaction, to)?;
            Ok(to)
        })
    }

    fn damage(&mut self, each: &mut dyn FnMut(String)) -> Result<(), Error> {
        self.look(|transaction, _| damage::look_for(transaction, each))
    }

    fn set_busy_timeout(&mut self, busy_timeout: Duration) -> Result<(), Error> {
        self.busy_timeout = busy_timeout;
        self.wait_up_to(busy_timeout)
    }

    fn name(&self) -> OsString {
        self.place.path.clone().into_os_string()
    }

    fn created(&self) -> bool {
        self.created
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        SqliteStore::close(*self)
    }
}

/// Whether a group failed because a step of it did.
struct StepFailed(bool);
