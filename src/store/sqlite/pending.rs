//! Intents that wait, and the payloads kept for them.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::Trouble;
use crate::receipt::{Fingerprint, Key};
use crate::store::{Cursor, Pending, PendingIntent, PendingKind};

const RECORDED: &str = "\
SELECT id, key, fingerprint FROM receipt_ledger_receipt
WHERE state = 'recorded' AND id > ?1 AND substr(key, 1, length(?2)) = ?2
ORDER BY id LIMIT 1";

const FAILED_WITH_PAYLOAD: &str = "\
SELECT receipt.id, receipt.key, receipt.fingerprint
FROM receipt_ledger_payload AS payload
CROSS JOIN receipt_ledger_receipt AS receipt ON receipt.id = payload.receipt
WHERE payload.receipt > ?1 AND receipt.state = 'failed' AND substr(receipt.key, 1, length(?2)) = ?2
ORDER BY payload.receipt LIMIT 1";

const PAYLOAD: &str = "\
SELECT payload FROM receipt_ledger_payload
WHERE receipt = (SELECT id FROM receipt_ledger_receipt WHERE key = ?1)";

/// The oldest intent that waits, behind a place.
pub(super) fn next(
    connection: &Connection,
    pending: &Pending,
) -> Result<Option<PendingIntent>, Trouble> {
    let sql = match pending.which {
        PendingKind::Recorded => RECORDED,
        PendingKind::FailedWithPayload => FAILED_WITH_PAYLOAD,
    };
    let mut statement = connection.prepare_cached(sql)?;
    let after = pending.after.map_or(0, |cursor| cursor.0);
    let prefix = pending.prefix.as_deref().unwrap_or_default();
    let mut rows = statement.query(params![after, prefix])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let key: String = row.get("key")?;
    let fingerprint: String = row.get("fingerprint")?;
    Ok(Some(PendingIntent {
        cursor: Cursor(row.get("id")?),
        key: Key::parse(key).map_err(|_| Trouble::Impossible("key"))?,
        fingerprint: Fingerprint::parse(fingerprint)
            .map_err(|_| Trouble::Impossible("fingerprint"))?,
    }))
}

/// The payload kept for a key.
pub(super) fn payload(connection: &Connection, key: &Key) -> Result<Option<Vec<u8>>, Trouble> {
    let mut statement = connection.prepare_cached(PAYLOAD)?;
    Ok(statement
        .query_row([key.as_str()], |row| row.get(0))
        .optional()?)
}

/// The payload kept for a receipt.
pub(super) fn payload_of(connection: &Connection, id: i64) -> Result<Option<Vec<u8>>, Trouble> {
    let sql = "SELECT payload FROM receipt_ledger_payload WHERE receipt = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?)
}

/// Keeps a payload with a new receipt.
pub(super) fn keep_payload(
    connection: &Connection,
    id: i64,
    payload: &[u8],
) -> Result<(), Trouble> {
    let sql = "INSERT INTO receipt_ledger_payload (receipt, payload) VALUES (?1, ?2)";
    leaving_nothing(connection, || {
        connection
            .prepare_cached(sql)?
            .execute(params![id, payload])
    })
}

/// Has SQLite overwrite what a change of the payloads gives free or moves elsewhere.
fn leaving_nothing(
    connection: &Connection,
    change: impl FnOnce() -> rusqlite::Result<usize>,
) -> Result<(), Trouble> {
    connection.pragma_update(None, "secure_delete", true)?;
    let changed = change();
    connection.pragma_update(None, "secure_delete", false)?;
    changed?;
    Ok(())
}

/// Erases a payload: its bytes are overwritten, not only given free. Most receipts have none, and pay one look-up. With
/// the last one goes the whole table's content: SQLite overwrites what it frees, but where it moves rows from page to
/// page it can leave a copy of some behind, and this takes those away, too.
pub(super) fn erase_payload(connection: &Connection, id: i64) -> Result<(), Trouble> {
    let sql = "SELECT EXISTS (SELECT 1 FROM receipt_ledger_payload WHERE receipt = ?1), \
               EXISTS (SELECT 1 FROM receipt_ledger_payload WHERE receipt <> ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    let (has_one, has_others): (bool, bool) =
        statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if !has_one {
        return Ok(());
    }
    leaving_nothing(connection, || {
        if has_others {
            let sql = "DELETE FROM receipt_ledger_payload WHERE receipt = ?1";
            connection.prepare_cached(sql)?.execute([id])
        } else {
            connection.execute("DELETE FROM receipt_ledger_payload", [])
        }
    })
}
