//! Opening a ledger: to decide in, to read from, to create, to fill from an export.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags, TransactionBehavior};

use super::connect::{self, View};
use super::error::Trouble;
use super::file::{self, Found, Place};
use super::{Clock, OpenOptions, SqliteStore, create, meta, schema};
use crate::error::Error;
use crate::store::{Imported, Source, Standing, Store};

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
                folds_at: None,
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
            folds_at: None,
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

pub(super) fn open_to_look(
    place: &Place,
    busy_timeout: Duration,
) -> Result<(Connection, View), Error> {
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
