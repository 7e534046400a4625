//! Many receipts at once: streamed through a filter, or counted.

use std::ops::ControlFlow;

use super::error::Trouble;
use super::meta::Head;
use super::pages::Page;
use super::row::{self, moment, number, optional, receipt_columns, required};
use super::session::Session;
use super::wire::{Row, Statement};
use crate::receipt::{Entry, Receipt, RunId, State, Timestamp};
use crate::store::{Filter, Stats};

/// The receipts that are in a state at the moment `$2`: a reserved one whose lease has run out is unknown.
fn in_state(state: State) -> &'static str {
    match state {
        State::Recorded => "state = 'recorded'",
        State::Reserved => {
            "state = 'reserved' AND (lease_expires_at_ms IS NULL OR lease_expires_at_ms > $2::bigint)"
        }
        State::Succeeded => "state = 'succeeded'",
        State::Failed => "state = 'failed'",
        State::Unknown => {
            "state = 'unknown' OR state = 'reserved' AND lease_expires_at_ms <= $2::bigint"
        }
    }
}

const SELECT: &str = concat!(
    "SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt WHERE key IS NOT NULL AND id > $1::bigint AND $2::bigint IS NOT NULL \
     AND starts_with(key, $3) AND ($4::text IS NULL OR run = $4) \
     AND ($5::bigint IS NULL OR updated_at_ms <= $5)"
);

/// Streams the receipts that pass the filter, oldest first.
pub(super) fn scan(
    session: &mut Session,
    head: &Head,
    filter: &Filter,
    each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let now = session.now(head);
    let unchanged_since = filter
        .unchanged_for_ms
        .map(|ms| now.as_ms().saturating_sub(ms).to_string());
    let run = filter.run.as_ref().map(RunId::as_str).map(str::to_owned);
    let mut sql = SELECT.to_owned();
    if !filter.states.is_empty() {
        let states: Vec<&str> = filter.states.iter().map(|state| in_state(*state)).collect();
        sql.push_str(&format!(" AND ({})", states.join(" OR ")));
    }
    sql.push_str(" ORDER BY id LIMIT $6::bigint");
    let mut left = filter.limit.unwrap_or(u64::MAX);
    let (mut page, mut after) = (Page::first(), 0);
    while left > 0 {
        let asked = Statement::new(&sql)
            .with(after.to_string())
            .with(now.as_ms().to_string())
            .with(filter.prefix.as_deref().unwrap_or_default())
            .with_optional(run.clone())
            .with_optional(unchanged_since.clone())
            .with(page.rows());
        let answers = session.ask_for_page(&[asked])?;
        let rows = &answers[0].rows;
        for row in rows {
            let (id, receipt) = whole(row)?;
            after = id;
            if left == 0 || each(receipt, now).is_break() {
                return Ok(());
            }
            left -= 1;
        }
        if page.is_last(rows.len()) {
            break;
        }
        page = page.next(rows);
    }
    Ok(())
}

/// A whole receipt, and the number its history goes by.
pub(super) fn whole(row: &Row) -> Result<(i64, Receipt), Trouble> {
    let stored = row::stored(row)?;
    match stored.entry {
        Entry::Whole(receipt) => Ok((stored.id, *receipt)),
        Entry::Pruned(_) => Err(Trouble::Impossible("key")),
    }
}

const COUNTS: &str = "\
SELECT count(*) FILTER (WHERE state = 'recorded') AS recorded, \
       count(*) FILTER (WHERE state = 'reserved' AND NOT ran_out) AS reserved, \
       count(*) FILTER (WHERE state = 'succeeded') AS succeeded, \
       count(*) FILTER (WHERE state = 'failed') AS failed, \
       count(*) FILTER (WHERE state = 'unknown' OR ran_out) AS unknown, \
       count(*) FILTER (WHERE state IS NULL) AS pruned, \
       min(attempt_started_at_ms) FILTER (WHERE state = 'reserved' AND NOT ran_out) AS in_flight_at, \
       least(min(updated_at_ms) FILTER (WHERE state = 'unknown'), \
             min(lease_expires_at_ms) FILTER (WHERE ran_out)) AS unknown_at \
FROM (SELECT state, attempt_started_at_ms, updated_at_ms, lease_expires_at_ms, \
             coalesce(state = 'reserved' AND lease_expires_at_ms <= $1::bigint, false) AS ran_out \
      FROM receipt_ledger.receipt) AS receipt";

/// The ledger in figures.
pub(super) fn stats(session: &mut Session, head: &Head) -> Result<Stats, Trouble> {
    let now = session.now(head);
    let asked = Statement::new(COUNTS).with(now.as_ms().to_string());
    let answers = session.ask_without_limit(&[asked])?;
    let row = answers[0].rows.first();
    let row = row.ok_or(Trouble::Impossible("recorded"))?;
    Ok(Stats {
        recorded: required(row, "recorded", number)?,
        reserved: required(row, "reserved", number)?,
        succeeded: required(row, "succeeded", number)?,
        failed: required(row, "failed", number)?,
        unknown: required(row, "unknown", number)?,
        pruned: required(row, "pruned", number)?,
        forgotten: head.forgotten,
        oldest_in_flight_at: optional(row, "in_flight_at", moment)?,
        oldest_unknown_at: optional(row, "unknown_at", moment)?,
    })
}
