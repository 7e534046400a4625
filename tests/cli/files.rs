//! Contract §10.3: files that are refused, byte for byte untouched.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::support::{Said, Scratch, binary, said};

pub(super) const RESERVE: [&str; 5] = ["reserve", "--key", "k", "--fingerprint", "f"];
pub(super) const EXECUTE: &str = "decision=EXECUTE state=reserved attempt=1\n";

/// The binary in the scratch folder on the ledger of this name.
pub(super) fn on<S: AsRef<std::ffi::OsStr>>(ledger: &Scratch, db: S, args: &[&str]) -> Said {
    let mut command = binary();
    command
        .current_dir(ledger.path(""))
        .arg("--db")
        .arg(db)
        .args(args);
    said(&command.output().unwrap())
}

pub(super) fn refused(said: &Said, code: &str, says: &str) {
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("", 2),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.starts_with(&format!("error[{code}]: ")),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains(says), "{says}: {}", said.stderr);
}

pub(super) fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

pub(super) const EVERY_VERB: [&[&str]; 8] = [
    &RESERVE,
    &["succeed", "--key", "k"],
    &["fail", "--key", "k"],
    &["unknown", "--key", "k"],
    &["renew", "--key", "k", "--attempt", "1", "--lease", "1s"],
    &["resolve", "--key", "k", "--as", "failed", "--evidence", "e"],
    &["show", "--key", "k"],
    &["init"],
];

#[test]
fn a_file_that_is_no_ledger_is_refused_by_every_verb_and_left_byte_for_byte() {
    let ledger = Scratch::new();
    let other = rusqlite::Connection::open(ledger.path("sqlite")).unwrap();
    other.execute_batch("PRAGMA application_id = 77; PRAGMA user_version = 3; CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    other.close().unwrap();
    fs::write(ledger.path("empty"), "").unwrap();
    fs::write(ledger.path("text"), "order:42 paid\n".repeat(500)).unwrap();
    fs::write(ledger.path("short"), "SQLite format 3\0").unwrap();
    for (name, code) in [
        ("empty", "refused-file"),
        ("text", "not-a-ledger"),
        ("short", "not-a-ledger"),
        ("sqlite", "not-a-ledger"),
    ] {
        let path = ledger.path(name);
        let before = (
            fs::read(&path).unwrap(),
            fs::metadata(&path).unwrap().mtime_nsec(),
        );
        for args in EVERY_VERB {
            if name == "sqlite" && args[0] == "init" {
                continue;
            }
            let said = on(&ledger, name, args);
            refused(&said, code, path.to_str().unwrap());
            let after = (
                fs::read(&path).unwrap(),
                fs::metadata(&path).unwrap().mtime_nsec(),
            );
            assert!(before == after, "{name} was touched by {}", args[0]);
        }
    }
    assert_eq!(
        names(&ledger.path("")),
        ["empty", "short", "sqlite", "text"],
        "nothing lies beside them"
    );
}

#[test]
fn a_second_hard_link_is_refused_under_both_names_and_a_symbolic_link_is_the_same_ledger() {
    let ledger = Scratch::with_ledger();
    std::os::unix::fs::symlink("receipts.db", ledger.path("soft")).unwrap();
    assert_eq!(on(&ledger, "soft", &RESERVE).stdout, EXECUTE);
    assert_eq!(
        on(&ledger, "receipts.db", &RESERVE).stdout,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
    );
    fs::hard_link(ledger.path("receipts.db"), ledger.path("hard")).unwrap();
    let before = fs::read(ledger.path("receipts.db")).unwrap();
    for name in ["receipts.db", "hard", "soft"] {
        for args in EVERY_VERB {
            refused(&on(&ledger, name, args), "refused-file", "second hard link");
        }
    }
    assert!(before == fs::read(ledger.path("receipts.db")).unwrap());
    fs::remove_file(ledger.path("hard")).unwrap();
    assert_eq!(
        on(&ledger, "soft", &["succeed", "--key", "k"]).stdout,
        "state=succeeded attempt=1\n"
    );
}

#[test]
fn a_dangling_link_a_missing_folder_and_a_folder_are_errors_that_create_nothing() {
    let ledger = Scratch::new();
    std::os::unix::fs::symlink("nowhere.db", ledger.path("dangling")).unwrap();
    fs::create_dir(ledger.path("folder")).unwrap();
    for (name, code) in [
        ("dangling", "refused-file"),
        ("missing/receipts.db", "io"),
        ("folder", "not-a-ledger"),
        ("folder/", "not-a-ledger"),
        ("new/", "io"),
        ("/dev/null", "not-a-ledger"),
    ] {
        for args in [&RESERVE[..], &["init"]] {
            let said = on(&ledger, name, args);
            refused(&said, code, "/");
        }
    }
    assert_eq!(names(&ledger.path("")), ["dangling", "folder"]);
    assert_eq!(names(&ledger.path("folder")).len(), 0);
}

#[test]
fn a_missing_file_beside_which_a_log_with_content_lies_is_refused() {
    for ending in ["-wal", "-journal"] {
        let ledger = Scratch::new();
        let beside = ledger.path(&format!("receipts.db{ending}"));
        fs::write(&beside, "what a failed copy leaves").unwrap();
        for args in [&RESERVE[..], &["init"], &["show", "--key", "k"]] {
            refused(
                &on(&ledger, "receipts.db", args),
                "refused-file",
                ending.trim_start_matches('-'),
            );
        }
        assert_eq!(fs::read(&beside).unwrap(), b"what a failed copy leaves");
        assert_eq!(names(&ledger.path("")).len(), 1);
        fs::write(&beside, "").unwrap();
        assert_eq!(
            on(&ledger, "receipts.db", &RESERVE).stdout,
            EXECUTE,
            "an empty one is no trace of anything"
        );
    }
}

#[test]
fn a_ledger_of_a_newer_schema_is_refused_and_not_touched() {
    let ledger = Scratch::with_ledger();
    let sql = "UPDATE receipt_ledger_meta SET value = '99' WHERE name = 'schema_version'";
    super::prepared::rewrite(&ledger, sql, &[]);
    let before = fs::read(ledger.path("receipts.db")).unwrap();
    for args in EVERY_VERB {
        refused(&on(&ledger, "receipts.db", args), "newer-ledger", "99");
    }
    assert!(before == fs::read(ledger.path("receipts.db")).unwrap());
}

#[test]
fn a_ledger_that_is_itself_a_mount_point_is_refused() {
    let ledger = Scratch::with_ledger();
    fs::create_dir(ledger.path("elsewhere")).unwrap();
    fs::write(ledger.path("elsewhere/receipts.db"), "").unwrap();
    // A namespace of its own: the mount goes with the process.
    let script = "mount --bind receipts.db elsewhere/receipts.db || exit 77
        \"$0\" --db elsewhere/receipts.db reserve --key k --fingerprint f; code=$?
        \"$0\" --db receipts.db show --key k; exit $code";
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(assert_cmd::cargo::cargo_bin!("receipt-ledger"))
        .current_dir(ledger.path(""));
    let Ok(output) = command.output() else {
        eprintln!("skipped: there is no unshare here");
        return;
    };
    let said = said(&output);
    if said.code == 77 || said.stderr.starts_with("unshare: ") {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("", 2),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.starts_with("error[refused-file]: ") && said.stderr.contains("mount point"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("error[not-found]: "),
        "the ledger itself goes on: {}",
        said.stderr
    );
}
