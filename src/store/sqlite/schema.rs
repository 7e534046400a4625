//! The tables. They defend themselves: an impossible row cannot be written, history cannot be rewritten.

/// Marks a file as a ledger of its own, in SQLite's header: `RcLg`.
pub(super) const APPLICATION_ID: i32 = 0x5263_4C67;

/// What brings a schema from each version to the next; the list only grows.
pub(super) const MIGRATIONS: &[&str] = &[VERSION_1];

/// The schema version this program writes.
pub(super) fn version() -> u32 {
    u32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Lists of more than two words are written as OR: for IN, SQLite builds a table in memory at each check.
const VERSION_1: &str = "\
CREATE TABLE receipt_ledger_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE receipt_ledger_receipt (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
        CHECK (length(key) BETWEEN 1 AND 255 AND key NOT GLOB '*[^!-~]*'),
    fingerprint TEXT NOT NULL
        CHECK (length(fingerprint) BETWEEN 1 AND 255 AND fingerprint NOT GLOB '*[^!-~]*'),
    state TEXT NOT NULL
        CHECK (state = 'recorded' OR state = 'reserved' OR state = 'succeeded' OR state = 'failed' OR state = 'unknown'),
    attempt INTEGER NOT NULL
        CHECK (attempt BETWEEN 0 AND 4294967295 AND (attempt = 0) = (state = 'recorded')),
    owner TEXT CHECK (length(owner) BETWEEN 1 AND 255),
    run TEXT CHECK (length(run) BETWEEN 1 AND 255),
    amount TEXT CHECK (length(amount) BETWEEN 1 AND 40),
    currency TEXT CHECK ((currency IS NULL) = (amount IS NULL)),
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    first_reserved_at_ms INTEGER CHECK (first_reserved_at_ms IS NULL OR attempt > 0),
    attempt_started_at_ms INTEGER CHECK (attempt_started_at_ms IS NOT NULL OR state <> 'reserved'),
    lease_expires_at_ms INTEGER CHECK (lease_expires_at_ms IS NULL OR state = 'reserved'),
    settled_at_ms INTEGER CHECK ((settled_at_ms IS NULL) = (state NOT IN ('succeeded', 'failed'))),
    settled_by TEXT CHECK (settled_by IN ('caller', 'reconciled')),
    late_success INTEGER NOT NULL CHECK (late_success IN (0, 1)),
    contested INTEGER NOT NULL CHECK (contested = 0 OR (contested = 1 AND late_success = 1 AND state = 'failed')),
    reason TEXT CHECK (length(CAST(reason AS BLOB)) BETWEEN 1 AND 4096),
    result TEXT CHECK (result IS NULL OR (state = 'succeeded' AND length(CAST(result AS BLOB)) BETWEEN 1 AND 8388608)),
    CHECK ((settled_by IS NULL) = (settled_at_ms IS NULL))
) STRICT;

CREATE INDEX receipt_ledger_receipt_not_succeeded ON receipt_ledger_receipt (state)
    WHERE state = 'recorded' OR state = 'reserved' OR state = 'unknown' OR state = 'failed';

CREATE INDEX receipt_ledger_receipt_run ON receipt_ledger_receipt (run, state) WHERE run IS NOT NULL;

CREATE TABLE receipt_ledger_history (
    receipt INTEGER NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    at_ms INTEGER NOT NULL,
    event TEXT NOT NULL
        CHECK (event = 'reserved' OR event = 'succeeded' OR event = 'failed' OR event = 'unknown' OR event =
               'recorded' OR event = 'renewed' OR event = 'conflict' OR event = 'late_succeeded' OR event =
               'late_failed' OR event = 'late_unknown'),
    attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 4294967295),
    actor TEXT CHECK (length(actor) BETWEEN 1 AND 255),
    detail TEXT CHECK (length(CAST(detail AS BLOB)) BETWEEN 1 AND 4096),
    PRIMARY KEY (receipt, sequence)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER receipt_ledger_history_is_never_rewritten
BEFORE UPDATE ON receipt_ledger_history
BEGIN
    SELECT RAISE(ABORT, 'history is append-only');
END;

CREATE TRIGGER receipt_ledger_history_goes_only_with_its_receipt
BEFORE DELETE ON receipt_ledger_history
WHEN EXISTS (SELECT 1 FROM receipt_ledger_receipt WHERE id = OLD.receipt)
BEGIN
    SELECT RAISE(ABORT, 'history goes only with its receipt');
END;

CREATE TABLE receipt_ledger_payload (
    receipt INTEGER PRIMARY KEY,
    payload BLOB NOT NULL CHECK (length(payload) <= 16777216)
) STRICT;

CREATE TABLE receipt_ledger_pruned (
    key_digest BLOB NOT NULL PRIMARY KEY CHECK (length(key_digest) = 16),
    fingerprint_digest BLOB NOT NULL CHECK (length(fingerprint_digest) = 8),
    outcome INTEGER NOT NULL CHECK (outcome BETWEEN 1 AND 3),
    attempt INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 4294967295)
) STRICT, WITHOUT ROWID;
";

/// The statements that make a database a ledger of the newest version, as `init --print-sql` prints them.
pub fn creation_sql() -> String {
    let mut sql = MIGRATIONS.concat();
    sql.push_str("\nINSERT INTO receipt_ledger_meta (name, value) VALUES ('schema_version', '");
    sql.push_str(&version().to_string());
    sql.push_str("');\n");
    sql
}
