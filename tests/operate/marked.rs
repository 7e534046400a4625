//! Marked ledgers (contract §9.3): copies look, but neither decide nor change until the gap is accepted.

use super::prepared::prepare;
use super::procs::untouched;
use super::stage::{exported, on, rich};
use super::support::{Scratch, said};

/// Everything that could decide or change, on a ledger with a receipt in every corner.
pub(crate) const DECIDES: &[&str] = &[
    "reserve --key new --fingerprint f",
    "reserve --key unknown --fingerprint f",
    "reserve --key result:0 --fingerprint f",
    "reserve --key result:0 --fingerprint other",
    "reserve --key old:failed --fingerprint f",
    "reserve --key reserved --fingerprint f --wait 1s",
    "record --key new --fingerprint f",
    "record --key recorded --fingerprint f",
    "run --key new --fingerprint f -- touch performed",
    "run --key result:0 --fingerprint f -- touch performed",
    "run --key recorded --fingerprint f --capture -- touch performed",
    "drain --all -- touch performed",
    "drain --prefix recorded -- touch performed",
    "drain --all --allow-failed-retry -- touch performed",
    "apply --key new --fingerprint f --sql effect.sql",
    "apply --key result:0 --fingerprint f --sql effect.sql",
    "succeed --key reserved --attempt 1",
    "succeed --key result:0 --attempt 1",
    "fail --key reserved --attempt 1",
    "unknown --key reserved --attempt 1",
    "unknown --key unknown --attempt 1",
    "renew --key reserved --attempt 1 --lease 1h",
    "resolve --key unknown --as succeeded --evidence seen",
    "resolve --key unknown --as failed --evidence seen",
    "resolve --key new --as succeeded --evidence seen --fingerprint f",
    "prune --older-than 0s",
    "prune --older-than 9999d",
    "prune --older-than 0s --forget",
    "prune --forget --pruned",
    "reconcile --provider provider.csv --settle",
];

/// What only looks.
pub(crate) const LOOKS: &[&str] = &[
    "show --key unknown",
    "show --key result:3 --history",
    "show --key old:failed",
    "list",
    "list --state unknown",
    "stats",
    "stats --prometheus receipts.prom",
    "export",
    "verify",
    "prune --older-than 0s --dry-run",
];

/// Files that the calls name.
pub(crate) fn files(scratch: &Scratch) {
    std::fs::write(scratch.path("effect.sql"), "CREATE TABLE performed (x)").unwrap();
    std::fs::write(scratch.path("provider.csv"), "key\nunknown\n").unwrap();
}

/// Checks that this ledger decides nothing, changes nothing, and looks as the original does.
pub(crate) fn decides_nothing(scratch: &Scratch, db: &str, code: &str) {
    files(scratch);
    let before = exported(scratch, db);
    for args in DECIDES {
        let said = on(scratch, db, args);
        let start = format!("error[{code}]: ");
        assert_eq!(said.code, 2, "{args}: {said:?}");
        assert!(said.stderr.starts_with(&start), "{args}: {said:?}");
        assert!(!said.stdout.contains("decision="), "{args}: {said:?}");
        assert!(!scratch.path("performed").exists(), "{args}");
    }
    let mut batch = super::support::binary();
    batch
        .current_dir(scratch.path("."))
        .args(["--db", db, "batch"]);
    let ops = [
        r#"{"op":"reserve","key":"new","fingerprint":"f"}"#,
        r#"{"op":"record","key":"new","fingerprint":"f"}"#,
        r#"{"op":"succeed","key":"reserved","attempt":1}"#,
    ];
    for op in ops {
        std::fs::write(scratch.path("ops"), format!("{op}\n")).unwrap();
        batch.stdin(std::fs::File::open(scratch.path("ops")).unwrap());
        let said = said(&batch.output().unwrap());
        assert_eq!(said.code, 2, "{op}: {said:?}");
        assert!(
            said.stdout.contains(&format!("\"code\":\"{code}\"")),
            "{op}: {said:?}"
        );
    }
    for args in LOOKS {
        let said = on(scratch, db, args);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{args}");
    }
    assert_eq!(exported(scratch, db), before);
}

#[test]
fn a_copy_answers_restored_backup_to_everything_that_could_decide_or_change() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    decides_nothing(&scratch, "copy.db", "restored-backup");
}

#[test]
fn a_copy_looks_exactly_as_the_ledger_did() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    for args in [
        "list",
        "stats",
        "verify",
        "export",
        "show --key failed --history",
    ] {
        assert_eq!(on(&scratch, "copy.db", args), scratch.run(args), "{args}");
    }
}

#[test]
fn a_copy_cannot_be_retired_and_its_refusal_says_what_to_do() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    let said = on(&scratch, "copy.db", "export --retire");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(
        said.stderr.starts_with("error[restored-backup]: "),
        "{said:?}"
    );
    assert!(said.stderr.contains("restore --accept-gap"), "{said:?}");
}

#[test]
fn an_exact_import_into_a_copy_leaves_it_marked_and_init_changes_nothing() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    assert_eq!(scratch.run("export --to all.jsonl").code, 0);
    assert_eq!(on(&scratch, "copy.db", "init").stdout, "created=false\n");
    let said = on(&scratch, "copy.db", "import all.jsonl");
    assert!(said.stdout.starts_with("added=0 unchanged="), "{said:?}");
    let said = on(&scratch, "copy.db", "reserve --key new --fingerprint f");
    assert!(
        said.stderr.starts_with("error[restored-backup]: "),
        "{said:?}"
    );
}

#[test]
fn after_the_gap_is_accepted_it_decides_once_and_only_then() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    let said = on(&scratch, "copy.db", "restore --accept-gap");
    assert_eq!(
        (said.code, said.stdout.as_str(), said.stderr.as_str()),
        (0, "standing=in_use\n", "")
    );
    let said = on(&scratch, "copy.db", "reserve --key new --fingerprint f");
    assert_eq!(said.stdout, "decision=EXECUTE state=reserved attempt=1\n");
    let again = on(&scratch, "copy.db", "restore --accept-gap");
    assert!(
        again.stderr.starts_with("error[invalid-transition]: "),
        "{again:?}"
    );
    // The original was never asked.
    scratch.refuses("show --key new", "not-found");
}

#[test]
fn on_an_unmarked_ledger_there_is_no_gap_to_accept() {
    let scratch = Scratch::with_ledger();
    prepare(&scratch, "unknown", "k");
    let before = untouched(&scratch.path("receipts.db"));
    scratch.refuses("restore --accept-gap", "invalid-transition");
    assert_eq!(untouched(&scratch.path("receipts.db")), before);
    let scratch = Scratch::new();
    scratch.refuses("restore --accept-gap", "no-ledger");
    assert!(!scratch.path("receipts.db").exists());
}
