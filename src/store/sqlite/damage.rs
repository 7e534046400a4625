//! Damage below the level of receipts.

use rusqlite::{Connection, Row};

use super::error::Trouble;
use super::{meta, portable, row};

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

const RECEIPTS: &str = row::select_receipt!();

const HISTORY: &str = concat!(
    row::select_history!(),
    ", (SELECT key FROM receipt_ledger_receipt WHERE id = receipt) AS key FROM receipt_ledger_history"
);

/// Tells every row that holds what no ledger writes, and whose it is: reading would end at the first.
fn undecodable(
    connection: &Connection,
    sql: &str,
    decode: &dyn Fn(&Row<'_>) -> Result<(), Trouble>,
    each: &mut dyn FnMut(String),
) -> Result<(), Trouble> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match decode(row) {
            Err(Trouble::Impossible(column)) => {
                let key = row.get_ref("key")?.as_str().unwrap_or("a key that is none");
                each(format!(
                    "the column {column} of {key} holds what no ledger writes"
                ));
            }
            decoded => decoded?,
        }
    }
    Ok(())
}

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
    undecodable(
        connection,
        RECEIPTS,
        &|row| row::receipt(row).map(|_| ()),
        each,
    )?;
    undecodable(
        connection,
        HISTORY,
        &|row| row::history(row).map(|_| ()),
        each,
    )?;
    if let Some(key) = portable::whole_and_pruned(connection)? {
        each(format!("{key} is there whole and pruned"));
    }
    meta::standing(connection)?;
    meta::forgotten(connection)?;
    Ok(())
}
