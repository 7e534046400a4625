//! One step of a group: undone alone if it fails.

use rusqlite::Connection;

use super::error::Trouble;
use super::{Clock, receipts};
use crate::store::Step;

/// Takes a step. The outer error ends the group: SQLite has given the whole transaction up, or cannot go on.
pub(super) fn take(
    connection: &Connection,
    step: &mut Step<'_>,
    clock: &dyn Clock,
) -> Result<Result<(), Trouble>, Trouble> {
    match step {
        Step::Read(key, with_history, reading) => {
            let read = receipts::read(connection, key, *with_history, clock);
            Ok(read.map(|read| **reading = Some(read)))
        }
        Step::Update(key, rule) => {
            connection
                .prepare_cached("SAVEPOINT receipt_ledger_step")?
                .execute([])?;
            let taken = receipts::change(connection, key, rule, clock);
            if taken.is_err() {
                if connection.is_autocommit() {
                    return taken.map(Ok);
                }
                connection
                    .prepare_cached("ROLLBACK TO receipt_ledger_step")?
                    .execute([])?;
            }
            connection
                .prepare_cached("RELEASE receipt_ledger_step")?
                .execute([])?;
            Ok(taken)
        }
    }
}
