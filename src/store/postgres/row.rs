//! Rows to receipts and back. Columns go by name; an impossible row is an error, never a default.

use super::error::Trouble;
use super::wire::Row;
use crate::receipt::{
    Amount, Entry, Event, EventKind, Fingerprint, FingerprintDigest, HistoryRow, Key, KeyDigest,
    Owner, Pruned, Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};

/// Every column of a row of `receipt_ledger.receipt`, as [`stored`] reads it.
macro_rules! receipt_columns {
    () => {
        "id, key_digest, token, attempt, key, fingerprint, state, owner, run, amount, \
         currency, created_at_ms, updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, \
         lease_expires_at_ms, settled_at_ms, settled_by, late_success, contested, reason, result, \
         fingerprint_digest, outcome"
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

/// Seconds since 1970 with any part of a second behind a point; what is less than a millisecond is left out.
pub(super) fn seconds(text: &str) -> Option<Timestamp> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let ms: i64 = format!("{part:0<3}")[..3].parse().ok()?;
    let whole_ms = whole.parse::<i64>().ok()?.checked_mul(1000)?;
    Timestamp::from_ms(whole_ms.checked_add(ms)?)
}

/// `t` or `f`.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "t" => Some(true),
        "f" => Some(false),
        _ => None,
    }
}

/// So many bytes: see [`any_bytes`].
pub(super) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    any_bytes(text)?.try_into().ok()
}

/// Bytes as the server writes them: `\x` and hexadecimal digits or, where `bytea_output` says so, as they are with
/// backslashes doubled and what cannot be printed in octal.
pub(super) fn any_bytes(text: &str) -> Option<Vec<u8>> {
    let Some(digits) = text.strip_prefix("\\x") else {
        return escaped(text.as_bytes());
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

fn escaped(mut text: &[u8]) -> Option<Vec<u8>> {
    let octal = |digit: u8| char::from(digit).to_digit(8);
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        let (byte, rest) = match *text {
            [] => return Some(bytes),
            [b'\\', b'\\', ref rest @ ..] => (b'\\', rest),
            [b'\\', a, b, c, ref rest @ ..] => {
                let byte = octal(a)? << 6 | octal(b)? << 3 | octal(c)?;
                (u8::try_from(byte).ok()?, rest)
            }
            [b'\\', ..] => return None,
            [byte, ref rest @ ..] => (byte, rest),
        };
        bytes.push(byte);
        text = rest;
    }
}

/// What is stored for a key, whole or pruned. A row that would not be found by its key is no ledger's.
pub(super) fn stored(row: &Row) -> Result<Stored, Trouble> {
    let id = required(row, "id", number)?;
    let entry = match key(row)? {
        Some(key) => Entry::Whole(Box::new(receipt(row, key)?)),
        None => Entry::Pruned(pruned(row)?),
    };
    Ok(Stored { id, entry })
}

/// The key of a whole receipt, which its digest must be of.
pub(super) fn key(row: &Row) -> Result<Option<Key>, Trouble> {
    let digest = required(row, "key_digest", |text| bytes(text).map(KeyDigest))?;
    let key = optional(row, "key", |key| Key::parse(key).ok())?;
    match &key {
        Some(key) if KeyDigest::of(key) != digest => Err(Trouble::Impossible("key_digest")),
        Some(_) | None => Ok(key),
    }
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
        fingerprint: required(row, "fingerprint_digest", |text| {
            bytes(text).map(FingerprintDigest)
        })?,
        state,
        attempt: required(row, "attempt", number)?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_in_either_of_the_servers_ways_to_write_them() {
        assert_eq!(any_bytes("\\x00ff5c61"), Some(vec![0, 255, b'\\', b'a']));
        assert_eq!(
            any_bytes("\\000\\377\\\\a"),
            Some(vec![0, 255, b'\\', b'a'])
        );
        assert_eq!(
            (any_bytes("\\x"), any_bytes("")),
            (Some(vec![]), Some(vec![]))
        );
        for torn in ["\\x0", "\\x0g", "\\", "\\4", "\\400", "\\09a"] {
            assert_eq!(any_bytes(torn), None, "{torn}");
        }
    }

    #[test]
    fn seconds_are_read_to_the_millisecond() {
        let read = |text| seconds(text).map(|moment| moment.as_ms());
        assert_eq!(read("1764467578.891999"), Some(1_764_467_578_891));
        assert_eq!(read("1764467578.05"), Some(1_764_467_578_050));
        assert_eq!(read("12"), Some(12_000));
        for other in ["", ".5", "-1.5", "1e9", "1.x"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
