//! Rows to receipts and back. Columns go by name; an impossible row is an error, never a default.

use super::error::Trouble;
use super::wire::Row;
use crate::receipt::{
    Amount, Entry, Event, EventKind, Fingerprint, FingerprintDigest, HistoryRow, Key, Owner,
    Pruned, Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};

/// Every column of a row of `receipt_ledger.receipt`, as [`stored`] reads it.
macro_rules! receipt_columns {
    () => {
        "id, encode(key_digest, 'hex') AS key_digest, token, attempt, key, fingerprint, state, owner, run, amount, \
         currency, created_at_ms, updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, \
         lease_expires_at_ms, settled_at_ms, settled_by, late_success, contested, reason, result, \
         encode(fingerprint_digest, 'hex') AS fingerprint_digest, outcome"
    };
}
pub(super) use receipt_columns;

/// What is stored for a key, and the number its history goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) id: i64,
    pub(super) entry: Entry,
}

/// A column that may be NULL.
pub(super) fn optional<T>(
    row: &Row,
    column: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Trouble> {
    match row.get(column) {
        Some(None) => Ok(None),
        Some(Some(text)) => parse(text).map(Some).ok_or(Trouble::Impossible(column)),
        None => Err(Trouble::Impossible(column)),
    }
}

/// A column that holds something.
pub(super) fn required<T>(
    row: &Row,
    column: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Trouble> {
    optional(row, column, parse)?.ok_or(Trouble::Impossible(column))
}

/// A number.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A moment, in milliseconds.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok().and_then(Timestamp::from_ms)
}

/// `t` or `f`.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "t" => Some(true),
        "f" => Some(false),
        _ => None,
    }
}

/// Bytes written as hexadecimal digits.
pub(super) fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let bytes = bytes_of_any_length(hex)?;
    bytes.try_into().ok()
}

/// As [`bytes`], however many there are.
pub(super) fn bytes_of_any_length(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

/// What is stored for a key, whole or pruned.
pub(super) fn stored(row: &Row) -> Result<Stored, Trouble> {
    let id = required(row, "id", number)?;
    let entry = match optional(row, "key", |key| Key::parse(key).ok())? {
        Some(key) => Entry::Whole(Box::new(receipt(row, key)?)),
        None => Entry::Pruned(pruned(row)?),
    };
    Ok(Stored { id, entry })
}

fn receipt(row: &Row, key: Key) -> Result<Receipt, Trouble> {
    let owned = |text: &str| Some(text.to_owned());
    let amount = match (
        optional(row, "amount", owned)?,
        optional(row, "currency", owned)?,
    ) {
        (None, None) => None,
        (Some(value), Some(currency)) => {
            Some(Amount::parse(&value, &currency).map_err(|_| Trouble::Impossible("amount"))?)
        }
        (_, _) => return Err(Trouble::Impossible("currency")),
    };
    Ok(Receipt {
        key,
        fingerprint: required(row, "fingerprint", |text| Fingerprint::parse(text).ok())?,
        stored_state: required(row, "state", State::parse)?,
        attempt: required(row, "attempt", number)?,
        owner: optional(row, "owner", |text| Owner::parse(text).ok())?,
        run: optional(row, "run", |text| RunId::parse(text).ok())?,
        amount,
        created_at: required(row, "created_at_ms", moment)?,
        updated_at: required(row, "updated_at_ms", moment)?,
        first_reserved_at: optional(row, "first_reserved_at_ms", moment)?,
        attempt_started_at: optional(row, "attempt_started_at_ms", moment)?,
        lease_expires_at: optional(row, "lease_expires_at_ms", moment)?,
        settled_at: optional(row, "settled_at_ms", moment)?,
        settled_by: optional(row, "settled_by", SettledBy::parse)?,
        late_success: required(row, "late_success", flag)?,
        contested: required(row, "contested", flag)?,
        reason: optional(row, "reason", |text| Text::parse(text).ok())?,
        result: optional(row, "result", |text| {
            Some(ResultJson::from_compact(text.to_owned()))
        })?,
    })
}

fn pruned(row: &Row) -> Result<Pruned, Trouble> {
    let (state, contested) = required(row, "outcome", |outcome| match outcome {
        "1" => Some((State::Succeeded, false)),
        "2" => Some((State::Failed, false)),
        "3" => Some((State::Failed, true)),
        _ => None,
    })?;
    Ok(Pruned {
        fingerprint: required(row, "fingerprint_digest", |hex| {
            bytes(hex).map(FingerprintDigest)
        })?,
        state,
        attempt: required(row, "attempt", number)?,
        contested,
    })
}

/// The number that stands for a pruned receipt's outcome.
pub(super) fn outcome(pruned: &Pruned) -> &'static str {
    match (pruned.state, pruned.contested) {
        (State::Succeeded, _) => "1",
        (_, false) => "2",
        (_, true) => "3",
    }
}

/// Decodes a row of history.
pub(super) fn history(row: &Row) -> Result<HistoryRow, Trouble> {
    Ok(HistoryRow {
        at: required(row, "at_ms", moment)?,
        event: Event {
            kind: required(row, "event", EventKind::parse)?,
            attempt: required(row, "attempt", number)?,
            actor: optional(row, "actor", |text| Owner::parse(text).ok())?,
            detail: optional(row, "detail", |text| Some(text.to_owned()))?,
        },
    })
}
