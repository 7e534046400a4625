//! Intents that wait, and the payloads kept for them.

use super::error::Trouble;
use super::patience::Patience;
use super::row::{self, any_bytes, number, required};
use super::session::Session;
use super::value::Value;
use super::wire::Statement;
use crate::receipt::{Fingerprint, Key, KeyDigest};
use crate::store::{Cursor, Pending, PendingIntent, PendingKind};

const RECORDED: &str = "\
SELECT id, key_digest, key, fingerprint FROM receipt_ledger.receipt \
WHERE state = 'recorded' AND id > $1::bigint AND starts_with(key, $2) ORDER BY id LIMIT 1";

const FAILED_WITH_PAYLOAD: &str = "\
SELECT id, key_digest, key, fingerprint FROM receipt_ledger.receipt \
WHERE state = 'failed' AND id > $1::bigint AND starts_with(key, $2) \
      AND EXISTS (SELECT FROM receipt_ledger.payload WHERE payload.receipt = receipt.id) \
ORDER BY id LIMIT 1";

const PAYLOAD: &str = "\
SELECT payload FROM receipt_ledger.payload \
WHERE receipt = (SELECT id FROM receipt_ledger.receipt WHERE key_digest = $1::bytea)";

/// The oldest intent that waits, behind a place.
pub(super) fn next(
    session: &mut Session,
    patience: Patience,
    pending: &Pending,
) -> Result<Option<PendingIntent>, Trouble> {
    let sql = match pending.which {
        PendingKind::Recorded => RECORDED,
        PendingKind::FailedWithPayload => FAILED_WITH_PAYLOAD,
    };
    let after = pending.after.map_or(0, |cursor| cursor.0);
    let asked = Statement::new(sql)
        .with(after.to_string())
        .with(pending.prefix.as_deref().unwrap_or_default());
    let answers = session.look(&[asked], patience)?;
    let Some(row) = answers[0].rows.first() else {
        return Ok(None);
    };
    Ok(Some(PendingIntent {
        cursor: Cursor(required(row, "id", number)?),
        key: row::key(row)?.ok_or(Trouble::Impossible("key"))?,
        fingerprint: required(row, "fingerprint", |text| Fingerprint::parse(text).ok())?,
    }))
}

/// The payload kept for a key.
pub(super) fn payload(
    session: &mut Session,
    patience: Patience,
    key: &Key,
) -> Result<Option<Vec<u8>>, Trouble> {
    let asked = Statement::new(PAYLOAD).with(Value::bytes(&KeyDigest::of(key).0));
    let answers = session.look(&[asked], patience)?;
    match answers[0].rows.first() {
        Some(row) => required(row, "payload", any_bytes).map(Some),
        None => Ok(None),
    }
}
