//! `apply` on a server: with the receipt or not at all (contract 7.3).

use std::fs;

use super::support::Scratch;

fn apply(ledger: &Scratch, key: &str, sql: &str) -> super::support::Said {
    fs::write(ledger.path("effect.sql"), sql).unwrap();
    let file = ledger.path("effect.sql");
    ledger.run_args(&[
        "apply",
        "--key",
        key,
        "--fingerprint",
        "f",
        "--sql",
        file.to_str().unwrap(),
    ])
}

#[test]
fn sql_is_performed_with_its_receipt_once() {
    let ledger = Scratch::with_ledger();
    ledger.sql("CREATE TABLE paid (n int PRIMARY KEY)");
    let said = apply(
        &ledger,
        "k",
        "INSERT INTO paid VALUES (1); SELECT * FROM paid; -- done",
    );
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str(), said.code),
        ("decision=EXECUTE state=succeeded attempt=1\n", "", 0)
    );
    let said = apply(&ledger, "k", "INSERT INTO paid VALUES (2)");
    assert_eq!(
        said.stdout,
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n"
    );
    assert_eq!(ledger.sql("SELECT n FROM paid"), "1");
    let history = ledger.run("show --key k --history").stdout;
    assert_eq!(history.matches("event=").count(), 2, "{history}");
}

#[test]
fn sql_that_fails_leaves_nothing_behind() {
    let ledger = Scratch::with_ledger();
    ledger.sql("CREATE TABLE paid (n int PRIMARY KEY, other int REFERENCES paid DEFERRABLE INITIALLY DEFERRED)");
    for sql in [
        "INSERT INTO paid VALUES (1); INSERT INTO paid VALUES (1)",
        "INSERT INTO paid VALUES (1); SELEC",
        "INSERT INTO paid VALUES (1, 99)",
        "INSERT INTO paid VALUES (1); COMMIT",
        "INSERT INTO paid VALUES (1); ROLLBACK",
        "COMMIT; INSERT INTO paid VALUES (1)",
        "BEGIN; INSERT INTO paid VALUES (1)",
        "INSERT INTO paid VALUES (1); SAVEPOINT s",
        "INSERT INTO paid VALUES (1); COMMIT AND CHAIN",
        "INSERT INTO paid VALUES (1); PREPARE TRANSACTION 'x'",
        "INSERT INTO paid VALUES (1); DO $$ BEGIN COMMIT; END $$",
        "INSERT INTO paid VALUES (1); COPY paid FROM STDIN",
        "",
        " -- nothing\n;",
    ] {
        let said = apply(&ledger, "k", sql);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{sql}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{sql}: {}",
            said.stderr
        );
        assert_eq!(ledger.sql("SELECT count(*) FROM paid"), "0", "{sql}");
        ledger.refuses("show --key k", "not-found");
    }
}

#[test]
fn sql_cannot_talk_the_commit_out_of_being_durable_nor_its_own_rows_of_the_ledger() {
    let ledger = Scratch::with_ledger();
    let said = apply(
        &ledger,
        "k",
        "SET LOCAL synchronous_commit = off; SET LOCAL client_min_messages = error",
    );
    assert_eq!(
        said.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
        "{said:?}"
    );
    for sql in [
        "UPDATE receipt_ledger.receipt SET token = gen_random_uuid()",
        "DELETE FROM receipt_ledger.receipt",
    ] {
        let said = apply(&ledger, "other", sql);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{sql}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{}",
            said.stderr
        );
    }
    ledger.says("verify", "verify=ok receipts=1\n");
}

#[test]
fn a_constraint_of_yours_that_has_the_name_of_one_of_ours_is_told_as_yours() {
    let ledger = Scratch::with_ledger();
    ledger.sql("CREATE TABLE receipt (key_digest text UNIQUE); INSERT INTO receipt VALUES ('x')");
    let said = apply(&ledger, "k", "INSERT INTO receipt VALUES ('x')");
    assert!(
        said.stderr.starts_with("error[invalid-input]: "),
        "{said:?}"
    );
    ledger.refuses("show --key k", "not-found");
}
