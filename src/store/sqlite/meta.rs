//! What the ledger says of itself: its schema's version, whether it decides, how much was deleted whole.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::Trouble;
use super::file::Place;
use super::schema;
use crate::error::Error;
use crate::store::Standing;

const SCHEMA_VERSION: &str = "schema_version";
const STANDING: &str = "standing";
const FORGOTTEN: &str = "forgotten";

fn value(connection: &Connection, name: &str) -> Result<Option<String>, Trouble> {
    let sql = "SELECT value FROM receipt_ledger_meta WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

fn set(connection: &Connection, name: &str, value: &str) -> Result<(), Trouble> {
    let sql = "INSERT INTO receipt_ledger_meta (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection
        .prepare_cached(sql)?
        .execute(params![name, value])?;
    Ok(())
}

/// Refuses a ledger that a newer version of the program has changed.
pub(super) fn refuse_newer(connection: &Connection, place: &Place) -> Result<(), Trouble> {
    let version = value(connection, SCHEMA_VERSION)?.and_then(|version| version.parse().ok());
    let found = version
        .filter(|version| *version > 0)
        .ok_or(Trouble::Impossible(SCHEMA_VERSION))?;
    let known = schema::version();
    if found > known {
        return Err(Trouble::Ledger(Error::NewerLedger {
            ledger: place.shown(),
            found,
            known,
        }));
    }
    Ok(())
}

/// Whether the ledger decides. Most ledgers never say anything of it.
pub(super) fn standing(connection: &Connection) -> Result<Standing, Trouble> {
    match value(connection, STANDING)? {
        None => Ok(Standing::InUse),
        Some(word) => Standing::parse(&word).ok_or(Trouble::Impossible(STANDING)),
    }
}

/// Has the ledger decide, or not.
pub(super) fn stand(connection: &Connection, standing: Standing) -> Result<(), Trouble> {
    set(connection, STANDING, standing.as_str())
}

/// How many receipts were deleted whole, ever.
pub(super) fn forgotten(connection: &Connection) -> Result<u64, Trouble> {
    match value(connection, FORGOTTEN)? {
        None => Ok(0),
        Some(count) => count.parse().map_err(|_| Trouble::Impossible(FORGOTTEN)),
    }
}

/// Sets how many receipts were deleted whole.
pub(super) fn set_forgotten(connection: &Connection, count: u64) -> Result<(), Trouble> {
    set(connection, FORGOTTEN, &count.to_string())
}
