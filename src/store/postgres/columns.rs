//! The columns of the tables that a transaction writes to.

use super::rows::Column;
use super::value::Value;
use crate::receipt::{
    Amount, Event, KeyDigest, Owner, Receipt, ResultJson, RunId, SettledBy, Text, Timestamp,
};

/// A receipt's number.
pub(super) const ID: Column = ("id", "bigint");

/// A receipt's columns, which are all there is of it but its number and the token.
pub(super) const RECEIPT: &[Column] = &[
    ("key_digest", "bytea"),
    ("attempt", "bigint"),
    ("key", "text"),
    ("fingerprint", "text"),
    ("state", "text"),
    ("owner", "text"),
    ("run", "text"),
    ("amount", "text"),
    ("currency", "text"),
    ("created_at_ms", "bigint"),
    ("updated_at_ms", "bigint"),
    ("first_reserved_at_ms", "bigint"),
    ("attempt_started_at_ms", "bigint"),
    ("lease_expires_at_ms", "bigint"),
    ("settled_at_ms", "bigint"),
    ("settled_by", "text"),
    ("late_success", "boolean"),
    ("contested", "boolean"),
    ("reason", "text"),
    ("result", "text"),
];

/// The receipt that something belongs to, by its number.
pub(super) const OF_RECEIPT: Column = ("receipt", "bigint");

/// A row of history, and whose it is. Its sequence counts from the last one on record.
pub(super) const HISTORY: &[Column] = &[
    ("key_digest", "bytea"),
    ("sequence", "bigint"),
    ("at_ms", "bigint"),
    ("event", "text"),
    ("attempt", "bigint"),
    ("actor", "text"),
    ("detail", "text"),
];

pub(super) const PRUNED: &[Column] = &[("key_digest", "bytea"), ("outcome", "bigint")];
pub(super) const PAYLOAD: &[Column] = &[("key_digest", "bytea"), ("payload", "bytea")];

/// A receipt's values, in the order of [`RECEIPT`].
pub(super) fn of<'a>(
    digest: &'a KeyDigest,
    receipt: &'a Receipt,
) -> [Option<Value<'a>>; RECEIPT.len()] {
    let ms = |moment: Option<Timestamp>| moment.map(|moment| Value::Number(moment.as_ms()));
    let text = |text: &'a str| Some(Value::text(text));
    let amount = receipt.amount.as_ref();
    [
        Some(Value::bytes(&digest.0)),
        Some(Value::Number(receipt.attempt.into())),
        text(receipt.key.as_str()),
        text(receipt.fingerprint.as_str()),
        text(receipt.stored_state.as_str()),
        receipt.owner.as_ref().map(Owner::as_str).and_then(text),
        receipt.run.as_ref().map(RunId::as_str).and_then(text),
        amount.map(Amount::value).and_then(text),
        amount.map(Amount::currency).and_then(text),
        ms(Some(receipt.created_at)),
        ms(Some(receipt.updated_at)),
        ms(receipt.first_reserved_at),
        ms(receipt.attempt_started_at),
        ms(receipt.lease_expires_at),
        ms(receipt.settled_at),
        receipt.settled_by.map(SettledBy::as_str).and_then(text),
        Some(Value::Flag(receipt.late_success)),
        Some(Value::Flag(receipt.contested)),
        receipt.reason.as_ref().map(Text::as_str).and_then(text),
        receipt
            .result
            .as_ref()
            .map(ResultJson::as_str)
            .and_then(text),
    ]
}

/// The values of a row of history, in the order of [`HISTORY`], behind whose it is.
pub(super) fn of_event<'a>(
    of: Value<'a>,
    sequence: u32,
    event: &'a Event,
    at: Timestamp,
) -> [Option<Value<'a>>; HISTORY.len()] {
    [
        Some(of),
        Some(Value::Number(sequence.into())),
        Some(Value::Number(at.as_ms())),
        Some(Value::text(event.kind.as_str())),
        Some(Value::Number(event.attempt.into())),
        event
            .actor
            .as_ref()
            .map(|actor| Value::text(actor.as_str())),
        event.detail.as_deref().map(Value::text),
    ]
}
