//! The ledger's tables behind the binary's back: to make receipts as they stand after a time that no test waits for.

use std::fmt::Display;

use receipt_ledger::receipt::{FingerprintDigest, KeyDigest};
use receipt_ledger::store::Store;
use receipt_ledger::store::postgres::{OpenOptions, PostgresStore};

use super::support::Scratch;

/// The scratch database's ledger.
pub(crate) fn open(scratch: &Scratch) -> Box<dyn Store> {
    Box::new(PostgresStore::open(OpenOptions::new(&scratch.url).unwrap()).unwrap())
}

/// Changes the ledger's tables, in SQL as it is written for a file.
pub(crate) fn rewrite(scratch: &Scratch, sql: &str, parameters: &[&dyn Display]) {
    let mut sql = sql.replace("receipt_ledger_", "receipt_ledger.");
    for (index, parameter) in parameters.iter().enumerate() {
        let value = parameter.to_string().replace('\'', "''");
        sql = sql.replace(&format!("?{}", index + 1), &format!("'{value}'"));
    }
    scratch.sql(&sql);
}

/// Writes what a prune leaves.
pub(crate) fn put_pruned(
    scratch: &Scratch,
    key: KeyDigest,
    fingerprint: FingerprintDigest,
    outcome: i64,
) {
    scratch.sql(&format!(
        "INSERT INTO receipt_ledger.receipt (key_digest, token, attempt, fingerprint_digest, outcome) \
         VALUES ('\\x{key}', gen_random_uuid(), 1, '\\x{fingerprint}', {outcome})"
    ));
}
