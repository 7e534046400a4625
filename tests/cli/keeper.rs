//! The ledger's file behind the binary's back: to make receipts as they stand after a time that no test waits for.

use receipt_ledger::receipt::{FingerprintDigest, KeyDigest};
use receipt_ledger::store::Store;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
use rusqlite::{Connection, ToSql};

use super::support::Scratch;

/// The scratch folder's ledger.
pub(crate) fn open(scratch: &Scratch) -> Box<dyn Store> {
    Box::new(SqliteStore::open(OpenOptions::new(scratch.path("receipts.db"))).unwrap())
}

/// Changes the ledger's file while nobody has it open.
pub(crate) fn rewrite(scratch: &Scratch, sql: &str, parameters: &[&dyn ToSql]) {
    let connection = Connection::open(scratch.path("receipts.db")).unwrap();
    connection.execute(sql, parameters).unwrap();
    connection.close().unwrap();
}

/// Writes what a prune leaves.
pub(crate) fn put_pruned(
    scratch: &Scratch,
    key: KeyDigest,
    fingerprint: FingerprintDigest,
    outcome: i64,
) {
    let sql = "INSERT INTO receipt_ledger_pruned (key_digest, fingerprint_digest, outcome, attempt) VALUES (?1, ?2, ?3, 1)";
    rewrite(scratch, sql, &[&key.0, &fingerprint.0, &outcome]);
}
