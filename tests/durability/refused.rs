//! What must not be used as a ledger (contract 10.2, 10.3) is refused, and stays byte for byte as it was.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::procs::{has, is_root, listing, names, plain, untouched, wrapped};
use super::support::{Scratch, said};

/// Calls that would decide, change, create and look.
const CALLS: [&str; 4] = [
    "reserve --key order:1 --fingerprint v1",
    "succeed --key order:1",
    "show --key order:1",
    "init",
];

/// Every call is refused with this code, and nothing in the folder has changed.
fn refused(ledger: &Scratch, code: &str, calls: &[&str]) {
    let before = listing(&ledger.path(""));
    for call in calls {
        let told = ledger.refuses(call, code);
        let named = told.contains(ledger.path("").to_str().unwrap());
        assert!(named, "the absolute path is missing: {told}");
        assert_eq!(listing(&ledger.path("")), before, "{call}");
    }
}

#[test]
fn a_file_that_is_not_sqlite_is_refused() {
    for content in [&b"x"[..], b"SQLite format 3\0", &[0; 4096], &[b'#'; 70_000]] {
        let ledger = Scratch::new();
        fs::write(ledger.path("receipts.db"), content).unwrap();
        refused(&ledger, "not-a-ledger", &CALLS);
    }
}

#[test]
fn an_empty_file_is_refused() {
    let ledger = Scratch::new();
    fs::write(ledger.path("receipts.db"), "").unwrap();
    refused(&ledger, "refused-file", &CALLS);
}

#[test]
fn a_folder_and_a_fifo_are_refused() {
    let ledger = Scratch::new();
    fs::create_dir(ledger.path("receipts.db")).unwrap();
    refused(&ledger, "not-a-ledger", &CALLS);
    if has("mkfifo", &["--version"]) {
        let ledger = Scratch::new();
        assert!(has(
            "mkfifo",
            &[ledger.path("receipts.db").to_str().unwrap()]
        ));
        refused(&ledger, "not-a-ledger", &CALLS);
    }
}

#[test]
fn a_dangling_link_and_a_missing_folder_are_errors() {
    let ledger = Scratch::new();
    symlink(ledger.path("nowhere.db"), ledger.path("receipts.db")).unwrap();
    refused(&ledger, "refused-file", &CALLS);
    let ledger = Scratch::new();
    for call in CALLS {
        let missing = ledger.path("no/such/receipts.db");
        let args = call.split(' ');
        let mut command = super::support::binary();
        command.arg("--db").arg(&missing).args(args);
        let told = said(&command.output().unwrap());
        assert_eq!((told.code, told.stdout.as_str()), (2, ""), "{told:?}");
        assert!(told.stderr.contains(missing.to_str().unwrap()), "{told:?}");
        assert_eq!(names(&ledger.path("")), Vec::<String>::new());
    }
}

#[test]
fn a_second_hard_link_is_refused_under_both_names() {
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1");
    fs::hard_link(ledger.path("receipts.db"), ledger.path("other.db")).unwrap();
    refused(&ledger, "refused-file", &CALLS);
    fs::rename(ledger.path("other.db"), ledger.path("receipts.db")).unwrap();
    refused(&ledger, "refused-file", &CALLS);
    fs::remove_file(ledger.path("other.db")).unwrap();
    ledger.says(
        CALLS[0],
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
}

#[test]
fn a_file_that_is_itself_a_mount_point_is_refused() {
    if !cfg!(target_os = "linux") || !is_root() || !has("unshare", &["-m", "true"]) {
        eprintln!("skipped: only root may mount a file");
        return;
    }
    let ledger = Scratch::with_ledger();
    ledger.run(CALLS[0]);
    fs::create_dir(ledger.path("else where")).unwrap();
    let there = ledger.path("else where/receipts.db");
    fs::write(&there, "").unwrap();
    let before = untouched(&ledger.path("receipts.db"));
    let script = r#"mount --bind receipts.db "else where/receipts.db" || exit 77
        for key in order:1 order:2; do
            "$0" --db "else where/receipts.db" reserve --key $key --fingerprint v1; echo "code=$?"
            "$0" --db "else where/receipts.db" show --key $key; echo "code=$?"
        done"#;
    let mut command = wrapped(
        "unshare",
        &["-m", "sh", "-c", script],
        &super::support::binary(),
    );
    let told = said(&command.current_dir(ledger.path("")).output().unwrap());
    if told.code == 77 {
        eprintln!("skipped: a file cannot be mounted here");
        return;
    }
    assert_eq!(told.stdout, "code=2\n".repeat(4), "{told:?}");
    assert_eq!(
        told.stderr.matches("error[refused-file]: ").count(),
        4,
        "{told:?}"
    );
    assert_eq!(untouched(&ledger.path("receipts.db")), before);
    assert_eq!(names(&ledger.path("else where")), ["receipts.db"]);
}

/// Another application's database, alone in its folder: as a closed application leaves it, or, with content in the
/// log, as a killed one does.
fn foreign(journal_mode: &str, content_in_log: bool) -> Scratch {
    let made = Scratch::new();
    let path = made.path("receipts.db");
    let open = plain(&path);
    let mode = open.pragma_update_and_check(None, "journal_mode", journal_mode, |row| row.get(0));
    assert_eq!(mode, Ok(journal_mode.to_owned()));
    open.execute_batch(
        "CREATE TABLE invoice (id INTEGER PRIMARY KEY); INSERT INTO invoice VALUES (1);",
    )
    .unwrap();
    let left = Scratch::new();
    let copy = |name: &str| fs::copy(made.path(name), left.path(name)).unwrap();
    if content_in_log {
        copy("receipts.db-wal");
        copy("receipts.db");
    } else {
        open.close().unwrap();
        copy("receipts.db");
    }
    left
}

#[test]
fn another_applications_database_is_refused_until_init_is_told_to_use_it() {
    for (journal_mode, content_in_log) in [("delete", false), ("wal", false), ("wal", true)] {
        let ledger = foreign(journal_mode, content_in_log);
        let before: Vec<(PathBuf, String)> = listing(&ledger.path("")).into_iter().collect();
        for call in &CALLS[..3] {
            ledger.refuses(call, "not-a-ledger");
            let after = listing(&ledger.path(""));
            for (name, was) in &before {
                assert_eq!(
                    after.get(name),
                    Some(was),
                    "{journal_mode} {content_in_log} {call}: {name:?}"
                );
            }
            // SQLite's index is needed to look into a log, and to nothing else.
            let more: Vec<&PathBuf> = after
                .keys()
                .filter(|name| !before.iter().any(|(was, _)| was == *name))
                .collect();
            let known = content_in_log && more == [Path::new("receipts.db-shm")];
            assert!(
                more.is_empty() || known,
                "{journal_mode} {content_in_log} {call}: left {more:?}"
            );
        }
        ledger.says("init", "created=true\n");
        ledger.says("init", "created=false\n");
        ledger.says(CALLS[0], "decision=EXECUTE state=reserved attempt=1\n");
        let invoices: i64 = plain(&ledger.path("receipts.db"))
            .query_row("SELECT count(*) FROM invoice", [], |row| row.get(0))
            .unwrap();
        assert_eq!(invoices, 1);
    }
}

#[test]
fn another_applications_database_is_looked_into_whatever_it_is_called() {
    for name in [
        "a b.db",
        "a?mode=memory",
        "a#b",
        "a%41",
        "file:x",
        "a&immutable=0",
        "é",
        "a\nb",
    ] {
        let foreign = foreign("wal", false);
        let path = foreign.path(name);
        fs::rename(foreign.path("receipts.db"), &path).unwrap();
        let before = listing(&foreign.path(""));
        let mut call = super::support::binary();
        call.arg("--db").arg(&path).args(CALLS[0].split(' '));
        let told = said(&call.output().unwrap());
        let refused = told.stderr.starts_with("error[not-a-ledger]: ");
        assert!(told.code == 2 && refused, "{name:?}: {told:?}");
        assert_eq!(listing(&foreign.path("")), before, "{name:?}");
    }
}

#[test]
fn a_ledger_of_a_newer_schema_is_refused() {
    const NEWER: &str = "UPDATE receipt_ledger_meta SET value = '99' WHERE name = 'schema_version'";
    let ledger = Scratch::with_ledger();
    plain(&ledger.path("receipts.db"))
        .execute_batch(NEWER)
        .unwrap();
    let alone = Scratch::new();
    fs::copy(ledger.path("receipts.db"), alone.path("receipts.db")).unwrap();
    // With the new version only in the log, as a killed newer program leaves it.
    let logged = Scratch::new();
    let ledger = Scratch::with_ledger();
    let open = plain(&ledger.path("receipts.db"));
    open.execute_batch(NEWER).unwrap();
    for name in ["receipts.db", "receipts.db-wal"] {
        fs::copy(ledger.path(name), logged.path(name)).unwrap();
    }
    for ledger in [alone, logged] {
        let before = listing(&ledger.path(""));
        for call in CALLS {
            ledger.refuses(call, "newer-ledger");
            let after = listing(&ledger.path(""));
            for (name, was) in &before {
                assert_eq!(after.get(name), Some(was), "{call}: {name:?}");
            }
        }
    }
}
