//! SQLite's errors in the ledger's words.

use std::time::Duration;

use rusqlite::ErrorCode;

use crate::error::Error;

/// What can go wrong inside a transaction.
#[derive(Debug)]
pub(super) enum Trouble {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// A column holds what no ledger writes.
    Impossible(&'static str),
    /// The ledger itself has a reason not to answer.
    Ledger(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Sqlite(error)
    }
}

impl Trouble {
    /// Puts it into the ledger's words.
    pub(super) fn told(self, action: &'static str, ledger: &str, waited: Duration) -> Error {
        match self {
            Trouble::Sqlite(error) if is_busy(&error) => Error::Busy {
                action,
                ledger: ledger.to_owned(),
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
            },
            Trouble::Sqlite(error) => sqlite_error(action, ledger, error),
            Trouble::Impossible(column) => Error::Corrupt {
                ledger: ledger.to_owned(),
                found: format!("the column {column} holds what no ledger writes"),
            },
            Trouble::Ledger(error) => error,
        }
    }
}

/// Puts an error of SQLite that is not about locks into the ledger's words.
pub(super) fn sqlite_error(action: &'static str, ledger: &str, source: rusqlite::Error) -> Error {
    let ledger = ledger.to_owned();
    match source.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation,
        ) => Error::Corrupt {
            ledger,
            found: source.to_string(),
        },
        Some(_) | None => Error::Io {
            action,
            ledger,
            source: Box::new(source),
        },
    }
}

/// Whether somebody else held a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}
