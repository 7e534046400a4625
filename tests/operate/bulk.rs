//! Many receipts at once, written into the real tables.

use rusqlite::params;

use super::procs::plain;
use super::support::Scratch;

/// The key of the receipt with this number.
pub(crate) fn key(number: u32) -> String {
    format!("bulk:{number:07}")
}

/// Fills the ledger with so many receipts that succeeded in 2023, with this result.
pub(crate) fn succeeded(scratch: &Scratch, receipts: u32, result: &str) {
    let mut connection = plain(&scratch.path("receipts.db"));
    connection
        .execute_batch("PRAGMA synchronous = OFF")
        .unwrap();
    let transaction = connection.transaction().unwrap();
    {
        let mut receipt = transaction
            .prepare(
                "INSERT INTO receipt_ledger_receipt
                 (key, fingerprint, state, attempt, created_at_ms, updated_at_ms, first_reserved_at_ms,
                  attempt_started_at_ms, settled_at_ms, settled_by, late_success, contested, result)
                 VALUES (?1, 'f', 'succeeded', 1, ?2, ?2, ?2, ?2, ?2, 'caller', 0, 0, ?3)",
            )
            .unwrap();
        let mut history = transaction
            .prepare(
                "INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt)
                 VALUES (?1, ?2, ?3, ?4, 1)",
            )
            .unwrap();
        for number in 0..receipts {
            let at_ms = 1_700_000_000_000 + i64::from(number);
            receipt
                .execute(params![key(number), at_ms, result])
                .unwrap();
            let id = transaction.last_insert_rowid();
            history.execute(params![id, 1, at_ms, "reserved"]).unwrap();
            history.execute(params![id, 2, at_ms, "succeeded"]).unwrap();
        }
    }
    transaction.commit().unwrap();
    connection.close().unwrap();
}
