//! Contract §10.1 and §10.2: a path names exactly that file, and who creates a ledger there.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use super::files::{EVERY_VERB, EXECUTE, RESERVE, names, on, refused};
use super::support::{Scratch, binary};

#[test]
fn only_init_and_those_that_decide_create_a_ledger_and_tell_it_once() {
    for args in EVERY_VERB {
        let ledger = Scratch::new();
        let said = on(&ledger, "receipts.db", args);
        let path = ledger.path("receipts.db");
        if matches!(args[0], "reserve" | "init") {
            assert_eq!(
                (said.code, said.stderr),
                (0, format!("note: created ledger {}\n", path.display()))
            );
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600,
                "whatever the umask"
            );
            assert_eq!(on(&ledger, "receipts.db", args).stderr, "");
        } else {
            refused(&said, "no-ledger", path.to_str().unwrap());
            assert_eq!(names(&ledger.path("")).len(), 0, "{}", args[0]);
        }
    }
}

#[test]
fn an_existing_mode_is_kept() {
    let ledger = Scratch::with_ledger();
    fs::set_permissions(
        ledger.path("receipts.db"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    assert_eq!(on(&ledger, "receipts.db", &RESERVE).stdout, EXECUTE);
    assert_eq!(
        fs::metadata(ledger.path("receipts.db"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o640
    );
}

#[test]
fn init_puts_a_ledger_into_a_database_of_yours_and_leaves_the_rest() {
    let ledger = Scratch::new();
    let yours = rusqlite::Connection::open(ledger.path("yours.db")).unwrap();
    yours.execute_batch("PRAGMA user_version = 42; PRAGMA application_id = 7; CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    yours.close().unwrap();
    assert_eq!(on(&ledger, "yours.db", &["init"]).stdout, "created=true\n");
    assert_eq!(on(&ledger, "yours.db", &["init"]).stdout, "created=false\n");
    assert_eq!(on(&ledger, "yours.db", &RESERVE).stdout, EXECUTE);
    let yours = rusqlite::Connection::open(ledger.path("yours.db")).unwrap();
    let number = |sql: &str| {
        yours
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(number("PRAGMA user_version"), 42);
    assert_eq!(number("PRAGMA application_id"), 7);
    assert_eq!(number("SELECT x FROM t"), 1);
}

#[test]
fn any_path_names_exactly_that_file() {
    let strange = [
        b"file:x.db?mode=memory".to_vec(),
        b"file:x.db".to_vec(),
        b"a#b.db".to_vec(),
        b"a%41.db".to_vec(),
        b"aA.db".to_vec(),
        b"a b.db".to_vec(),
        b"a?mode=ro".to_vec(),
        b"a?cache=shared&immutable=1".to_vec(),
        b"a'b\"c.db".to_vec(),
        b"a\nb.db".to_vec(),
        b"-db".to_vec(),
        b"*".to_vec(),
        b"$(touch x)".to_vec(),
        b"a\\b".to_vec(),
        "größe.db".as_bytes().to_vec(),
        b"not\xffutf8.db".to_vec(),
        b"..db".to_vec(),
        vec![b'n'; 200],
    ];
    let ledger = Scratch::new();
    let mut expected = Vec::new();
    for name in strange {
        let name = OsString::from_vec(name);
        let mut flag = OsString::from("--db=");
        flag.push(&name);
        for (args, answer) in [
            (&RESERVE[..], EXECUTE),
            (&["succeed", "--key", "k"], "state=succeeded attempt=1\n"),
        ] {
            let mut command = binary();
            let output = command
                .current_dir(ledger.path(""))
                .arg(&flag)
                .args(args)
                .output()
                .unwrap();
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                answer,
                "{name:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let mut command = binary();
        command
            .current_dir(ledger.path(""))
            .env("RECEIPT_LEDGER_DB", &name)
            .args(["show", "--key", "k"]);
        let output = command.output().unwrap();
        assert!(
            output.stdout.starts_with(b"state=succeeded "),
            "{name:?}, by the environment"
        );
        assert!(ledger.path("").join(&name).is_file(), "{name:?}");
        expected.push(name);
    }
    expected.sort();
    let files: Vec<OsString> = names(&ledger.path(""))
        .into_iter()
        .filter(|name| {
            let bytes = name.as_encoded_bytes();
            !bytes.ends_with(b"-wal") && !bytes.ends_with(b"-shm")
        })
        .collect();
    assert_eq!(files, expected);
}

#[test]
fn no_ledger_is_made_in_memory_nor_under_a_name_that_is_empty() {
    let ledger = Scratch::new();
    refused(&on(&ledger, ":memory:", &RESERVE), "refused-file", "memory");
    refused(&on(&ledger, "", &RESERVE), "invalid-input", "--db");
    assert_eq!(names(&ledger.path("")).len(), 0);
    assert_eq!(
        on(&ledger, "./:memory:", &RESERVE).stdout,
        EXECUTE,
        "so written, it is a file"
    );
    assert!(ledger.path(":memory:").exists());
}
