//! The least that a role needs, as README has it.

use super::cluster::shared;
use super::support::{Scratch, batch_of};

/// What README grants to whoever decides; `shop` there.
fn grants(role: &str) -> String {
    let block = super::block::named("ledger-grants");
    block.text.replace(" TO shop;", &format!(" TO {role};"))
}

#[test]
fn a_role_with_the_documented_privileges_decides_and_cannot_rewrite_or_forget() {
    let ledger = Scratch::with_ledger();
    let role = format!("role_{}", ledger.database);
    ledger.sql(&format!("CREATE ROLE {role} LOGIN"));
    ledger.sql(&grants(&role));
    let own = ledger.at(&ledger.url.replace("//postgres@", &format!("//{role}@")));
    own.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    own.conflicts(
        "reserve --key k --fingerprint g",
        "decision=CONFLICT state=reserved attempt=1\n",
    );
    own.says("fail --key k", "state=failed attempt=1\n");
    own.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=2\n",
    );
    own.says("succeed --key k --attempt 2", "state=succeeded attempt=2\n");
    std::fs::write(own.path("payload"), "payload").unwrap();
    own.says(
        "record --key later --payload-file payload --keep-payload",
        "created=true state=recorded attempt=0\n",
    );
    own.says(
        "drain --all --quiet -- true",
        "drained=1 succeeded=1 failed=0 unknown=0\n",
    );
    own.says("verify", "verify=ok receipts=2\n");
    std::fs::write(own.path("effect.sql"), "SELECT 1").unwrap();
    let applied = own.run("apply --key a --fingerprint f --sql effect.sql");
    assert_eq!(applied.code, 0, "{applied:?}");
    let lines = [
        r#"{"op":"record","key":"many:1","fingerprint":"f"}"#,
        r#"{"op":"record","key":"many:2","fingerprint":"f"}"#,
        r#"{"op":"record","key":"many:3","fingerprint":"f"}"#,
    ];
    let told = batch_of(&own, &[], &lines.join("\n"));
    assert_eq!((told.stderr.as_str(), told.code), ("", 0), "{told:?}");
    let listed = own.run("list --prefix many:").stdout;
    let keys: Vec<_> = listed
        .split(' ')
        .filter(|word| word.starts_with("key="))
        .collect();
    assert_eq!(keys, ["key=many:1", "key=many:2", "key=many:3"]);
    let forget = own.run("prune --older-than 0s --forget");
    assert!(forget.stderr.starts_with("error[io]: "), "{forget:?}");
    for sql in [
        "DELETE FROM receipt_ledger.receipt",
        "UPDATE receipt_ledger.history SET detail = 'x'",
        "DELETE FROM receipt_ledger.history",
        "UPDATE receipt_ledger.meta SET value = '2'",
        "TRUNCATE receipt_ledger.receipt",
    ] {
        let mut command = shared().psql(&role, &ledger.database, sql);
        let told = command.output().unwrap();
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("permission denied"), "{sql}: {told}");
    }
}

#[test]
fn sql_that_runs_as_another_role_cannot_reach_the_ledgers_tables() {
    let ledger = Scratch::with_ledger();
    let app = format!("app_{}", ledger.database);
    ledger.sql(&format!(
        "CREATE ROLE {app}; CREATE TABLE paid (n int); GRANT INSERT ON paid TO {app}; \
         GRANT CREATE, USAGE ON SCHEMA receipt_ledger TO {app}; \
         ALTER FUNCTION receipt_ledger.perform(text) OWNER TO {app}; \
         ALTER FUNCTION receipt_ledger.perform(text) SECURITY DEFINER; \
         REVOKE CREATE ON SCHEMA receipt_ledger FROM {app}"
    ));
    let apply = |key: &str, sql: &str| {
        std::fs::write(ledger.path("effect.sql"), sql).unwrap();
        ledger.run(&format!(
            "apply --key {key} --fingerprint f --sql effect.sql"
        ))
    };
    let said = apply("k", "INSERT INTO paid VALUES (1)");
    assert_eq!(
        said.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
        "{said:?}"
    );
    for sql in [
        "SELECT * FROM receipt_ledger.receipt",
        "UPDATE receipt_ledger.receipt SET late_success = true",
        "RESET ROLE; DELETE FROM receipt_ledger.history",
        "SET ROLE postgres; DELETE FROM receipt_ledger.receipt",
    ] {
        let said = apply("other", sql);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{sql}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{}",
            said.stderr
        );
    }
}
