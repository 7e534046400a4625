//! Rows to receipts and back. Every statement that reads whole rows begins with one of the lists of columns below, so
//! that a row is read by place: to look each name up again for each of a million rows took longer than reading them. An
//! impossible row is an error, never a default.

use rusqlite::{Row, ToSql, params};

use super::error::Trouble;
use crate::receipt::{
    Amount, Event, EventKind, Fingerprint, FingerprintDigest, HistoryRow, Key, Owner, Pruned,
    Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};

/// A column of a statement: its place in the list, and its name.
type Column = (usize, &'static str);

macro_rules! columns {
    ($all:ident: $($constant:ident = $place:literal $name:literal,)*) => {
        $(const $constant: Column = ($place, $name);)*
        #[cfg(test)]
        const $all: &[Column] = &[$($constant,)*];
    };
}

columns! { RECEIPT:
    ID = 0 "id",
    KEY = 1 "key",
    FINGERPRINT = 2 "fingerprint",
    STATE = 3 "state",
    ATTEMPT = 4 "attempt",
    OWNER = 5 "owner",
    RUN = 6 "run",
    AMOUNT = 7 "amount",
    CURRENCY = 8 "currency",
    CREATED_AT = 9 "created_at_ms",
    UPDATED_AT = 10 "updated_at_ms",
    FIRST_RESERVED_AT = 11 "first_reserved_at_ms",
    ATTEMPT_STARTED_AT = 12 "attempt_started_at_ms",
    LEASE_EXPIRES_AT = 13 "lease_expires_at_ms",
    SETTLED_AT = 14 "settled_at_ms",
    SETTLED_BY = 15 "settled_by",
    LATE_SUCCESS = 16 "late_success",
    CONTESTED = 17 "contested",
    REASON = 18 "reason",
    RESULT = 19 "result",
}

columns! { HISTORY:
    HISTORY_AT = 0 "at_ms",
    HISTORY_EVENT = 1 "event",
    HISTORY_ATTEMPT = 2 "attempt",
    HISTORY_ACTOR = 3 "actor",
    HISTORY_DETAIL = 4 "detail",
}

/// The start of every statement that reads receipts.
macro_rules! select_receipt {
    () => {
        "SELECT id, key, fingerprint, state, attempt, owner, run, amount, currency, created_at_ms, \
         updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, \
         settled_by, late_success, contested, reason, result FROM receipt_ledger_receipt"
    };
}
pub(super) use select_receipt;

/// The first columns of every statement that reads history.
macro_rules! select_history {
    () => {
        "SELECT at_ms, event, attempt, actor, detail"
    };
}
pub(super) use select_history;

fn text<T>(
    row: &Row<'_>,
    (place, name): Column,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Trouble> {
    let value = row.get_ref(place)?.as_str().ok().and_then(parse);
    value.ok_or(Trouble::Impossible(name))
}

fn optional_text<T>(
    row: &Row<'_>,
    (place, name): Column,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Trouble> {
    match row.get_ref(place)?.as_str_or_null() {
        Ok(None) => Ok(None),
        Ok(Some(value)) => parse(value).map(Some).ok_or(Trouble::Impossible(name)),
        Err(_) => Err(Trouble::Impossible(name)),
    }
}

fn moment(row: &Row<'_>, (place, name): Column) -> Result<Option<Timestamp>, Trouble> {
    match row.get_ref(place)?.as_i64_or_null() {
        Ok(None) => Ok(None),
        Ok(Some(ms)) => Timestamp::from_ms(ms)
            .map(Some)
            .ok_or(Trouble::Impossible(name)),
        Err(_) => Err(Trouble::Impossible(name)),
    }
}

fn certain_moment(row: &Row<'_>, column: Column) -> Result<Timestamp, Trouble> {
    moment(row, column)?.ok_or(Trouble::Impossible(column.1))
}

fn flag(row: &Row<'_>, (place, name): Column) -> Result<bool, Trouble> {
    match row.get_ref(place)?.as_i64() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(_) | Err(_) => Err(Trouble::Impossible(name)),
    }
}

fn attempt(row: &Row<'_>, place: usize) -> Result<u32, Trouble> {
    let value = row.get_ref(place)?.as_i64().ok();
    let value = value.and_then(|value| u32::try_from(value).ok());
    value.ok_or(Trouble::Impossible(ATTEMPT.1))
}

/// Decodes a receipt and the number its history goes by.
pub(super) fn receipt(row: &Row<'_>) -> Result<(i64, Receipt), Trouble> {
    let currency = optional_text(row, CURRENCY, |text| Some(text.to_owned()))?;
    let amount = match (
        optional_text(row, AMOUNT, |text| Some(text.to_owned()))?,
        currency,
    ) {
        (None, None) => None,
        (Some(value), Some(currency)) => {
            Some(Amount::parse(&value, &currency).map_err(|_| Trouble::Impossible(AMOUNT.1))?)
        }
        (_, _) => return Err(Trouble::Impossible(CURRENCY.1)),
    };
    let receipt = Receipt {
        key: text(row, KEY, |text| Key::parse(text).ok())?,
        fingerprint: text(row, FINGERPRINT, |text| Fingerprint::parse(text).ok())?,
        stored_state: text(row, STATE, State::parse)?,
        attempt: attempt(row, ATTEMPT.0)?,
        owner: optional_text(row, OWNER, |text| Owner::parse(text).ok())?,
        run: optional_text(row, RUN, |text| RunId::parse(text).ok())?,
        amount,
        created_at: certain_moment(row, CREATED_AT)?,
        updated_at: certain_moment(row, UPDATED_AT)?,
        first_reserved_at: moment(row, FIRST_RESERVED_AT)?,
        attempt_started_at: moment(row, ATTEMPT_STARTED_AT)?,
        lease_expires_at: moment(row, LEASE_EXPIRES_AT)?,
        settled_at: moment(row, SETTLED_AT)?,
        settled_by: optional_text(row, SETTLED_BY, SettledBy::parse)?,
        late_success: flag(row, LATE_SUCCESS)?,
        contested: flag(row, CONTESTED)?,
        reason: optional_text(row, REASON, |text| Text::parse(text).ok())?,
        result: optional_text(row, RESULT, |text| {
            Some(ResultJson::from_compact(text.to_owned()))
        })?,
    };
    Ok((row.get(ID.0)?, receipt))
}

/// Hands a receipt's columns to a statement, in the table's order, all but `id`. By number, as a statement looks through
/// its names for each name it is given.
pub(super) fn with_parameters<T>(receipt: &Receipt, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
    let ms = |moment: Option<Timestamp>| moment.map(Timestamp::as_ms);
    run(params![
        receipt.key.as_str(),
        receipt.fingerprint.as_str(),
        receipt.stored_state.as_str(),
        receipt.attempt,
        receipt.owner.as_ref().map(Owner::as_str),
        receipt.run.as_ref().map(RunId::as_str),
        receipt.amount.as_ref().map(Amount::value),
        receipt.amount.as_ref().map(Amount::currency),
        receipt.created_at.as_ms(),
        receipt.updated_at.as_ms(),
        ms(receipt.first_reserved_at),
        ms(receipt.attempt_started_at),
        ms(receipt.lease_expires_at),
        ms(receipt.settled_at),
        receipt.settled_by.map(SettledBy::as_str),
        receipt.late_success,
        receipt.contested,
        receipt.reason.as_ref().map(Text::as_str),
        receipt.result.as_ref().map(ResultJson::as_str),
    ])
}

/// Decodes what is left of a pruned receipt.
pub(super) fn pruned(row: &Row<'_>) -> Result<Pruned, Trouble> {
    let digest: Vec<u8> = row.get("fingerprint_digest")?;
    let digest = digest
        .try_into()
        .map_err(|_| Trouble::Impossible("fingerprint_digest"))?;
    let (state, contested) = match row.get_ref("outcome")?.as_i64() {
        Ok(1) => (State::Succeeded, false),
        Ok(2) => (State::Failed, false),
        Ok(3) => (State::Failed, true),
        Ok(_) | Err(_) => return Err(Trouble::Impossible("outcome")),
    };
    Ok(Pruned {
        fingerprint: FingerprintDigest(digest),
        state,
        attempt: attempt(row, row.as_ref().column_index("attempt")?)?,
        contested,
    })
}

/// The number that stands for a pruned receipt's outcome.
pub(super) fn outcome(pruned: &Pruned) -> i64 {
    match (pruned.state, pruned.contested) {
        (State::Succeeded, _) => 1,
        (_, false) => 2,
        (_, true) => 3,
    }
}

/// Decodes a row of history.
pub(super) fn history(row: &Row<'_>) -> Result<HistoryRow, Trouble> {
    Ok(HistoryRow {
        at: certain_moment(row, HISTORY_AT)?,
        event: Event {
            kind: text(row, HISTORY_EVENT, EventKind::parse)?,
            attempt: attempt(row, HISTORY_ATTEMPT.0)?,
            actor: optional_text(row, HISTORY_ACTOR, |text| Owner::parse(text).ok())?,
            detail: optional_text(row, HISTORY_DETAIL, |text| Some(text.to_owned()))?,
        },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_column_stands_where_it_is_read() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection
            .execute_batch(&crate::store::sqlite::creation_sql())
            .unwrap();
        for (sql, columns) in [
            (select_receipt!(), RECEIPT),
            (
                concat!(select_history!(), " FROM receipt_ledger_history"),
                HISTORY,
            ),
        ] {
            let statement = connection.prepare(sql).unwrap();
            let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
            let found: Vec<&str> = statement.column_names().collect();
            assert_eq!(found, names);
            assert!(
                columns
                    .iter()
                    .enumerate()
                    .all(|(at, (place, _))| at == *place)
            );
        }
    }
}
