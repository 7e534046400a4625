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
mod pending;
mod portable;
mod prune;
mod receipts;
mod row;
mod scan;
mod schema;

pub use schema::creation_sql;

use std::ffi::OsString;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, FileControl, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use self::connect::{STILL_TRIES_MAX, View};
use self::error::Trouble;
use self::file::{Found, Place};
use self::group::{Care, Group};
use super::{
    Filter, Imported, Pending, PendingIntent, Portable, Prune, Pruned, Reading, Rule, Source,
    Standing, Stats, Step, Store,
};
use crate::error::Error;
use crate::receipt::{Key, Receipt, Timestamp};

/// The clock of a store.
pub trait Clock: fmt::Debug + Send {
    /// The moment it is.
    fn now(&self) -> Timestamp;
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }
}

/// How to open a ledger's file.
#[derive(Debug)]
pub struct OpenOptions {
    /// A path, never a URI.
    pub path: PathBuf,
    /// How long to wait for others' locks.
    pub busy_timeout: Duration,
    /// Whether a ledger that is not there is created.
    pub create: bool,
    /// The clock; the machine's, but for tests.
    pub clock: Box<dyn Clock>,
}

impl OpenOptions {
    /// Waits up to 5 s for locks, creates the ledger if it is not there, goes by the machine's clock.
    pub fn new(path: impl Into<PathBuf>) -> OpenOptions {
        OpenOptions {
            path: path.into(),
            busy_timeout: Duration::from_secs(5),
            create: true,
            clock: Box::new(SystemClock),
        }
    }
}

/// A ledger's file, opened.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    place: Place,
    view: View,
    busy_timeout: Duration,
    clock: Box<dyn Clock>,
    created: bool,
    /// Why it cannot be written, where it can only be read.
    read_only: Option<String>,
}

impl SqliteStore {
    /// Opens a ledger to decide in, creating it if it is not there and that is allowed. A ledger that can only be read
    /// opens too: it can tell a conflict, and refuses everything else.
    ///
    /// # Errors
    /// [`Error`]; nothing under the path was changed.
    pub fn open(options: OpenOptions) -> Result<SqliteStore, Error> {
        let mut place = file::look(&options.path)?;
        let mut created = false;
        if let Found::Nothing = place.found {
            if !options.create {
                return Err(Error::NoLedger {
                    ledger: place.shown(),
                });
            }
            created = create::create(&place.path)?;
            place = file::look(&place.path)?;
        }
        connect::refuse_foreign(&place, options.busy_timeout)?;
        let busy_timeout = options.busy_timeout;
        match open_to_write(&place, busy_timeout) {
            Ok(connection) => Ok(SqliteStore {
                connection,
                place,
                view: View::Shared,
                busy_timeout,
                clock: options.clock,
                created,
                read_only: None,
            }),
            Err(Error::Io {
                action,
                ledger,
                source,
            }) => {
                let reason = source.to_string();
                match SqliteStore::open_place_to_read(place, busy_timeout, options.clock) {
                    Ok(store) => Ok(SqliteStore {
                        read_only: Some(reason),
                        ..store
                    }),
                    Err(_) => Err(Error::Io {
                        action,
                        ledger,
                        source,
                    }),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Takes an export into the ledger under the path. A ledger that is not there yet is filled beside its name first: under
    /// the name is nothing, or all of it.
    ///
    /// # Errors
    /// [`Error`]; nothing was then changed, and no ledger created.
    pub fn import_into(
        options: OpenOptions,
        source: &mut dyn Source,
        mark: bool,
    ) -> Result<(Imported, SqliteStore), Error> {
        let place = file::look(&options.path)?;
        let Found::Nothing = place.found else {
            let mut store = SqliteStore::open(options)?;
            let imported = store.import(source, mark)?;
            return Ok((imported, store));
        };
        if !options.create {
            return Err(Error::NoLedger {
                ledger: place.shown(),
            });
        }
        let draft = create::Draft::beside(&place.path)?;
        let aside = OpenOptions {
            path: draft.path(),
            ..options
        };
        let busy_timeout = aside.busy_timeout;
        let mut store = SqliteStore::open(aside)?;
        let imported = store.import(source, mark)?;
        if let Imported::Taken { .. } = imported {
            // Two ledgers would decide, even if there is nothing in this one yet.
            if mark {
                store.stand(Standing::InUse, Standing::Copy)?;
            }
            store.fold_back()?;
            store.close()?;
            draft.put_in_place(&place.path)?;
            let there = OpenOptions {
                busy_timeout,
                create: false,
                ..OpenOptions::new(place.path)
            };
            store = SqliteStore::open(there)?;
            store.created = true;
        }
        Ok((imported, store))
    }

    /// Folds the log back and looks whether it is: the file alone is then the ledger. Nobody else may be using it.
    fn fold_back(&mut self) -> Result<(), Error> {
        let told = |trouble: Trouble| trouble.told("write", &self.place.shown(), self.busy_timeout);
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let (busy, left): (bool, i64) = self
            .connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| told(error.into()))?;
        if busy || left > 0 {
            let source = "its log could not be folded back".into();
            return Err(Error::Io {
                action: "write",
                ledger: self.place.shown(),
                source,
            });
        }
        Ok(())
    }

    /// Opens a ledger to read from. Never creates one, and leaves no file behind that its owner could not write.
    ///
    /// # Errors
    /// [`Error`], [`Error::NoLedger`] among them.
    pub fn open_to_read(options: OpenOptions) -> Result<SqliteStore, Error> {
        let place = file::look(&options.path)?;
        if let Found::Nothing = place.found {
            return Err(Error::NoLedger {
                ledger: place.shown(),
            });
        }
        connect::refuse_foreign(&place, options.busy_timeout)?;
        SqliteStore::open_place_to_read(place, options.busy_timeout, options.clock)
    }

    fn open_place_to_read(
        place: Place,
        busy_timeout: Duration,
        clock: Box<dyn Clock>,
    ) -> Result<SqliteStore, Error> {
        let (connection, view) = open_to_look(&place, busy_timeout)?;
        let read_only = Some("it was opened to be read".to_owned());
        Ok(SqliteStore {
            connection,
            place,
            view,
            busy_timeout,
            clock,
            created: false,
            read_only,
        })
    }

    /// Creates a ledger, also inside another application's database. Returns whether it did: a ledger that is there
    /// stays as it is. The path is absolute, links resolved.
    ///
    /// # Errors
    /// [`Error`]; no half-made ledger is left.
    pub fn init(options: OpenOptions) -> Result<(bool, PathBuf), Error> {
        let place = file::look(&options.path)?;
        let mut made = false;
        if let Found::Foreign = place.found {
            let told = |trouble: Trouble| {
                trouble.told("put a ledger into", &place.shown(), options.busy_timeout)
            };
            made = init_inside(&place, options.busy_timeout).map_err(told)?;
        }
        let store = SqliteStore::open(OpenOptions {
            create: true,
            ..options
        })?;
        if let Some(reason) = store.read_only {
            let ledger = store.place.shown();
            return Err(Error::Io {
                action: "write",
                ledger,
                source: reason.into(),
            });
        }
        made |= store.created;
        let path = store.place.path.clone();
        store.close()?;
        Ok((made, path))
    }

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

    /// A transaction of a ledger that is in use: a copy and a retired ledger decide nothing.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &dyn Clock) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let ledger = self.place.shown();
        self.transact(|transaction, clock| {
            match meta::standing(transaction)? {
                Standing::InUse => {}
                Standing::Copy => return Err(Trouble::Ledger(Error::Copy { ledger })),
                Standing::Retired => return Err(Trouble::Ledger(Error::Retired { ledger })),
            }
            work(transaction, clock)
        })
    }

    /// The one place where a transaction that may write begins and ends. `IMMEDIATE`, so that nobody decides between
    /// our look and our write.
    fn transact<T>(
        &mut self,
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
        transaction
            .commit()
            .map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::SystemIoFailure) => Error::Uncertain {
                    ledger: ledger.clone(),
                    source: Box::new(error),
                },
                Some(_) | None => told(error.into()),
            })?;
        refuse_moved(&self.connection, &self.place, self.busy_timeout)?;
        Ok(done)
    }

    /// One consistent view. A reader without locks cannot take an answer back that it has handed out: if the file changes
    /// meanwhile, that is an error.
    fn look<T>(
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
        if steps.len() > 1 {
            group::expect_many(&self.connection).map_err(|error| {
                Trouble::Sqlite(error).told("set up", &self.place.shown(), self.busy_timeout)
            })?;
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
        connect::wait_up_to(&mut self.connection, busy_timeout).map_err(|error| {
            Trouble::Sqlite(error).told("set up", &self.place.shown(), busy_timeout)
        })
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

/// An answer from a file that no longer has the ledger's name would be forgotten by whoever asks next.
fn refuse_moved(
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

fn open_to_write(place: &Place, busy_timeout: Duration) -> Result<Connection, Error> {
    let told = |trouble: Trouble| trouble.told("open", &place.shown(), busy_timeout);
    let connection = connect::to_write(place, busy_timeout).map_err(told)?;
    meta::refuse_newer(&connection, place).map_err(told)?;
    // SQLite opens what may only be read all the same, and then takes no lock where it was told to.
    if !may_write(&connection).map_err(told)? {
        return Err(Error::Io {
            action: "write to",
            ledger: place.shown(),
            source: "the file may only be read".into(),
        });
    }
    connect::promise(&connection, busy_timeout).map_err(told)?;
    Ok(connection)
}

fn open_to_look(place: &Place, busy_timeout: Duration) -> Result<(Connection, View), Error> {
    let told = |trouble: Trouble| trouble.told("open", &place.shown(), busy_timeout);
    let rights = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let (connection, view) = connect::to_read(place, rights, busy_timeout).map_err(told)?;
    meta::refuse_newer(&connection, place).map_err(told)?;
    if view == View::Shared && may_write(&connection).map_err(told)? {
        connect::whole_at_rest(&connection).map_err(told)?;
    }
    Ok((connection, view))
}

fn may_write(connection: &Connection) -> Result<bool, Trouble> {
    Ok(!connection.is_readonly(MAIN_DB)?)
}

/// Puts the tables into a database that is somebody else's; its application id stays.
fn init_inside(place: &Place, busy_timeout: Duration) -> Result<bool, Trouble> {
    let mut connection = connect::to_write(place, busy_timeout)?;
    if connect::holds_ledger(&connection)? {
        return Ok(false);
    }
    connect::promise(&connection, busy_timeout)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if connect::holds_ledger(&transaction)? {
        return Ok(false);
    }
    transaction.execute_batch(&schema::creation_sql())?;
    transaction.commit()?;
    Ok(true)
}
