//! What the SQL of `apply` may not do, each refused by its name, with nothing kept (contract 7.3).

use super::apply::{apply, nothing_was_kept, shop, value};
use super::procs::plain;
use super::stage::stands;
use super::support::Scratch;

/// Expects that each is refused under this name, alone and behind a statement that did something.
fn refused(what: &str, all: &[&str]) {
    let shop = shop();
    for sql in all {
        for before in ["", "UPDATE account SET cents = 1; "] {
            refused_in(&shop, what, &format!("{before}{sql}"));
        }
    }
    is_whole(&shop);
}

fn refused_in(shop: &Scratch, what: &str, sql: &str) {
    let schema = schema(shop);
    let said = apply(shop, "k", sql);
    assert_ne!(said.code, 0, "{sql}: {said:?}");
    let why = nothing_was_kept(shop, "k", &said);
    assert!(why.contains(what), "{sql}: {why}");
    assert_eq!(self::schema(shop), schema, "{sql}");
}

fn schema(shop: &Scratch) -> String {
    value(
        shop,
        "SELECT group_concat(type || name || tbl_name || ifnull(sql, '')) FROM sqlite_schema",
    )
}

fn is_whole(shop: &Scratch) {
    assert_eq!(shop.run("verify").stdout, "verify=ok receipts=0\n");
}

#[test]
fn transaction_control() {
    refused(
        "transaction control is refused",
        &[
            "BEGIN",
            "BEGIN IMMEDIATE",
            "COMMIT",
            "END",
            "END TRANSACTION",
            "ROLLBACK",
            "ROLLBACK TO s",
            "SAVEPOINT s",
            "RELEASE s",
            "RELEASE receipt_ledger_step",
            "rollback transaction",
            "/* x */ cOmMiT",
            "COMMIT; BEGIN",
            "EXPLAIN COMMIT",
        ],
    );
}

#[test]
fn other_files_and_settings() {
    refused(
        "ATTACH is refused",
        &["ATTACH 'other.db' AS other", "ATTACH ':memory:' AS other"],
    );
    refused("DETACH is refused", &["DETACH main", "DETACH other"]);
    refused(
        "PRAGMA is refused",
        &[
            "PRAGMA synchronous = OFF",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA user_version",
            "PRAGMA main.user_version = 7",
            "PRAGMA writable_schema = ON",
            "PRAGMA foreign_keys = OFF",
            "PRAGMA defer_foreign_keys = ON",
            "PRAGMA table_info(account)",
            "PRAGMA wal_checkpoint",
            "pragma query_only(1)",
            "EXPLAIN PRAGMA user_version",
            "SELECT * FROM pragma_table_info('account')",
            "SELECT * FROM pragma_journal_mode",
            "SELECT * FROM pragma_user_version",
            "SELECT name FROM pragma_table_list",
            "CREATE TABLE copied AS SELECT * FROM pragma_table_info('receipt_ledger_receipt')",
            "INSERT INTO entry (account, cents) SELECT 'ann', 1 FROM pragma_synchronous",
        ],
    );
}

#[test]
fn vacuum() {
    refused(
        "VACUUM",
        &["VACUUM", "VACUUM main", "VACUUM INTO 'stolen.db'"],
    );
    let shop = shop();
    refused_in(&shop, "VACUUM", "VACUUM INTO 'stolen.db'");
    assert!(!shop.path("stolen.db").exists());
}

/// Statements about a table `@`.
const USES: &[&str] = &[
    "SELECT * FROM @",
    "SELECT count(*) FROM @",
    "SELECT 1 FROM main.@",
    "SELECT 1 FROM \"@\"",
    "SELECT 1 FROM [@]",
    "SELECT * FROM account WHERE EXISTS (SELECT 1 FROM @)",
    "SELECT * FROM account LEFT JOIN @ ON 0",
    "DELETE FROM @",
    "DELETE FROM @ WHERE 0",
    "DROP TABLE @",
    "DROP TABLE IF EXISTS @",
    "ALTER TABLE @ RENAME TO mine",
    "ALTER TABLE @ ADD COLUMN x",
    "CREATE INDEX mine ON @ (1)",
    "CREATE TRIGGER mine AFTER INSERT ON @ BEGIN SELECT 1; END",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON main.@ BEGIN SELECT 1; END",
    "WITH mine AS (SELECT 1 FROM @) SELECT * FROM mine",
    "WITH mine AS MATERIALIZED (SELECT count(*) FROM @) SELECT * FROM mine",
    "UPDATE account SET cents = (SELECT count(*) FROM @)",
    "UPDATE account SET cents = 1 FROM @",
    "INSERT INTO entry (account, cents) SELECT 'ann', count(*) FROM @",
    "CREATE TABLE mine AS SELECT * FROM @",
    "EXPLAIN SELECT * FROM @",
    "CREATE VIEW mine AS SELECT * FROM @",
    "CREATE TEMP VIEW mine AS SELECT * FROM @",
    "CREATE VIEW mine AS SELECT 1 FROM @; SELECT * FROM mine",
    "CREATE TEMP VIEW mine AS SELECT 1 FROM @; SELECT * FROM mine",
    "CREATE TRIGGER mine AFTER INSERT ON entry BEGIN DELETE FROM @; END",
    "CREATE TRIGGER mine AFTER INSERT ON entry BEGIN DELETE FROM @; END; INSERT INTO entry (account, cents) VALUES ('ann', 1)",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON entry BEGIN DELETE FROM @; END; INSERT INTO entry (account, cents) VALUES ('ann', 1)",
    "ANALYZE @",
];

#[test]
fn the_ledgers_own_tables_in_any_statement() {
    let shop = shop();
    for table in ["receipt", "history", "payload", "pruned", "meta"] {
        let table = format!("receipt_ledger_{table}");
        for sql in USES {
            refused_in(&shop, "the ledger's own ", &sql.replace('@', &table));
        }
    }
    is_whole(&shop);
}

#[test]
fn the_ledgers_own_tables_in_statements_that_would_change_them() {
    refused(
        "the ledger's own ",
        &[
            "INSERT INTO receipt_ledger_meta VALUES ('standing', 'retired')",
            "INSERT OR IGNORE INTO receipt_ledger_meta VALUES ('schema_version', '1')",
            "REPLACE INTO Receipt_Ledger_Meta VALUES ('schema_version', '0')",
            "UPDATE receipt_ledger_receipt SET state = 'failed'",
            "UPDATE RECEIPT_LEDGER_RECEIPT SET key = key",
            "DROP TRIGGER receipt_ledger_history_is_never_rewritten",
            "DROP INDEX receipt_ledger_receipt_run",
            "REINDEX receipt_ledger_receipt",
            "REINDEX receipt_ledger_receipt_run",
            "REINDEX sqlite_autoindex_receipt_ledger_receipt_1",
            "REINDEX",
            "ANALYZE",
            "ANALYZE main",
            "CREATE TABLE mine (receipt REFERENCES receipt_ledger_receipt (key)); INSERT INTO mine VALUES ('x')",
        ],
    );
}

#[test]
fn new_names_that_look_like_the_ledgers() {
    refused(
        "the ledger's own receipt_ledger_",
        &[
            "CREATE TABLE receipt_ledger_x (y)",
            "CREATE TEMP TABLE receipt_ledger_receipt (y)",
            "CREATE TABLE IF NOT EXISTS receipt_ledger_x (y)",
            "CREATE VIEW receipt_ledger_x AS SELECT 1",
            "CREATE TEMP VIEW receipt_ledger_receipt AS SELECT 1",
            "CREATE INDEX receipt_ledger_x ON account (cents)",
            "CREATE TRIGGER receipt_ledger_x AFTER INSERT ON entry BEGIN SELECT 1; END",
            "CREATE TEMP TRIGGER receipt_ledger_x AFTER INSERT ON entry BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE receipt_ledger_x USING json_each",
            "ALTER TABLE entry RENAME TO receipt_ledger_x",
            "CREATE TABLE mine (x); ALTER TABLE mine RENAME TO receipt_ledger_x",
        ],
    );
}

/// A table of this connection alone that takes a name of the ledger's would be taken for it: the receipt would be
/// written there, and be gone with the connection.
#[test]
fn a_temporary_table_cannot_take_the_place_of_the_receipts() {
    let shop = shop();
    let columns =
        "SELECT group_concat(name || ' ' || type) FROM pragma_table_info('receipt_ledger_receipt')";
    let columns = value(&shop, columns).replace("id INTEGER", "id INTEGER PRIMARY KEY");
    let sql = format!(
        "CREATE TEMP TABLE mine ({columns}); ALTER TABLE mine RENAME TO receipt_ledger_receipt; UPDATE account SET cents = 7"
    );
    refused_in(&shop, "the ledger's own receipt_ledger_receipt", &sql);
    refused_in(&shop, "the ledger's own receipt_ledger_receipt", &sql);
}

#[test]
fn what_was_put_there_past_the_ledger_is_not_used_either() {
    for (there, used) in [
        (
            "CREATE VIEW mine AS SELECT * FROM receipt_ledger_receipt",
            "SELECT * FROM mine",
        ),
        (
            "CREATE VIEW mine AS SELECT count(*) AS n FROM receipt_ledger_receipt",
            "UPDATE account SET cents = (SELECT n FROM mine)",
        ),
        (
            "CREATE TRIGGER mine AFTER UPDATE ON account BEGIN DELETE FROM receipt_ledger_history; END",
            "UPDATE account SET cents = 2",
        ),
        (
            "CREATE TRIGGER mine AFTER UPDATE ON account BEGIN INSERT INTO receipt_ledger_meta VALUES ('standing', 'copy'); END",
            "UPDATE account SET cents = 2",
        ),
        (
            "CREATE VIEW mine AS SELECT 1 AS x; CREATE TRIGGER t INSTEAD OF INSERT ON mine BEGIN UPDATE receipt_ledger_receipt SET attempt = 9; END",
            "INSERT INTO mine VALUES (1)",
        ),
    ] {
        let shop = shop();
        plain(&shop.path("receipts.db"))
            .execute_batch(there)
            .unwrap();
        refused_in(&shop, "the ledger's own receipt_ledger_", used);
        // It does not stand in the way of what leaves it alone.
        let said = apply(
            &shop,
            "k",
            "INSERT INTO entry (account, cents) VALUES ('ann', 1)",
        );
        assert_eq!(
            said.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
            "{there}: {said:?}"
        );
    }
}

#[test]
fn a_skip_runs_nothing_and_so_refuses_nothing() {
    let shop = shop();
    assert_eq!(apply(&shop, "k", "UPDATE account SET cents = 3").code, 0);
    for sql in ["COMMIT", "DROP TABLE receipt_ledger_receipt", "nonsense"] {
        let said = apply(&shop, "k", sql);
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("decision=SKIP_SUCCEEDED state=succeeded attempt=1\n", 0)
        );
    }
    assert_eq!(stands(&shop, "k"), "succeeded 1");
}
