//! Which store a ledger is in: a file, or a PostgreSQL database where `--db` is a URL.

use std::time::Duration;

use super::failure::Failure;
use super::output::Output;
use super::settings::Settings;
use receipt_ledger::Ledger;
#[cfg(feature = "postgres")]
use receipt_ledger::store::postgres::{self, PostgresStore};
use receipt_ledger::store::sqlite::{self, SqliteStore};
use receipt_ledger::store::{Imported, Source, Store};

/// How long a call waits for locks unless it is told otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for a call that says what already happened: it must get through.
pub(crate) const SETTLE_BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// A ledger over whichever store was named.
pub(crate) type OpenLedger = Ledger<Box<dyn Store>>;

/// Opens the ledger to decide. A file is created if it is not there, unless that was forbidden; in a database only `init`
/// and `import` create a ledger.
pub(crate) fn open_to_decide(
    settings: &Settings,
    output: &mut Output,
) -> Result<OpenLedger, Failure> {
    let store: Box<dyn Store> = match place(settings, BUSY_TIMEOUT)? {
        Place::File(mut options) => {
            options.create = !settings.no_create;
            Box::new(SqliteStore::open(options)?)
        }
        #[cfg(feature = "postgres")]
        Place::Server(options) => open_server(options)?,
    };
    let mut ledger = Ledger::new(store);
    tell_creation(&mut ledger, output);
    Ok(ledger)
}

/// A ledger that came into being is told once.
pub(crate) fn tell_creation(ledger: &mut OpenLedger, output: &mut Output) {
    if ledger.store().created() {
        output.note(&format!(
            "created ledger {}",
            ledger.store().name().display()
        ));
    }
}

/// Opens the ledger to say what came of an effect.
pub(crate) fn open_to_settle(settings: &Settings) -> Result<OpenLedger, Failure> {
    let store: Box<dyn Store> = match place(settings, SETTLE_BUSY_TIMEOUT)? {
        Place::File(mut options) => {
            options.create = false;
            Box::new(SqliteStore::open(options)?)
        }
        #[cfg(feature = "postgres")]
        Place::Server(options) => open_server(options)?,
    };
    Ok(Ledger::new(store))
}

/// Opens a ledger that is there to change it.
pub(crate) fn open_to_change(
    settings: &Settings,
    output: &mut Output,
) -> Result<OpenLedger, Failure> {
    open_to_decide(
        &Settings {
            no_create: true,
            ..settings.clone()
        },
        output,
    )
}

/// Opens the ledger to look at it.
pub(crate) fn open_to_read(settings: &Settings) -> Result<OpenLedger, Failure> {
    let store: Box<dyn Store> = match place(settings, BUSY_TIMEOUT)? {
        Place::File(options) => Box::new(SqliteStore::open_to_read(options)?),
        #[cfg(feature = "postgres")]
        Place::Server(options) => open_server(options)?,
    };
    Ok(Ledger::new(store))
}

/// Takes an export into the ledger; it is created if it is not there, unless that was forbidden.
pub(crate) fn import_into(
    settings: &Settings,
    source: &mut dyn Source,
    mark: bool,
) -> Result<(Imported, OpenLedger), Failure> {
    let (imported, store): (Imported, Box<dyn Store>) = match place(settings, BUSY_TIMEOUT)? {
        Place::File(mut options) => {
            options.create = !settings.no_create;
            let (imported, store) = SqliteStore::import_into(options, source, mark)?;
            (imported, Box::new(store))
        }
        #[cfg(feature = "postgres")]
        Place::Server(mut options) => {
            options.create = !settings.no_create;
            let (imported, store) = PostgresStore::import_into(options, source, mark)?;
            (imported, Box::new(store))
        }
    };
    Ok((imported, Ledger::new(store)))
}

/// Creates the ledger. Returns whether it did, and the ledger's name.
pub(crate) fn init(settings: &Settings) -> Result<(bool, String), Failure> {
    match place(settings, BUSY_TIMEOUT)? {
        Place::File(options) => {
            let (created, path) = SqliteStore::init(options)?;
            Ok((created, path.display().to_string()))
        }
        #[cfg(feature = "postgres")]
        Place::Server(options) => {
            let store = PostgresStore::init(options)?;
            let told = (store.created(), store.name().display().to_string());
            Box::new(store).close()?;
            Ok(told)
        }
    }
}

/// What [`init`] would have the store do, in SQL. No ledger need be named: a file is what is usual.
pub(crate) fn creation_sql(settings: &Settings) -> Result<String, Failure> {
    if settings.db.is_none() {
        return Ok(sqlite::creation_sql());
    }
    Ok(match place(settings, BUSY_TIMEOUT)? {
        Place::File(_) => sqlite::creation_sql(),
        #[cfg(feature = "postgres")]
        Place::Server(_) => postgres::creation_sql(),
    })
}

/// The ledger's file, for what only a file can do.
pub(crate) fn file(settings: &Settings) -> Result<sqlite::OpenOptions, Failure> {
    match place(settings, BUSY_TIMEOUT)? {
        Place::File(options) => Ok(options),
        #[cfg(feature = "postgres")]
        Place::Server(_) => Err(Failure::new(
            "usage",
            "backup and restore are for ledgers in files; this one is in PostgreSQL",
        )
        .hint("use pg_dump and pg_restore, or the server's own backups")),
    }
}

enum Place {
    File(sqlite::OpenOptions),
    #[cfg(feature = "postgres")]
    Server(postgres::OpenOptions),
}

fn place(settings: &Settings, busy_timeout: Duration) -> Result<Place, Failure> {
    let db = settings.db()?;
    let busy_timeout = settings.busy_timeout.unwrap_or(busy_timeout);
    let bytes = db.as_encoded_bytes();
    if bytes.starts_with(b"postgres://") || bytes.starts_with(b"postgresql://") {
        return server(db, busy_timeout);
    }
    let mut options = sqlite::OpenOptions::new(db);
    options.busy_timeout = busy_timeout;
    Ok(Place::File(options))
}

#[cfg(feature = "postgres")]
fn server(url: &std::ffi::OsStr, busy_timeout: Duration) -> Result<Place, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::new("usage", format!("the URL of the ledger cannot be used: {why}"))
            .hint("write postgresql://USER@HOST/DATABASE; what it leaves out comes from PGHOST, PGUSER and so on")
    };
    let url = url.to_str().ok_or_else(|| unusable(&"it is not UTF-8"))?;
    let mut options = postgres::OpenOptions::new(url).map_err(|error| unusable(&error))?;
    options.busy_timeout = busy_timeout;
    Ok(Place::Server(options))
}

#[cfg(not(feature = "postgres"))]
fn server(_: &std::ffi::OsStr, _: Duration) -> Result<Place, Failure> {
    Err(Failure::new(
        "usage",
        "this receipt-ledger was built without PostgreSQL; it keeps ledgers in files only",
    )
    .hint("build it with the feature 'postgres', which is on unless it was switched off"))
}

#[cfg(feature = "postgres")]
fn open_server(mut options: postgres::OpenOptions) -> Result<Box<dyn Store>, Failure> {
    options.create = false;
    Ok(Box::new(PostgresStore::open(options)?))
}
