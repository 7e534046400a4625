//! Damage below the level of receipts, as far as a client of the server can see it.

use std::ops::ControlFlow;

use super::error::Trouble;
use super::portable::each_page;
use super::row::{self, number, required};
use super::session::Session;
use super::wire::Statement;

/// Rows that belong to nothing, and what they are.
const ORPHANS: [(&str, &str); 3] = [
    (
        "rows of history belong to no receipt",
        "SELECT count(*) AS found FROM receipt_ledger.history \
         WHERE NOT EXISTS (SELECT FROM receipt_ledger.receipt WHERE id = history.receipt AND key IS NOT NULL)",
    ),
    (
        "payloads belong to no receipt",
        "SELECT count(*) AS found FROM receipt_ledger.payload \
         WHERE NOT EXISTS (SELECT FROM receipt_ledger.receipt WHERE id = payload.receipt AND key IS NOT NULL)",
    ),
    (
        "payloads of receipts that have succeeded were not erased",
        "SELECT count(*) AS found FROM receipt_ledger.payload \
         WHERE EXISTS (SELECT FROM receipt_ledger.receipt WHERE id = payload.receipt AND state = 'succeeded')",
    ),
];

/// Tells every whole receipt that holds what no ledger writes, and whose it is: reading would end at the first.
fn undecodable(session: &mut Session, each: &mut dyn FnMut(String)) -> Result<(), Trouble> {
    let walked = each_page(session, &mut |_, rows| {
        for row in rows {
            if let Err(Trouble::Impossible(column)) = row::stored(row) {
                let key = row.get("key").flatten().unwrap_or("a key that is none");
                each(format!(
                    "the column {column} of {key} holds what no ledger writes"
                ));
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    walked.map(|_| ())
}

/// Looks for rows that belong to nothing, and for rows that cannot be read. Pages and indexes are the server's: `pg_amcheck` looks at those.
pub(super) fn look_for(session: &mut Session, each: &mut dyn FnMut(String)) -> Result<(), Trouble> {
    for (what, sql) in ORPHANS {
        let answers = session.ask_without_limit(&[Statement::new(sql)])?;
        let row = answers[0].rows.first();
        let count: u64 = required(row.ok_or(Trouble::Impossible("found"))?, "found", number)?;
        if count > 0 {
            each(format!("{count} {what}"));
        }
    }
    undecodable(session, each)
}
