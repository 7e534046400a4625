//! Ledgers of any size, filled by bulk SQL into the real schema.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use rusqlite::{Connection, params};

use super::peers::OURS;

/// Creates a ledger that holds so many settled receipts.
pub(crate) fn create(db: &Path, receipts: u64) -> Result<(), Box<dyn Error>> {
    let made = Command::new(OURS)
        .arg("--db")
        .arg(db)
        .arg("init")
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into());
    }
    let mut connection = Connection::open(db)?;
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000;")?;
    let transaction = connection.transaction()?;
    {
        let mut receipt = transaction.prepare(
            "INSERT INTO receipt_ledger_receipt \
             (id, key, fingerprint, state, attempt, created_at_ms, updated_at_ms, first_reserved_at_ms, \
              attempt_started_at_ms, settled_at_ms, settled_by, late_success, contested, result) \
             VALUES (?1, ?2, 'send-v1', 'succeeded', 1, ?3, ?3, ?3, ?3, ?3, 'caller', 0, 0, '{\"delivery_id\":\"d_42\"}')",
        )?;
        let mut history = transaction.prepare(
            "INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt) VALUES (?1, ?2, ?3, ?4, 1)",
        )?;
        for number in 0..receipts {
            let id = i64::try_from(number)? + 1;
            let at_ms = 1_700_000_000_000 + id;
            receipt.execute(params![id, key("kept", number), at_ms])?;
            history.execute(params![id, 1, at_ms, "reserved"])?;
            history.execute(params![id, 2, at_ms, "succeeded"])?;
        }
    }
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// A key that lies anywhere in the index, as keys made from orders do; no two are the same.
pub(crate) fn key(what: &str, number: u64) -> String {
    let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("charge:v1:{scattered:016x}:{what}")
}
