//! `verify` (contract §9.5): what it finds in files that were tampered with below the ledger.

use std::fs;
use std::os::unix::fs::FileExt;

use receipt_ledger::receipt::{Key, KeyDigest};

use super::bulk;
use super::procs::plain;
use super::stage::{exported, rich};
use super::support::Scratch;

/// Rewrites the file with every guard of the schema lifted.
fn tamper(scratch: &Scratch, sql: &str) {
    let connection = plain(&scratch.path("receipts.db"));
    connection
        .execute_batch(
            "PRAGMA ignore_check_constraints = ON;
             DROP TRIGGER receipt_ledger_history_is_never_rewritten;
             DROP TRIGGER receipt_ledger_history_goes_only_with_its_receipt;",
        )
        .unwrap();
    let changed = connection.execute(sql, []).unwrap();
    assert!(changed > 0, "{sql}");
    connection.close().unwrap();
}

/// Runs verify; findings, each a line that names a key where it can.
fn findings(scratch: &Scratch) -> String {
    let said = scratch.run("verify");
    assert_eq!((said.code, said.stderr.as_str()), (2, ""), "{said:?}");
    assert!(
        said.stdout.lines().all(|line| line.starts_with("finding=")),
        "{said:?}"
    );
    assert!(!said.stdout.is_empty());
    said.stdout
}

/// Whether a finding is about this key; what cannot be read is named in the finding.
fn names(findings: &str, key: &str) -> bool {
    findings.lines().any(|line| {
        line.ends_with(&format!(" key={key}")) || line.contains(&format!(" of {key} holds what"))
    })
}

/// What a receipt of the rich ledger goes by inside the file.
const UNKNOWN: &str = "(SELECT id FROM receipt_ledger_receipt WHERE key = 'unknown')";

#[test]
fn a_ledger_in_every_corner_of_its_life_is_well() {
    let scratch = rich();
    let receipts = scratch.run("list").stdout.lines().count();
    scratch.says("verify", &format!("verify=ok receipts={receipts}\n"));
    scratch.says(
        "verify --format json",
        &format!("{{\"verify\":\"ok\",\"receipts\":{receipts}}}\n"),
    );
}

#[test]
fn a_state_that_breaks_an_invariant_is_found_and_its_key_named() {
    for change in [
        "state = 'succeeded'",
        "state = 'failed'",
        "state = 'recorded'",
        "state = 'reserved'",
        "state = 'vanished'",
        "attempt = 0",
        "attempt = -1",
        "settled_at_ms = 1",
        "settled_by = 'caller'",
        "lease_expires_at_ms = 1",
        "result = '{}'",
        "late_success = 1",
        "late_success = 2",
        "attempt_started_at_ms = NULL",
        "attempt_started_at_ms = 5",
        "created_at_ms = 1",
        "created_at_ms = -1",
        "updated_at_ms = 9999999999999999",
        "amount = '1'",
        "currency = 'EUR'",
        "owner = 'two words'",
        "fingerprint = 'é'",
        "reason = ''",
        "result = 'no json', state = 'succeeded', settled_at_ms = 1, settled_by = 'caller'",
    ] {
        let scratch = rich();
        tamper(
            &scratch,
            &format!("UPDATE receipt_ledger_receipt SET {change} WHERE key = 'unknown'"),
        );
        let found = findings(&scratch);
        assert!(names(&found, "unknown"), "{change}: {found}");
        let json = scratch.run("verify --format json");
        assert!(
            json.stdout.starts_with("{\"finding\":\""),
            "{change}: {json:?}"
        );
    }
}

#[test]
fn every_bad_receipt_is_named_not_only_the_first() {
    let scratch = rich();
    tamper(
        &scratch,
        "UPDATE receipt_ledger_receipt SET state = 'vanished' WHERE key IN ('unknown', 'failed', 'result:1')",
    );
    let found = findings(&scratch);
    for key in ["unknown", "failed", "result:1"] {
        assert!(names(&found, key), "{key}: {found}");
    }
}

#[test]
fn a_history_that_does_not_explain_the_receipt_is_found() {
    for change in [
        format!("DELETE FROM receipt_ledger_history WHERE receipt = {UNKNOWN}"),
        format!("DELETE FROM receipt_ledger_history WHERE receipt = {UNKNOWN} AND sequence = 1"),
        format!("DELETE FROM receipt_ledger_history WHERE receipt = {UNKNOWN} AND sequence = 2"),
        format!(
            "UPDATE receipt_ledger_history SET event = 'failed' WHERE receipt = {UNKNOWN} AND event = 'unknown'"
        ),
        format!(
            "UPDATE receipt_ledger_history SET event = 'vanished' WHERE receipt = {UNKNOWN} AND event = 'unknown'"
        ),
        format!(
            "UPDATE receipt_ledger_history SET at_ms = at_ms + 1 WHERE receipt = {UNKNOWN} AND sequence = 1"
        ),
        format!(
            "UPDATE receipt_ledger_history SET at_ms = -1 WHERE receipt = {UNKNOWN} AND sequence = 1"
        ),
        format!(
            "UPDATE receipt_ledger_history SET sequence = 12 - sequence WHERE receipt = {UNKNOWN} AND sequence < 3"
        ),
        format!(
            "INSERT INTO receipt_ledger_history VALUES ({UNKNOWN}, 9, 5, 'succeeded', 1, NULL, NULL)"
        ),
        format!(
            "INSERT INTO receipt_ledger_history VALUES ({UNKNOWN}, 9, 5, 'late_succeeded', 1, NULL, NULL)"
        ),
        format!(
            "INSERT INTO receipt_ledger_history VALUES ({UNKNOWN}, 9, 5, 'reserved', 3, NULL, NULL)"
        ),
    ] {
        let scratch = rich();
        tamper(&scratch, &change);
        let found = findings(&scratch);
        assert!(names(&found, "unknown"), "{change}: {found}");
    }
}

#[test]
fn an_attempt_that_goes_backwards_is_found() {
    let scratch = rich();
    tamper(
        &scratch,
        "UPDATE receipt_ledger_history SET attempt = 1 WHERE attempt = 2 AND
         receipt = (SELECT id FROM receipt_ledger_receipt WHERE key = 'failed')",
    );
    let found = findings(&scratch);
    assert!(
        found.contains("an attempt that does not follow the one before"),
        "{found}"
    );
    assert!(found.contains(" key=failed\n"), "{found}");
}

#[test]
fn rows_that_belong_to_nothing_are_found() {
    for (change, says) in [
        (
            "INSERT INTO receipt_ledger_history VALUES (999, 1, 5, 'reserved', 1, NULL, NULL)",
            "history belong to no receipt",
        ),
        (
            "INSERT INTO receipt_ledger_payload VALUES (999, x'00')",
            "payloads belong to no receipt",
        ),
        (
            "INSERT INTO receipt_ledger_payload SELECT id, x'00' FROM receipt_ledger_receipt WHERE key = 'result:0'",
            "have succeeded were not erased",
        ),
        (
            "DELETE FROM receipt_ledger_receipt WHERE key = 'unknown'",
            "history belong to no receipt",
        ),
    ] {
        let scratch = rich();
        tamper(&scratch, change);
        let found = findings(&scratch);
        // And nothing is laid at a neighbour's door.
        assert_eq!(found.lines().count(), 1, "{change}: {found}");
        assert!(found.contains(says), "{change}: {found}");
    }
}

#[test]
fn a_key_that_is_there_whole_and_pruned_is_found() {
    let scratch = rich();
    let digest: String = KeyDigest::of(&Key::parse("unknown").unwrap()).to_string();
    tamper(
        &scratch,
        &format!(
            "INSERT INTO receipt_ledger_pruned VALUES (x'{digest}', x'0000000000000000', 1, 1)"
        ),
    );
    let found = findings(&scratch);
    assert!(found.contains("whole and pruned"), "{found}");
}

#[test]
fn a_pruned_row_that_no_prune_writes_is_found() {
    for change in [
        "UPDATE receipt_ledger_pruned SET outcome = 4",
        "UPDATE receipt_ledger_pruned SET attempt = 0",
        "UPDATE receipt_ledger_pruned SET fingerprint_digest = x'00'",
        "UPDATE receipt_ledger_pruned SET key_digest = x'00' WHERE outcome = 3",
    ] {
        let scratch = rich();
        tamper(&scratch, change);
        findings(&scratch);
    }
}

#[test]
fn what_the_ledger_says_of_itself_is_checked() {
    for change in [
        "INSERT INTO receipt_ledger_meta VALUES ('standing', 'dreaming')",
        "INSERT INTO receipt_ledger_meta VALUES ('forgotten', '-1')",
    ] {
        let scratch = rich();
        tamper(&scratch, change);
        findings(&scratch);
    }
}

#[test]
fn a_damaged_page_is_found_wherever_it_is() {
    let whole = Scratch::with_ledger();
    bulk::succeeded(&whole, 1_000, "[1]");
    let pages = fs::metadata(whole.path("receipts.db")).unwrap().len() / 4096;
    assert!(pages > 50);
    let bytes = fs::read(whole.path("receipts.db")).unwrap();
    // Page 2 maps pointers: page 1 is the header and the list of tables.
    for page in (2..pages).step_by(7) {
        let scratch = Scratch::new();
        fs::write(scratch.path("receipts.db"), &bytes).unwrap();
        let file = fs::OpenOptions::new()
            .write(true)
            .open(scratch.path("receipts.db"))
            .unwrap();
        file.write_all_at(&[0xA5; 64], page * 4096).unwrap();
        drop(file);
        let said = scratch.run("verify");
        assert_eq!(said.code, 2, "page {}: {said:?}", page + 1);
        let told =
            said.stdout.starts_with("finding=") || said.stderr.starts_with("error[corrupt]: ");
        assert!(told, "page {}: {said:?}", page + 1);
    }
}

#[test]
fn it_changes_nothing_and_works_beside_a_writer() {
    let scratch = rich();
    let before = exported(&scratch, "receipts.db");
    let mut holder = plain(&scratch.path("receipts.db"));
    let held = holder
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .unwrap();
    assert_eq!(scratch.run("verify --busy-timeout 50ms").code, 0);
    held.rollback().unwrap();
    assert_eq!(exported(&scratch, "receipts.db"), before);
}
