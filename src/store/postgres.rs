//! Receipts in a PostgreSQL database: one ledger for many machines.
//!
//! The same rules as in a file, on an engine that already keeps other data safe. Every transaction is plain SQL without
//! session state: unnamed statements, `SET LOCAL`, row locks. Whatever a transaction decides is decided under the lock
//! of the key's row, by the server's clock, and told only after the server has said that it is committed.

mod address;
mod alone;
mod answer;
mod apply;
mod array;
mod columns;
mod commit;
mod connect;
mod create;
mod damage;
mod error;
mod fresh;
mod group;
mod import;
mod items;
mod login;
mod meta;
mod pages;
mod passfile;
mod patience;
mod pending;
mod portable;
mod prune;
mod receipts;
mod row;
mod rows;
mod scan;
mod schema;
mod session;
mod socket;
mod tls;
mod url;
mod value;
mod wire;
mod writes;

pub use schema::creation_sql;

use std::env;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::time::Duration;

use self::address::Address;
use self::pages::look;
use self::session::Session;
use super::sqlite::Clock;
use super::{
    Filter, Imported, Pending, PendingIntent, Portable, Prune, Pruned, Reading, Rule, Source,
    Standing, Stats, Step, Store,
};
use crate::error::Error;
use crate::receipt::{Key, Receipt, Timestamp};

/// How to open a ledger in a database.
#[derive(Debug)]
pub struct OpenOptions {
    address: Address,
    /// How long to wait for a connection, for others' locks, for statements. Not for COMMIT.
    pub busy_timeout: Duration,
    /// Whether a ledger that is not there is created.
    pub create: bool,
    /// A clock to go by instead of the server's, for tests.
    pub clock: Option<Box<dyn Clock>>,
}

impl OpenOptions {
    /// The place that a URL names, as `postgresql://user@host/database`. What it leaves out comes from the environment,
    /// as for libpq. Waits up to 5 s, creates no ledger, goes by the server's clock.
    ///
    /// # Errors
    /// [`UrlError`] where no server, user or database can be made of it.
    pub fn new(url: &str) -> Result<OpenOptions, UrlError> {
        let address = Address::parse(url, &|name| env::var_os(name)).map_err(UrlError)?;
        Ok(OpenOptions {
            address,
            busy_timeout: Duration::from_secs(5),
            create: false,
            clock: None,
        })
    }
}

/// Why a URL names no place where a ledger could be. It holds none of the URL's values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(String);

/// A ledger in a database, opened.
#[derive(Debug)]
pub struct PostgresStore {
    session: Session,
    created: bool,
    /// Whether the last group was all new receipts.
    only_new: bool,
}

impl PostgresStore {
    fn over(session: Session, created: bool) -> PostgresStore {
        PostgresStore {
            session,
            created,
            only_new: false,
        }
    }
}

impl PostgresStore {
    /// Opens a ledger. Nothing is asked of the server before the first call that needs an answer, unless the ledger is to
    /// be created where there is none.
    ///
    /// # Errors
    /// [`Error`] where a ledger was to be created and could not.
    pub fn open(options: OpenOptions) -> Result<PostgresStore, Error> {
        let mut session = Session::new(options.address, options.busy_timeout, options.clock);
        let created = options.create && session.again("put a ledger into", create::create)?;
        Ok(PostgresStore::over(session, created))
    }

    /// Creates a ledger. One that is there stays as it is.
    ///
    /// # Errors
    /// [`Error`]; no half-made ledger is left.
    pub fn init(options: OpenOptions) -> Result<PostgresStore, Error> {
        PostgresStore::open(OpenOptions {
            create: true,
            ..options
        })
    }

    /// Takes an export into the ledger. One that is not there is created, if that is allowed, in the same transaction.
    ///
    /// # Errors
    /// [`Error`]; nothing was then changed, and no ledger created.
    pub fn import_into(
        options: OpenOptions,
        source: &mut dyn Source,
        mark: bool,
    ) -> Result<(Imported, PostgresStore), Error> {
        let mut session = Session::new(options.address, options.busy_timeout, options.clock);
        let begun = session.again("write to", |session, patience| {
            import::begin(session, patience, options.create)
        });
        let (head, made) = begun?;
        let imported = session.go_on("write to", |session, patience| {
            import::import(session, patience, &head, source, mark)
        })?;
        let created = made && matches!(imported, Imported::Taken { .. });
        Ok((imported, PostgresStore::over(session, created)))
    }
}

impl Store for PostgresStore {
    fn update(&mut self, key: &Key, rule: &mut Rule<'_>) -> Result<(), Error> {
        self.session.again("write to", |session, patience| {
            receipts::update(session, patience, key, rule)
        })
    }

    fn group(&mut self, steps: &mut [Step<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
        let only_new = &mut self.only_new;
        self.session.again("write to", |session, patience| {
            group::group(session, patience, steps, only_new)
        })
    }

    fn apply(&mut self, key: &Key, rule: &mut Rule<'_>, sql: &str) -> Result<(), Error> {
        self.session.again("write to", |session, patience| {
            apply::apply(session, patience, key, rule, sql)
        })
    }

    fn read(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error> {
        self.session.again("read", |session, patience| {
            receipts::read(session, patience, key, with_history)
        })
    }

    fn payload(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        self.session.again("read", |session, patience| {
            pending::payload(session, patience, key)
        })
    }

    fn next_pending(&mut self, pending: &Pending) -> Result<Option<PendingIntent>, Error> {
        self.session.again("read", |session, patience| {
            pending::next(session, patience, pending)
        })
    }

    fn scan(
        &mut self,
        filter: &Filter,
        each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.session.once("read", |session, patience| {
            look(session, patience, |session, head| {
                scan::scan(session, head, filter, each)
            })
        })
    }

    fn stats(&mut self) -> Result<Stats, Error> {
        self.session.again("read", |session, patience| {
            look(session, patience, scan::stats)
        })
    }

    fn prune(&mut self, prune: &Prune, progress: &mut dyn FnMut(&Pruned)) -> Result<Pruned, Error> {
        prune::prune(&mut self.session, prune, progress)
    }

    fn forget_pruned(&mut self, dry_run: bool) -> Result<u64, Error> {
        prune::forget_pruned(&mut self.session, dry_run)
    }

    fn export(&mut self, each: &mut dyn FnMut(Portable) -> ControlFlow<()>) -> Result<(), Error> {
        self.session.once("read", |session, patience| {
            look(session, patience, |session, head| {
                portable::export(session, head, each)
            })
        })
    }

    fn import(&mut self, source: &mut dyn Source, mark: bool) -> Result<Imported, Error> {
        let begun = self.session.again("write to", |session, patience| {
            import::begin(session, patience, false)
        });
        let (head, _) = begun?;
        self.session.go_on("write to", |session, patience| {
            import::import(session, patience, &head, source, mark)
        })
    }

    fn standing(&mut self) -> Result<Standing, Error> {
        self.session.again("read", |session, patience| {
            look(session, patience, |_, head| Ok(head.standing))
        })
    }

    fn stand(&mut self, from: Standing, to: Standing) -> Result<Standing, Error> {
        self.session.again("write to", |session, patience| {
            let (head, _) = import::begin(session, patience, false)?;
            if head.standing != from {
                session.roll_back(patience);
                return Ok(head.standing);
            }
            let set = meta::set("standing", to.as_str());
            session.commit(vec![set], None, patience)?;
            Ok(to)
        })
    }

    fn damage(&mut self, each: &mut dyn FnMut(String)) -> Result<(), Error> {
        self.session.once("read", |session, patience| {
            look(session, patience, |session, _| {
                damage::look_for(session, each)
            })
        })
    }

    fn set_busy_timeout(&mut self, busy_timeout: Duration) -> Result<(), Error> {
        self.session.set_busy_timeout(busy_timeout);
        Ok(())
    }

    fn name(&self) -> OsString {
        self.session.name().into()
    }

    fn created(&self) -> bool {
        self.created
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        self.session.close();
        Ok(())
    }
}
