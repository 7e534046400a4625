//! Many receipts at once: streamed through a filter, or counted.

use std::ops::ControlFlow;

use rusqlite::{Connection, ToSql};

use super::error::Trouble;
use super::{meta, row};
use crate::receipt::{Receipt, RunId, State, Timestamp};
use crate::store::{Filter, Stats};

const ALL_STATES: [State; 5] = [
    State::Recorded,
    State::Reserved,
    State::Succeeded,
    State::Failed,
    State::Unknown,
];

/// The receipts that are in a state at the moment `:now`: a reserved one whose lease has run out is unknown.
fn in_state(state: State) -> &'static [&'static str] {
    match state {
        State::Recorded => &["state = 'recorded'"],
        State::Reserved => {
            &["state = 'reserved' AND (lease_expires_at_ms IS NULL OR lease_expires_at_ms > :now)"]
        }
        State::Succeeded => &["state = 'succeeded'"],
        State::Failed => &["state = 'failed'"],
        State::Unknown => &[
            "state = 'unknown'",
            "state = 'reserved' AND lease_expires_at_ms <= :now",
        ],
    }
}

/// Streams the receipts that pass the filter, oldest first.
pub(super) fn scan(
    connection: &Connection,
    filter: &Filter,
    now: Timestamp,
    each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let unchanged_since = filter
        .unchanged_for_ms
        .map(|ms| now.as_ms().saturating_sub(ms));
    let run = filter.run.as_ref().map(RunId::as_str);
    let limit = filter
        .limit
        .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let sql = sql(filter);
    let mut statement = connection.prepare(&sql)?;
    let given: [(&str, &dyn ToSql); 5] = [
        (":now", &now.as_ms()),
        (":prefix", &filter.prefix),
        (":run", &run),
        (":unchanged_since", &unchanged_since),
        (":limit", &limit),
    ];
    let used: Vec<_> = given
        .into_iter()
        .filter(|(name, _)| sql.contains(name))
        .collect();
    let mut rows = statement.query(&*used)?;
    while let Some(row) = rows.next()? {
        if each(row::receipt(row)?.1, now).is_break() {
            break;
        }
    }
    Ok(())
}

/// One SELECT a state where indexes find the states, one over the whole table otherwise.
fn sql(filter: &Filter) -> String {
    let mut also = String::new();
    for (given, condition) in [
        (
            filter.prefix.is_some(),
            " AND substr(key, 1, length(:prefix)) = :prefix",
        ),
        (filter.run.is_some(), " AND run = :run"),
        (
            filter.unchanged_for_ms.is_some(),
            " AND updated_at_ms <= :unchanged_since",
        ),
    ] {
        if given {
            also.push_str(condition);
        }
    }
    // A state that is named twice is asked for once: a SELECT each would list its receipts twice.
    let conditions: Vec<&str> = ALL_STATES
        .iter()
        .filter(|state| filter.states.contains(state))
        .flat_map(|state| in_state(*state))
        .copied()
        .collect();
    let select = |condition: &str| {
        format!(
            concat!(row::select_receipt!(), " WHERE {}{}"),
            condition, also
        )
    };
    let mut sql = if conditions.is_empty() {
        select("true")
    } else if filter.states.contains(&State::Succeeded) {
        select(&format!("({})", conditions.join(" OR ")))
    } else {
        conditions
            .iter()
            .map(|condition| select(condition))
            .collect::<Vec<_>>()
            .join(" UNION ALL ")
    };
    sql.push_str(" ORDER BY id");
    if filter.limit.is_some() {
        sql.push_str(" LIMIT :limit");
    }
    sql
}

/// Counts the states that an index covers; what is left of all receipts has succeeded.
const COUNTS: &str = "\
SELECT (SELECT count(*) FROM receipt_ledger_receipt) AS all_receipts,
       (SELECT count(*) FROM receipt_ledger_receipt WHERE state = 'recorded') AS recorded,
       (SELECT count(*) FROM receipt_ledger_receipt WHERE state = 'failed') AS failed,
       (SELECT count(*) FROM receipt_ledger_receipt WHERE state = 'unknown') AS declared,
       (SELECT min(updated_at_ms) FROM receipt_ledger_receipt WHERE state = 'unknown') AS declared_at,
       (SELECT count(*) FROM receipt_ledger_pruned) AS pruned";

const RESERVED: &str = "\
SELECT count(*) FILTER (WHERE ran_out) AS ran_out,
       count(*) FILTER (WHERE NOT ran_out) AS in_flight,
       min(lease_expires_at_ms) FILTER (WHERE ran_out) AS ran_out_at,
       min(attempt_started_at_ms) FILTER (WHERE NOT ran_out) AS in_flight_at
FROM (SELECT lease_expires_at_ms, attempt_started_at_ms,
             coalesce(lease_expires_at_ms <= ?1, false) AS ran_out
      FROM receipt_ledger_receipt WHERE state = 'reserved')";

/// The ledger in figures.
pub(super) fn stats(connection: &Connection, now: Timestamp) -> Result<Stats, Trouble> {
    let mut statement = connection.prepare(RESERVED)?;
    let (ran_out, in_flight, ran_out_at, in_flight_at) =
        statement.query_row([now.as_ms()], |row| {
            Ok((
                row.get::<_, u64>("ran_out")?,
                row.get::<_, u64>("in_flight")?,
                row.get::<_, Option<i64>>("ran_out_at")?,
                row.get::<_, Option<i64>>("in_flight_at")?,
            ))
        })?;
    let mut statement = connection.prepare(COUNTS)?;
    let mut rows = statement.query([])?;
    let row = rows.next()?.ok_or(Trouble::Impossible("count"))?;
    let (recorded, failed, declared): (u64, u64, u64) = (
        row.get("recorded")?,
        row.get("failed")?,
        row.get("declared")?,
    );
    let others = recorded + failed + declared + ran_out + in_flight;
    let declared_at: Option<i64> = row.get("declared_at")?;
    let unknown_at = declared_at.into_iter().chain(ran_out_at).min();
    Ok(Stats {
        recorded,
        reserved: in_flight,
        succeeded: row.get::<_, u64>("all_receipts")?.saturating_sub(others),
        failed,
        unknown: declared + ran_out,
        pruned: row.get("pruned")?,
        forgotten: meta::forgotten(connection)?,
        oldest_in_flight_at: in_flight_at.and_then(Timestamp::from_ms),
        oldest_unknown_at: unknown_at.and_then(Timestamp::from_ms),
    })
}
