//! A path is a path (contract 10.2): any name names exactly that file, and its mode is nobody else's business.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::procs::{names, wrapped};
use super::support::{Said, Scratch, binary, said};

fn run(folder: &Path, db: &OsStr, args: &str) -> Said {
    // Joined with '=', so that a name may begin with '-'.
    let mut named = OsString::from("--db=");
    named.push(db);
    let mut command = binary();
    command.current_dir(folder).arg(named).args(args.split(' '));
    said(&command.output().unwrap())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn any_file_name_names_exactly_that_file() {
    let mut any: Vec<OsString> = [
        "a b.db",
        "a?mode=memory",
        "a#b",
        "a%41",
        "file:x",
        "file:x.db?mode=memory",
        "file::memory:",
        "-wal",
        "receipts.db-wal",
        "'\"$(x)`;|&*",
        "a\nb",
        "é",
        "./:memory:",
        "a+b&immutable=1",
        "http:x",
    ]
    .into_iter()
    .map(OsString::from)
    .collect();
    if cfg!(target_os = "linux") {
        any.push(OsString::from_vec(b"\xff\xfe.db".to_vec()));
    }
    for name in any {
        let ledger = Scratch::new();
        let folder = ledger.path("");
        let told = run(&folder, &name, "reserve --key order:1 --fingerprint v1");
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (0, "decision=EXECUTE state=reserved attempt=1\n"),
            "{told:?}"
        );
        assert!(
            folder.join(&name).is_file(),
            "{name:?}: {:?}",
            names(&folder)
        );
        let mut known = vec![folder.join(&name)];
        for ending in ["-wal", "-shm"] {
            let mut beside = name.clone();
            beside.push(ending);
            known.push(folder.join(beside));
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(
                known
                    .iter()
                    .any(|known| known.file_name() == path.file_name()),
                "{name:?}: {path:?}"
            );
        }
        let told = run(&folder, &name, "succeed --key order:1");
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{name:?}");
        // As it is read where no log can be opened, by URI.
        let told = run(&folder, &name, "show --key order:1");
        assert!(
            told.stdout.starts_with("state=succeeded attempt=1 "),
            "{name:?}: {told:?}"
        );
    }
}

#[test]
fn memory_and_the_empty_name_are_refused() {
    let ledger = Scratch::new();
    for (db, code) in [(":memory:", "refused-file"), ("", "invalid-input")] {
        let told = run(
            &ledger.path(""),
            OsStr::new(db),
            "reserve --key order:1 --fingerprint v1",
        );
        assert_eq!((told.code, told.stdout.as_str()), (2, ""), "{told:?}");
        let usage = told.stderr.starts_with("error[usage]: ");
        assert!(
            told.stderr.starts_with(&format!("error[{code}]: ")) || usage,
            "{told:?}"
        );
    }
    assert_eq!(names(&ledger.path("")), Vec::<String>::new());
}

#[test]
fn a_link_leads_to_the_ledger_and_to_the_log_beside_it() {
    let ledger = Scratch::with_ledger();
    fs::create_dir(ledger.path("far")).unwrap();
    symlink(ledger.path("receipts.db"), ledger.path("far/link.db")).unwrap();
    let (far, link) = (ledger.path("far"), OsStr::new("link.db"));
    let told = run(&far, link, "reserve --key order:1 --fingerprint v1");
    assert_eq!(told.stdout, "decision=EXECUTE state=reserved attempt=1\n");
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    assert!(
        run(&far, link, "show --key order:1")
            .stdout
            .starts_with("state=reserved ")
    );
    assert_eq!(names(&far), ["link.db"]);
    // Through a folder that is a link, and back out of it.
    symlink(ledger.path("far"), ledger.path("near")).unwrap();
    let told = run(
        &ledger.path(""),
        OsStr::new("near/../receipts.db"),
        "show --key order:1",
    );
    assert!(told.stdout.starts_with("state=reserved "), "{told:?}");
}

#[test]
fn a_new_ledger_is_its_owners_alone_whatever_the_umask() {
    for umask in ["0000", "0277", "0777", "0022", "0177"] {
        let ledger = Scratch::new();
        for args in [
            "reserve --key order:1 --fingerprint v1",
            "succeed --key order:1",
        ] {
            let script = format!(r#"umask {umask}; exec "$0" "$@""#);
            let call = ledger.command(args.split(' '));
            let told = said(&wrapped("sh", &["-c", &script], &call).output().unwrap());
            assert_eq!(told.code, 0, "umask {umask}: {told:?}");
            for name in names(&ledger.path("")) {
                assert_eq!(mode(&ledger.path(&name)), 0o600, "umask {umask}: {name}");
            }
        }
    }
}

#[test]
fn the_mode_of_a_ledger_is_kept_and_its_log_has_the_same() {
    for wanted in [0o640, 0o664, 0o600, 0o660] {
        let ledger = Scratch::with_ledger();
        for name in ["receipts.db-wal", "receipts.db-shm"] {
            fs::remove_file(ledger.path(name)).unwrap();
        }
        fs::set_permissions(ledger.path("receipts.db"), Permissions::from_mode(wanted)).unwrap();
        for call in [
            "reserve --key order:1 --fingerprint v1",
            "succeed --key order:1",
            "show --key order:1",
        ] {
            assert_eq!(ledger.run(call).code, 0);
            for name in names(&ledger.path("")) {
                assert_eq!(mode(&ledger.path(&name)), wanted, "{call}: {name}");
            }
        }
    }
}
