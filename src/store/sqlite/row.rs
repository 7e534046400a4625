//! Rows to receipts and back. Columns go by name; an impossible row is an error, never a default.

use rusqlite::{Row, ToSql, params};

use super::error::Trouble;
use crate::receipt::{
    Amount, Event, EventKind, Fingerprint, FingerprintDigest, HistoryRow, Key, Owner, Pruned,
    Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};

/// The start of every statement that reads receipts.
macro_rules! select_receipt {
    () => {
        "SELECT id, key, fingerprint, state, attempt, owner, run, amount, currency, created_at_ms, \
         updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, \
         settled_by, late_success, contested, reason, result FROM receipt_ledger_receipt"
    };
}
pub(super) use select_receipt;

fn text<T>(
    row: &Row<'_>,
    column: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Trouble> {
    let value = row.get_ref(column)?.as_str().ok().and_then(parse);
    value.ok_or(Trouble::Impossible(column))
}

fn optional_text<T>(
    row: &Row<'_>,
    column: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Trouble> {
    match row.get_ref(column)?.as_str_or_null() {
        Ok(None) => Ok(None),
        Ok(Some(value)) => parse(value).map(Some).ok_or(Trouble::Impossible(column)),
        Err(_) => Err(Trouble::Impossible(column)),
    }
}

fn moment(row: &Row<'_>, column: &'static str) -> Result<Option<Timestamp>, Trouble> {
    match row.get_ref(column)?.as_i64_or_null() {
        Ok(None) => Ok(None),
        Ok(Some(ms)) => Timestamp::from_ms(ms)
            .map(Some)
            .ok_or(Trouble::Impossible(column)),
        Err(_) => Err(Trouble::Impossible(column)),
    }
}

fn flag(row: &Row<'_>, column: &'static str) -> Result<bool, Trouble> {
    match row.get_ref(column)?.as_i64() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(_) | Err(_) => Err(Trouble::Impossible(column)),
    }
}

fn attempt(row: &Row<'_>) -> Result<u32, Trouble> {
    let value = row
        .get_ref("attempt")?
        .as_i64()
        .ok()
        .and_then(|value| u32::try_from(value).ok());
    value.ok_or(Trouble::Impossible("attempt"))
}

/// Decodes a receipt and the number its history goes by.
pub(super) fn receipt(row: &Row<'_>) -> Result<(i64, Receipt), Trouble> {
    let amount = optional_text(row, "amount", |text| Some(text.to_owned()))?;
    let currency = optional_text(row, "currency", |text| Some(text.to_owned()))?;
    let amount = match (amount, currency) {
        (None, None) => None,
        (Some(value), Some(currency)) => {
            Some(Amount::parse(&value, &currency).map_err(|_| Trouble::Impossible("amount"))?)
        }
        (_, _) => return Err(Trouble::Impossible("currency")),
    };
    let receipt = Receipt {
        key: text(row, "key", |text| Key::parse(text).ok())?,
        fingerprint: text(row, "fingerprint", |text| Fingerprint::parse(text).ok())?,
        stored_state: text(row, "state", State::parse)?,
        attempt: attempt(row)?,
        owner: optional_text(row, "owner", |text| Owner::parse(text).ok())?,
        run: optional_text(row, "run", |text| RunId::parse(text).ok())?,
        amount,
        created_at: moment(row, "created_at_ms")?.ok_or(Trouble::Impossible("created_at_ms"))?,
        updated_at: moment(row, "updated_at_ms")?.ok_or(Trouble::Impossible("updated_at_ms"))?,
        first_reserved_at: moment(row, "first_reserved_at_ms")?,
        attempt_started_at: moment(row, "attempt_started_at_ms")?,
        lease_expires_at: moment(row, "lease_expires_at_ms")?,
        settled_at: moment(row, "settled_at_ms")?,
        settled_by: optional_text(row, "settled_by", SettledBy::parse)?,
        late_success: flag(row, "late_success")?,
        contested: flag(row, "contested")?,
        reason: optional_text(row, "reason", |text| Text::parse(text).ok())?,
        result: optional_text(row, "result", |text| {
            Some(ResultJson::from_compact(text.to_owned()))
        })?,
    };
    Ok((row.get("id")?, receipt))
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
        attempt: attempt(row)?,
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
        at: moment(row, "at_ms")?.ok_or(Trouble::Impossible("at_ms"))?,
        event: Event {
            kind: text(row, "event", EventKind::parse)?,
            attempt: attempt(row)?,
            actor: optional_text(row, "actor", |text| Owner::parse(text).ok())?,
            detail: optional_text(row, "detail", |text| Some(text.to_owned()))?,
        },
    })
}
