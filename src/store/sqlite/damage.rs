//! Damage below the level of receipts.

use rusqlite::Connection;

use super::error::Trouble;
use super::{meta, portable};

/// Most findings of SQLite's own check that are told.
const FINDINGS_MAX: u32 = 100;

/// Rows that belong to nothing, and what they are.
const ORPHANS: [(&str, &str); 3] = [
    (
        "rows of history belong to no receipt",
        "SELECT count(*) FROM receipt_ledger_history WHERE receipt NOT IN (SELECT id FROM receipt_ledger_receipt)",
    ),
    (
        "payloads belong to no receipt",
        "SELECT count(*) FROM receipt_ledger_payload WHERE receipt NOT IN (SELECT id FROM receipt_ledger_receipt)",
    ),
    (
        "payloads of receipts that have succeeded were not erased",
        "SELECT count(*) FROM receipt_ledger_payload WHERE receipt IN
             (SELECT id FROM receipt_ledger_receipt WHERE state = 'succeeded')",
    ),
];

/// Looks at pages, indexes and constraints, then for rows that belong to nothing.
pub(super) fn look_for(
    connection: &Connection,
    each: &mut dyn FnMut(String),
) -> Result<(), Trouble> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FINDINGS_MAX})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let finding: String = row.get(0)?;
        if finding != "ok" {
            each(finding);
        }
    }
    for (what, sql) in ORPHANS {
        let count: u64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            each(format!("{count} {what}"));
        }
    }
    if let Some(key) = portable::whole_and_pruned(connection)? {
        each(format!("{key} is there whole and pruned"));
    }
    meta::standing(connection)?;
    meta::forgotten(connection)?;
    Ok(())
}
