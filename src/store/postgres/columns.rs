//! The columns of the tables that a transaction writes to.

use super::rows::Column;
use crate::receipt::{Amount, Owner, Receipt, ResultJson, RunId, SettledBy, Text, Timestamp};

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

pub(super) const PRUNED: &[Column] = &[("key_digest", "bytea"), ("outcome", "smallint")];
pub(super) const PAYLOAD: &[Column] = &[("key_digest", "bytea"), ("payload", "bytea")];

/// A receipt's values, in the order of [`RECEIPT`].
pub(super) fn of(digest: &str, receipt: &Receipt) -> [Option<String>; RECEIPT.len()] {
    let ms = |moment: Option<Timestamp>| moment.map(|moment| moment.as_ms().to_string());
    let owned = |text: &str| Some(text.to_owned());
    let amount = receipt.amount.as_ref();
    let flag = |flag| owned(if flag { "t" } else { "f" });
    [
        owned(digest),
        Some(receipt.attempt.to_string()),
        owned(receipt.key.as_str()),
        owned(receipt.fingerprint.as_str()),
        owned(receipt.stored_state.as_str()),
        receipt.owner.as_ref().map(Owner::as_str).and_then(owned),
        receipt.run.as_ref().map(RunId::as_str).and_then(owned),
        amount.map(Amount::value).and_then(owned),
        amount.map(Amount::currency).and_then(owned),
        ms(Some(receipt.created_at)),
        ms(Some(receipt.updated_at)),
        ms(receipt.first_reserved_at),
        ms(receipt.attempt_started_at),
        ms(receipt.lease_expires_at),
        ms(receipt.settled_at),
        receipt.settled_by.map(SettledBy::as_str).and_then(owned),
        flag(receipt.late_success),
        flag(receipt.contested),
        receipt.reason.as_ref().map(Text::as_str).and_then(owned),
        receipt
            .result
            .as_ref()
            .map(ResultJson::as_str)
            .and_then(owned),
    ]
}
