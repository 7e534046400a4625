//! `apply` (contract 7.3): the effect and its receipt in one transaction, or neither.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::types::Value;

use super::procs::{alone, count, plain, together};
use super::stage::{finish, stands};
use super::support::{Said, Scratch};

/// A shop's own database with a ledger in it.
pub(crate) fn shop() -> Scratch {
    let shop = Scratch::new();
    plain(&shop.path("receipts.db"))
        .execute_batch(
            "CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0));
             CREATE TABLE entry (id INTEGER PRIMARY KEY, account TEXT NOT NULL, cents INTEGER NOT NULL,
                                 FOREIGN KEY (account) REFERENCES account (name) DEFERRABLE INITIALLY DEFERRED);
             INSERT INTO account VALUES ('ann', 1000), ('bob', 0);",
        )
        .unwrap();
    shop.says("init", "created=true\n");
    shop
}

/// `apply` of this SQL under this key.
pub(crate) fn apply(shop: &Scratch, key: &str, sql: &str) -> Said {
    fs::write(shop.path("effect.sql"), sql).unwrap();
    shop.run_args(&[
        "apply",
        "--key",
        key,
        "--fingerprint",
        "v1",
        "--sql",
        "effect.sql",
    ])
}

/// The one value of a query.
pub(crate) fn value(shop: &Scratch, sql: &str) -> String {
    let connection = plain(&shop.path("receipts.db"));
    match connection.query_row(sql, [], |row| row.get(0)).unwrap() {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Blob(bytes) => format!("{bytes:?}"),
    }
}

const BALANCES: &str = "SELECT group_concat(name || '=' || cents) || ' entries=' || (SELECT count(*) FROM entry) FROM account";
const MOVE: &str = "
    UPDATE account SET cents = cents - 100 WHERE name = 'ann';
    UPDATE account SET cents = cents + 100 WHERE name = 'bob';
    INSERT INTO entry (account, cents) VALUES ('ann', -100), ('bob', 100);";
const BEFORE: &str = "ann=1000,bob=0 entries=0";
const AFTER: &str = "ann=900,bob=100 entries=2";

/// Expects that nothing at all was kept, and returns what was told.
pub(crate) fn nothing_was_kept(shop: &Scratch, key: &str, said: &Said) -> String {
    assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{said:?}");
    assert!(
        said.stderr
            .starts_with("error[invalid-input]: the SQL was not applied to /"),
        "{said:?}"
    );
    assert_eq!(value(shop, BALANCES), BEFORE, "{said:?}");
    assert_eq!(stands(shop, key), "nothing", "{said:?}");
    said.stderr
        .lines()
        .next()
        .unwrap()
        .split_once("nothing was kept: ")
        .unwrap()
        .1
        .to_owned()
}

#[test]
fn the_sql_and_its_receipt_are_kept_together_and_a_repeat_performs_nothing() {
    let shop = shop();
    assert_eq!(
        apply(&shop, "k", MOVE).stdout,
        "decision=EXECUTE state=succeeded attempt=1\n"
    );
    assert_eq!(value(&shop, BALANCES), AFTER);
    for _ in 0..2 {
        let said = apply(&shop, "k", MOVE);
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("decision=SKIP_SUCCEEDED state=succeeded attempt=1\n", 0)
        );
    }
    assert_eq!(value(&shop, BALANCES), AFTER);
    shop.conflicts(
        "apply --key k --fingerprint v2 --sql effect.sql",
        "decision=CONFLICT state=succeeded attempt=1\n",
    );
    assert_eq!(value(&shop, BALANCES), AFTER);
    let shown = shop.run("show --key k --history").stdout;
    assert!(shown.contains("settled_by=caller"), "{shown}");
    for event in [
        "event=reserved attempt=1",
        "event=succeeded attempt=1",
        "event=conflict",
    ] {
        assert!(shown.contains(event), "{shown}");
    }
    assert!(
        shop.run("verify")
            .stdout
            .starts_with("verify=ok receipts=1")
    );
}

#[test]
fn json_facts_and_payload_flags_are_those_of_reserve() {
    let shop = shop();
    fs::write(shop.path("effect.sql"), MOVE).unwrap();
    fs::write(shop.path("p.json"), "{\"a\": 1.0}").unwrap();
    let call = "apply --key k --payload-json p.json --sql effect.sql --owner w --run r --amount 1.00 --currency EUR";
    shop.says(
        &format!("--format json {call}"),
        "{\"key\":\"k\",\"decision\":\"EXECUTE\",\"state\":\"succeeded\",\"attempt\":1,\"next\":\"perform\"}\n",
    );
    shop.says(
        &format!("--format json {call}"),
        "{\"key\":\"k\",\"decision\":\"SKIP_SUCCEEDED\",\"state\":\"succeeded\",\"attempt\":1,\"next\":\"done\"}\n",
    );
    let shown = shop.run("show --key k").stdout;
    assert!(
        shown.contains(" owner=w run=r amount=1.00 currency=EUR "),
        "{shown}"
    );
    shop.refuses("apply --key k --sql effect.sql", "usage");
    shop.refuses("apply --key k --fingerprint v1", "usage");
    shop.refuses("apply --key k --payload-file - --sql -", "usage");
    shop.refuses(
        "apply --key n --fingerprint v1 --sql nothing-there.sql",
        "io",
    );
    assert_eq!(stands(&shop, "n"), "nothing");
}

#[test]
fn the_sql_can_come_from_standard_input() {
    let shop = shop();
    fs::write(shop.path("effect.sql"), MOVE).unwrap();
    let mut command = shop.command(["apply", "--key=k", "--fingerprint=v1", "--sql=-"]);
    command.stdin(fs::File::open(shop.path("effect.sql")).unwrap());
    assert_eq!(
        finish(&shop, &mut command).stdout,
        "decision=EXECUTE state=succeeded attempt=1\n"
    );
    assert_eq!(value(&shop, BALANCES), AFTER);
}

#[test]
fn each_state_before_it_is_answered_as_reserve_answers() {
    for (verbs, flag, answer, code) in [
        (
            &["record K"][..],
            "",
            "decision=EXECUTE state=succeeded attempt=1\n",
            0,
        ),
        (
            &["reserve K"],
            "",
            "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
            0,
        ),
        (
            &["reserve K", "unknown"],
            "",
            "decision=SKIP_UNKNOWN state=unknown attempt=1\n",
            0,
        ),
        (
            &["reserve K", "fail"],
            "",
            "decision=SKIP_FAILED state=failed attempt=1\n",
            0,
        ),
        (
            &["reserve K", "fail"],
            " --allow-failed-retry",
            "decision=RETRY state=succeeded attempt=2\n",
            0,
        ),
        (
            &["reserve K", "succeed"],
            "",
            "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
            0,
        ),
        (
            &["reserve K", "fail", "prune"],
            " --allow-failed-retry",
            "decision=RETRY state=succeeded attempt=2\n",
            0,
        ),
    ] {
        let shop = shop();
        for verb in verbs {
            let call = match *verb {
                "prune" => "prune --older-than 0s".to_owned(),
                verb => verb.replace('K', "--fingerprint v1") + " --key k",
            };
            assert_eq!(shop.run(&call).code, 0, "{call}");
        }
        fs::write(shop.path("effect.sql"), MOVE).unwrap();
        let said = shop.run(&format!(
            "apply --key k --fingerprint v1 --sql effect.sql{flag}"
        ));
        assert_eq!(
            (said.stdout.as_str(), said.code),
            (answer, code),
            "{verbs:?}: {said:?}"
        );
        let performed = answer.contains("EXECUTE") || answer.contains("RETRY");
        assert_eq!(
            value(&shop, BALANCES),
            if performed { AFTER } else { BEFORE },
            "{verbs:?}"
        );
        assert!(shop.run("verify").stdout.starts_with("verify=ok "));
    }
}

#[test]
fn sql_that_fails_half_way_leaves_nothing_not_even_the_receipt() {
    for (last, reason) in [
        ("UPDATE account SET cents = cents - 5000;", "statement 4 failed: CHECK constraint failed"),
        ("INSERT INTO account VALUES ('ann', 1);", "statement 4 failed: UNIQUE constraint failed"),
        ("INSERT OR FAIL INTO account VALUES ('eve', 1), ('ann', 1);", "statement 4 failed: UNIQUE constraint failed"),
        ("INSERT OR ABORT INTO account VALUES ('eve', 1), ('ann', 1);", "statement 4 failed: UNIQUE constraint failed"),
        ("INSERT OR ROLLBACK INTO account VALUES ('eve', 1), ('ann', 1);", "statement 4 failed: UNIQUE constraint failed"),
        ("INSERT INTO missing VALUES (1);", "statement 4 failed: no such table"),
        ("SELECT abs(-9223372036854775808);", "statement 4 failed: integer overflow"),
        ("SELECT name FROM account WHERE load_extension('x');", "statement 4 failed: "),
        ("INSERT INTO entry", "statement 4 failed: incomplete input"),
        ("nonsense;", "statement 4 failed: syntax error (at byte"),
        ("SELECT 'not closed", "statement 4 failed: unrecognized token"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON entry BEGIN SELECT RAISE(ROLLBACK, 'away with it'); END;
             INSERT INTO entry (account, cents) VALUES ('ann', 1);",
            "statement 5 failed: away with it",
        ),
        (
            "CREATE TRIGGER t BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'no'); END;
             INSERT INTO entry (account, cents) VALUES ('ann', 1);",
            "statement 5 failed: no",
        ),
    ] {
        let shop = shop();
        let why = nothing_was_kept(&shop, "k", &apply(&shop, "k", &format!("{MOVE}\n{last}")));
        assert!(why.starts_with(reason), "{last}: {why}");
        assert_eq!(value(&shop, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name = 't'"), "0");
        // Nothing stands in the way of a better one.
        assert_eq!(apply(&shop, "k", MOVE).stdout, "decision=EXECUTE state=succeeded attempt=1\n");
    }
}

#[test]
fn a_failing_retry_leaves_the_receipt_as_it_was() {
    let shop = shop();
    shop.run("reserve --key k --fingerprint v1");
    shop.run("fail --key k --reason no");
    let before = shop.run("show --key k --history");
    fs::write(shop.path("effect.sql"), format!("{MOVE} nonsense;")).unwrap();
    let said = shop.run("apply --key k --fingerprint v1 --sql effect.sql --allow-failed-retry");
    assert_eq!(said.code, 2);
    assert_eq!(shop.run("show --key k --history"), before);
    assert_eq!(value(&shop, BALANCES), BEFORE);
}

#[test]
fn a_deferred_constraint_that_fails_at_commit_keeps_nothing() {
    let shop = shop();
    let sql = format!("{MOVE} INSERT INTO entry (account, cents) VALUES ('nobody', 1);");
    let why = nothing_was_kept(&shop, "k", &apply(&shop, "k", &sql));
    assert_eq!(why, "FOREIGN KEY constraint failed");
    // Mended before the commit it is no failure.
    let mended = format!("{sql} UPDATE entry SET account = 'ann' WHERE account = 'nobody';");
    assert_eq!(
        apply(&shop, "k", &mended).stdout,
        "decision=EXECUTE state=succeeded attempt=1\n"
    );
    assert_eq!(value(&shop, BALANCES), "ann=900,bob=100 entries=3");
}

#[test]
fn a_file_without_a_statement_is_refused() {
    for sql in [
        "",
        " ",
        "\n\t\r\n",
        ";",
        ";;\n;",
        "-- only a comment",
        "-- a\n-- b\n",
        "/* nothing */",
        "/* not closed",
        "\u{feff}",
    ] {
        let shop = shop();
        let why = nothing_was_kept(&shop, "k", &apply(&shop, "k", sql));
        assert_eq!(why, "there is no statement in it", "{sql:?}");
    }
}

#[test]
fn a_nul_or_what_is_not_utf_8_is_refused() {
    let shop = shop();
    for sql in [
        "\0",
        &format!("{MOVE}\0"),
        &format!("{MOVE}\0nonsense"),
        "SELECT '\0'; SELECT 1;",
    ] {
        let why = nothing_was_kept(&shop, "k", &apply(&shop, "k", sql));
        assert_eq!(why, "it holds a NUL byte");
    }
    fs::write(shop.path("effect.sql"), b"SELECT '\xff';").unwrap();
    shop.refuses(
        "apply --key k --fingerprint v1 --sql effect.sql",
        "invalid-input",
    );
    assert_eq!(stands(&shop, "k"), "nothing");
}

#[test]
fn rows_that_the_sql_returns_are_dropped_and_every_one_is_fetched() {
    let shop = shop();
    let sql = format!(
        "SELECT * FROM account; {MOVE}
         INSERT INTO entry (account, cents)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'ann', i FROM n RETURNING id;
         EXPLAIN SELECT 1; EXPLAIN QUERY PLAN SELECT * FROM account; VALUES (1), (2);
         WITH ann AS (SELECT * FROM account WHERE name = 'ann') SELECT * FROM ann;"
    );
    let said = apply(&shop, "k", &sql);
    let line = "decision=EXECUTE state=succeeded attempt=1\n";
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str(), said.code),
        (line, "", 0)
    );
    assert_eq!(value(&shop, BALANCES), "ann=900,bob=100 entries=1002");
}

#[test]
fn schema_changes_of_the_shops_own_are_fine() {
    let shop = shop();
    let sql = "CREATE TABLE new (x); INSERT INTO new VALUES (1); ALTER TABLE new RENAME TO newer; ALTER TABLE newer ADD COLUMN y;
               CREATE INDEX newer_x ON newer (x); CREATE VIEW sums AS SELECT sum(cents) AS sum FROM account;
               CREATE TRIGGER t AFTER INSERT ON newer BEGIN UPDATE account SET cents = cents + 1 WHERE name = 'bob'; END;
               INSERT INTO newer VALUES (2, 3); CREATE TEMP TABLE scratch AS SELECT * FROM newer; DROP TABLE scratch;
               REINDEX newer_x; ANALYZE newer; ALTER TABLE newer RENAME COLUMN y TO z; DROP VIEW sums;";
    let said = apply(&shop, "k", sql);
    assert_eq!(
        said.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
        "{said:?}"
    );
    assert_eq!(value(&shop, "SELECT group_concat(x) FROM newer"), "1,2");
    assert_eq!(
        value(&shop, "SELECT cents FROM account WHERE name = 'bob'"),
        "1"
    );
}

#[test]
fn of_ten_at_once_one_performs() {
    let _alone = alone();
    for round in 0..3 {
        let shop = shop();
        fs::write(shop.path("effect.sql"), MOVE).unwrap();
        let call = "--busy-timeout 60s apply --key k --fingerprint v1 --sql effect.sql";
        let all = together(&[0; 10].map(|_| shop.command(call.split(' '))));
        assert!(
            all.iter()
                .all(|said| (said.code, said.stderr.as_str()) == (0, "")),
            "{all:?}"
        );
        assert_eq!(
            (count(&all, "EXECUTE"), count(&all, "SKIP_SUCCEEDED")),
            (1, 9),
            "round {round}: {all:?}"
        );
        assert_eq!(value(&shop, BALANCES), AFTER);
    }
}

#[test]
fn killed_at_any_moment_both_are_there_or_neither() {
    let _alone = alone();
    let mut rng = super::procs::chance("a killed apply");
    let shop = shop();
    let sql = "UPDATE account SET cents = cents + 1 WHERE name = 'bob';";
    fs::write(shop.path("effect.sql"), sql).unwrap();
    for n in 0..40 {
        let key = format!("k:{n}");
        let mut command = shop.command([
            "apply",
            "--fingerprint=v1",
            "--sql=effect.sql",
            "--key",
            &key,
        ]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Not to wait for something: the moment of the kill is what is drawn.
        std::thread::sleep(Duration::from_micros(rng.u64(0..25_000)));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let receipts = ledger_count(&shop);
    assert_eq!(
        value(&shop, "SELECT cents FROM account WHERE name = 'bob'"),
        receipts
    );
}

fn ledger_count(shop: &Scratch) -> String {
    shop.run("list --state succeeded")
        .stdout
        .lines()
        .count()
        .to_string()
}

#[test]
fn a_huge_file_of_many_statements_takes_time_in_proportion() {
    let _alone = alone();
    let shop = shop();
    let statement = "INSERT INTO entry (account, cents) VALUES ('ann', 1);\n";
    let time = |key: &str, count: usize| {
        let sql = statement.repeat(count);
        let began = Instant::now();
        let said = apply(&shop, key, &sql);
        assert_eq!(
            said.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
            "{said:?}"
        );
        began.elapsed()
    };
    time("warm", 10);
    let few = time("few", 5_000);
    let many = time("many", 50_000);
    assert!(
        many < few * 30,
        "10 times as many took {many:?}, after {few:?}"
    );
    assert_eq!(value(&shop, "SELECT count(*) FROM entry"), "55010");
}

#[test]
fn one_huge_statement_is_fine_and_a_file_over_64_mib_is_refused() {
    let shop = shop();
    let sql = format!(
        "INSERT INTO entry (account, cents) SELECT 'ann', length('{}');",
        "x".repeat(8_000_000)
    );
    assert_eq!(
        apply(&shop, "k", &sql).stdout,
        "decision=EXECUTE state=succeeded attempt=1\n"
    );
    assert_eq!(value(&shop, "SELECT max(cents) FROM entry"), "8000000");
    let file = fs::File::create(shop.path("effect.sql")).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    shop.refuses(
        "apply --key long --fingerprint v1 --sql effect.sql",
        "invalid-input",
    );
    assert_eq!(stands(&shop, "long"), "nothing");
}

#[test]
fn no_value_of_a_statement_is_shown_in_an_error() {
    let shop = shop();
    for sql in [
        "INSERT INTO account VALUES ('hush', -1);",
        "INSERT INTO missing VALUES ('hush');",
        "SELECT 'hush' FROM; SELECT 1;",
        "INSERT INTO entry (account, cents) VALUES ('hush', 1);",
    ] {
        let said = apply(&shop, "k", sql);
        nothing_was_kept(&shop, "k", &said);
        assert!(!said.stderr.contains("hush"), "{said:?}");
    }
}

#[test]
fn a_copy_of_a_ledger_applies_nothing() {
    let shop = shop();
    shop.run("backup --to copy.db");
    fs::rename(shop.path("copy.db"), shop.path("receipts.db")).unwrap();
    let said = apply(&shop, "k", MOVE);
    assert!(
        said.stderr.starts_with("error[restored-backup]: "),
        "{said:?}"
    );
    assert_eq!((value(&shop, BALANCES).as_str(), said.code), (BEFORE, 2));
}
