//! The `sqlite3` shell, fed transactions of 500 decisions: the same tables, the same rows, an answer each.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use super::feed::key;

const TRANSACTION: usize = 500;

pub(crate) fn is_there() -> bool {
    let mut command = Command::new("sqlite3");
    let command = command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(crate) fn shell(db: &Path) -> Command {
    let mut command = Command::new("sqlite3");
    command.arg("-batch").arg(db);
    command
}

/// What decides: inserts both rows where there is none, and tells what stands then.
pub(crate) fn transactions(numbers: Range<u64>) -> Vec<u8> {
    let now = "unixepoch() * 1000";
    let numbers: Vec<u64> = numbers.collect();
    let mut sql = "PRAGMA synchronous = FULL;\n".to_owned();
    for transaction in numbers.chunks(TRANSACTION) {
        sql += "BEGIN IMMEDIATE;\n";
        for number in transaction {
            let key = key(*number);
            // Writing into a String does not fail.
            let _ = writeln!(
                sql,
                "INSERT INTO receipt_ledger_receipt (key, fingerprint, state, attempt, created_at_ms, updated_at_ms, \
                 first_reserved_at_ms, attempt_started_at_ms, late_success, contested) \
                 VALUES ('{key}', 'send-v1', 'reserved', 1, {now}, {now}, {now}, {now}, 0, 0) ON CONFLICT (key) DO NOTHING;\n\
                 INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt) \
                 SELECT last_insert_rowid(), 1, {now}, 'reserved', 1 WHERE changes() > 0;\n\
                 SELECT changes(), fingerprint, state, attempt FROM receipt_ledger_receipt WHERE key = '{key}';"
            );
        }
        sql += "COMMIT;\n";
    }
    sql.into_bytes()
}
