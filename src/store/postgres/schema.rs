//! The tables, in a schema of their own. They defend themselves: an impossible row cannot be written, history cannot be
//! rewritten.
//!
//! There is one row for a key, found by the key's digest, for as long as the ledger answers for it: a prune empties the
//! row and leaves it where it is. Whoever holds that row's lock holds the key. That the digest is the key's is checked
//! where a row is read (`row.rs`): a SHA-256 for each insert costs the server as much as half of all other checks.

/// What brings a schema from each version to the next; the list only grows.
pub(super) const MIGRATIONS: &[&str] = &[VERSION_1];

/// The schema version this program writes.
pub(super) fn version() -> u32 {
    u32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Creates the schema where there is none. Apart from the tables: an administrator may have made it for us.
pub(super) const CREATE_SCHEMA: &str = "CREATE SCHEMA receipt_ledger;\n";

const VERSION_1: &str = r#"
CREATE TABLE receipt_ledger.meta (
    name text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE receipt_ledger.receipt (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_digest bytea NOT NULL CONSTRAINT receipt_key_digest_key UNIQUE CHECK (octet_length(key_digest) = 16),
    -- What the last call that changed this row wrote, known to it alone.
    token uuid NOT NULL,
    attempt bigint NOT NULL CHECK (attempt BETWEEN 0 AND 4294967295),

    -- A whole receipt.
    key text COLLATE "C" CHECK (octet_length(key) BETWEEN 1 AND 255),
    fingerprint text COLLATE "C" CHECK (octet_length(fingerprint) BETWEEN 1 AND 255),
    state text CHECK (state IN ('recorded', 'reserved', 'succeeded', 'failed', 'unknown')),
    owner text CHECK (length(owner) BETWEEN 1 AND 255),
    run text COLLATE "C" CHECK (length(run) BETWEEN 1 AND 255),
    amount text CHECK (length(amount) BETWEEN 1 AND 40),
    currency text CHECK ((currency IS NULL) = (amount IS NULL)),
    created_at_ms bigint,
    updated_at_ms bigint,
    first_reserved_at_ms bigint CHECK (first_reserved_at_ms IS NULL OR attempt > 0),
    attempt_started_at_ms bigint CHECK (attempt_started_at_ms IS NOT NULL OR state <> 'reserved'),
    lease_expires_at_ms bigint CHECK (lease_expires_at_ms IS NULL OR state = 'reserved'),
    settled_at_ms bigint CHECK ((settled_at_ms IS NULL) = (state IS NULL OR state NOT IN ('succeeded', 'failed'))),
    settled_by text CHECK (settled_by IN ('caller', 'reconciled')),
    late_success boolean,
    contested boolean CHECK (NOT contested OR late_success AND state = 'failed'),
    reason text CHECK (octet_length(reason) BETWEEN 1 AND 4096),
    result text CHECK (result IS NULL OR (state = 'succeeded' AND octet_length(result) BETWEEN 1 AND 8388608)),

    -- What is left of a pruned one: 1 succeeded, 2 failed, 3 failed with a late success against it.
    fingerprint_digest bytea CHECK (octet_length(fingerprint_digest) = 8),
    outcome smallint CHECK (outcome IN (1, 2, 3)),

    CHECK ((settled_by IS NULL) = (settled_at_ms IS NULL)),
    CHECK ((attempt = 0) = (state IS NOT NULL AND state = 'recorded')),
    CONSTRAINT whole_or_pruned CHECK (
        key IS NOT NULL AND fingerprint IS NOT NULL AND state IS NOT NULL AND created_at_ms IS NOT NULL
            AND updated_at_ms IS NOT NULL AND late_success IS NOT NULL
            AND contested IS NOT NULL AND fingerprint_digest IS NULL AND outcome IS NULL
        OR fingerprint_digest IS NOT NULL AND outcome IS NOT NULL
            AND num_nonnulls(key, fingerprint, state, owner, run, amount, currency, created_at_ms, updated_at_ms,
                first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, settled_by,
                late_success, contested, reason, result) = 0),
    CONSTRAINT visible_ascii CHECK (key || fingerprint !~ '[^!-~]')
);

CREATE INDEX receipt_not_succeeded ON receipt_ledger.receipt (state, id)
    WHERE state IN ('recorded', 'reserved', 'unknown', 'failed');

CREATE INDEX receipt_run ON receipt_ledger.receipt (run, state) WHERE run IS NOT NULL;

CREATE TABLE receipt_ledger.history (
    receipt bigint NOT NULL,
    sequence bigint NOT NULL CHECK (sequence > 0),
    at_ms bigint NOT NULL,
    event text NOT NULL
        CHECK (event IN ('recorded', 'reserved', 'renewed', 'succeeded', 'failed', 'unknown',
                         'late_succeeded', 'late_failed', 'late_unknown', 'conflict')),
    attempt bigint NOT NULL CHECK (attempt BETWEEN 0 AND 4294967295),
    actor text CHECK (length(actor) BETWEEN 1 AND 255),
    detail text CHECK (octet_length(detail) BETWEEN 1 AND 4096),
    PRIMARY KEY (receipt, sequence)
);

CREATE TABLE receipt_ledger.payload (
    receipt bigint PRIMARY KEY,
    payload bytea NOT NULL CHECK (octet_length(payload) <= 16777216)
);

CREATE FUNCTION receipt_ledger.history_is_never_rewritten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'history is append-only';
END
$$;

CREATE TRIGGER history_is_never_rewritten BEFORE UPDATE ON receipt_ledger.history
    FOR EACH ROW EXECUTE FUNCTION receipt_ledger.history_is_never_rewritten();

CREATE TRIGGER history_is_never_truncated BEFORE TRUNCATE ON receipt_ledger.history
    FOR EACH STATEMENT EXECUTE FUNCTION receipt_ledger.history_is_never_rewritten();

CREATE FUNCTION receipt_ledger.history_goes_only_with_its_receipt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM receipt_ledger.receipt WHERE id = OLD.receipt AND key IS NOT NULL) THEN
        RAISE EXCEPTION 'history goes only with its receipt';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER history_goes_only_with_its_receipt BEFORE DELETE ON receipt_ledger.history
    FOR EACH ROW EXECUTE FUNCTION receipt_ledger.history_goes_only_with_its_receipt();

-- Where the SQL of `apply` runs: inside a function no transaction can be begun or ended.
CREATE FUNCTION receipt_ledger.perform(statements text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statements;
END
$$;
REVOKE ALL ON FUNCTION receipt_ledger.perform(text) FROM PUBLIC;
"#;

/// The statements that put the tables into a schema that is there.
pub(super) fn tables_sql() -> String {
    let mut sql = MIGRATIONS.concat();
    sql.push_str("\nINSERT INTO receipt_ledger.meta (name, value) VALUES ('schema_version', '");
    sql.push_str(&version().to_string());
    sql.push_str("');\n");
    sql
}

/// The statements that make a database hold a ledger of the newest version, as `init --print-sql` prints them.
pub fn creation_sql() -> String {
    format!("BEGIN;\n\n{CREATE_SCHEMA}{}\nCOMMIT;\n", tables_sql())
}
