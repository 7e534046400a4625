//! Files and folders that may only be read, and other users (contract 8.1, 10.7).

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::procs::{has, is_root, listing, names, plain, standing, wrapped};
use super::support::{Said, Scratch, said};

/// Nobody in particular, and somebody else.
const OWNER: u32 = 65_534;
const OTHER: u32 = 65_533;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A ledger with one receipt, its program beside it, where every user can get at both.
struct Shared {
    scratch: Scratch,
    folder: PathBuf,
    program: PathBuf,
}

impl Shared {
    /// None where the test may not become other users.
    fn new() -> Option<Shared> {
        if !cfg!(target_os = "linux")
            || !is_root()
            || !has("setpriv", &["--reuid=65534", "--clear-groups", "true"])
        {
            eprintln!("skipped: only root may become another user");
            return None;
        }
        let scratch = Scratch::new();
        let (folder, program) = (scratch.path("ledger"), scratch.path("program"));
        set_mode(&scratch.path(""), 0o755);
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(OWNER), Some(OWNER)).unwrap();
        // Copied by somebody else: a file that this process has open for writing cannot be started.
        let copied = Command::new("cp")
            .arg(super::support::binary().get_program())
            .arg(&program)
            .status();
        assert!(copied.unwrap().success());
        set_mode(&program, 0o755);
        let shared = Shared {
            scratch,
            folder,
            program,
        };
        let said = shared.call(OWNER, "reserve --key order:1 --fingerprint v1");
        assert_eq!(
            said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
            "{said:?}"
        );
        Some(shared)
    }

    fn db(&self) -> PathBuf {
        self.folder.join("receipts.db")
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        for name in ["DB", "FORMAT", "BUSY_TIMEOUT", "NO_CREATE"] {
            command.env_remove(format!("RECEIPT_LEDGER_{name}"));
        }
        command
            .current_dir(self.scratch.path(""))
            .args(["--db", "ledger/receipts.db"]);
        command.args(args.split(' '));
        command
    }

    fn call(&self, user: u32, args: &str) -> Said {
        let command = self.command(args);
        if user == 0 {
            return said(&wrapped("env", &[] as &[&str], &command).output().unwrap());
        }
        let flags = [
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".to_owned(),
        ];
        said(&wrapped("setpriv", &flags, &command).output().unwrap())
    }

    /// Takes away the log and its index, which are empty at rest.
    fn without_sidecars(&self) {
        for ending in ["-wal", "-shm"] {
            let path = self.folder.join(format!("receipts.db{ending}"));
            if path.exists() {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Leaves a decision in the log alone, as a kill does.
    fn with_content_in_the_log(&self) {
        let open = plain(&self.db());
        open.query_row(
            "SELECT count(*) FROM receipt_ledger_receipt",
            [],
            |_| Ok(()),
        )
        .unwrap();
        let said = self.call(OWNER, "reserve --key logged --fingerprint v1");
        assert_eq!(
            said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
            "{said:?}"
        );
        let kept = self.scratch.path("kept-wal");
        fs::copy(self.folder.join("receipts.db-wal"), &kept).unwrap();
        fs::copy(self.db(), self.scratch.path("kept-db")).unwrap();
        open.close().unwrap();
        fs::copy(self.scratch.path("kept-db"), self.db()).unwrap();
        let log = self.folder.join("receipts.db-wal");
        fs::copy(kept, &log).unwrap();
        chown(&log, Some(OWNER), Some(OWNER)).unwrap();
    }

    fn shows_truthfully(&self, user: u32, when: &str) {
        let show = self.call(user, "show --key order:1");
        assert_eq!(
            standing(&show),
            Some(("reserved".to_owned(), 1)),
            "{when}: {show:?}"
        );
        assert_eq!(
            standing(&self.call(user, "show --key nothing")),
            None,
            "{when}"
        );
    }

    /// Deciding is an error, a conflict is still a conflict.
    fn cannot_be_written(&self, user: u32, when: &str) {
        for args in [
            "reserve --key order:2 --fingerprint v1",
            "reserve --key order:1 --fingerprint v1",
            "succeed --key order:1",
        ] {
            let said = self.call(user, args);
            assert_eq!(
                (said.code, said.stdout.as_str()),
                (2, ""),
                "{when}: {args}: {said:?}"
            );
            assert!(
                said.stderr.starts_with("error[io]: "),
                "{when}: {args}: {said:?}"
            );
        }
        let said = self.call(user, "reserve --key order:1 --fingerprint other");
        let conflict = (3, "decision=CONFLICT state=reserved attempt=1\n");
        assert_eq!(
            (said.code, said.stdout.as_str()),
            conflict,
            "{when}: {said:?}"
        );
    }

    fn goes_on(&self, when: &str) {
        let said = self.call(OWNER, "reserve --key order:9 --fingerprint v1");
        assert_eq!(
            said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
            "{when}: {said:?}"
        );
    }
}

#[test]
fn a_file_that_may_only_be_read_shows_and_refuses_to_decide() {
    for sidecars in [true, false] {
        let Some(shared) = Shared::new() else { return };
        let when = format!("read-only file, log and index there: {sidecars}");
        if !sidecars {
            shared.without_sidecars();
        }
        for name in names(&shared.folder) {
            set_mode(&shared.folder.join(name), 0o444);
        }
        for user in [OWNER, OTHER] {
            shared.shows_truthfully(user, &when);
            shared.cannot_be_written(user, &when);
        }
        for name in names(&shared.folder) {
            set_mode(&shared.folder.join(name), 0o600);
        }
        shared.goes_on(&when);
    }
}

#[test]
fn a_folder_that_may_only_be_read_shows_and_refuses_what_it_cannot_write() {
    for sidecars in [true, false] {
        let Some(shared) = Shared::new() else { return };
        let when = format!("read-only folder, log and index there: {sidecars}");
        if !sidecars {
            shared.without_sidecars();
        }
        for name in names(&shared.folder) {
            set_mode(&shared.folder.join(name), 0o644);
        }
        set_mode(&shared.folder, 0o555);
        let before = names(&shared.folder);
        shared.shows_truthfully(OWNER, &when);
        shared.shows_truthfully(OTHER, &when);
        shared.cannot_be_written(OTHER, &when);
        if !sidecars {
            shared.cannot_be_written(OWNER, &when);
        }
        assert_eq!(names(&shared.folder), before, "{when}");
        set_mode(&shared.folder, 0o755);
        shared.goes_on(&when);
    }
}

#[test]
fn a_log_whose_content_cannot_be_read_is_not_passed_over() {
    let Some(shared) = Shared::new() else { return };
    shared.with_content_in_the_log();
    let log = shared.folder.join("receipts.db-wal");
    set_mode(&shared.db(), 0o644);
    set_mode(&log, 0o600);
    let shm = shared.folder.join("receipts.db-shm");
    for index_there in [true, false] {
        if !index_there && shm.exists() {
            fs::remove_file(&shm).unwrap();
        }
        for args in [
            "show --key order:1",
            "show --key logged",
            "reserve --key logged --fingerprint v1",
            "reserve --key order:1 --fingerprint other",
        ] {
            let said = shared.call(OTHER, args);
            assert_eq!(
                (said.code, said.stdout.as_str()),
                (2, ""),
                "{args}: {said:?}"
            );
            assert!(said.stderr.starts_with("error[io]: "), "{args}: {said:?}");
        }
    }
    // Where it can be read, but nothing written, it is read or refused, never passed over.
    set_mode(&log, 0o644);
    let said = shared.call(OTHER, "show --key logged");
    let answered = said.stdout.starts_with("state=reserved attempt=1 ");
    assert!(
        answered || said.stderr.starts_with("error[io]: "),
        "{said:?}"
    );
    let said = shared.call(OWNER, "show --key logged");
    assert_eq!(standing(&said), Some(("reserved".to_owned(), 1)));
}

#[test]
fn somebody_elses_look_leaves_nothing_that_the_owner_could_not_write() {
    for (sidecars, user) in [(true, OTHER), (false, OTHER), (true, 0), (false, 0)] {
        let Some(shared) = Shared::new() else { return };
        let when = format!("user {user}, log and index there: {sidecars}");
        if !sidecars {
            shared.without_sidecars();
        }
        for name in names(&shared.folder) {
            set_mode(&shared.folder.join(name), 0o644);
        }
        set_mode(&shared.folder, 0o777);
        let before = listing(&shared.folder);
        shared.shows_truthfully(user, &when);
        for name in names(&shared.folder) {
            let facts = fs::metadata(shared.folder.join(&name)).unwrap();
            assert_eq!((facts.uid(), facts.gid()), (OWNER, OWNER), "{when}: {name}");
        }
        if user == OTHER {
            let after: Vec<PathBuf> = listing(&shared.folder).into_keys().collect();
            assert_eq!(after, before.into_keys().collect::<Vec<_>>(), "{when}");
        }
        shared.goes_on(&when);
        shared.shows_truthfully(OWNER, &when);
    }
}

#[test]
fn roots_decisions_in_somebodys_ledger_leave_it_to_its_owner() {
    let Some(shared) = Shared::new() else { return };
    shared.without_sidecars();
    let said = shared.call(0, "reserve --key order:2 --fingerprint v1");
    assert_eq!(
        said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
        "{said:?}"
    );
    for name in names(&shared.folder) {
        let facts = fs::metadata(shared.folder.join(&name)).unwrap();
        assert_eq!((facts.uid(), facts.gid()), (OWNER, OWNER), "{name}");
    }
    shared.goes_on("after root");
}

#[test]
fn a_ledger_that_may_not_be_read_at_all_is_an_error() {
    let Some(shared) = Shared::new() else { return };
    for args in [
        "show --key order:1",
        "reserve --key order:1 --fingerprint v1",
        "succeed --key order:1",
    ] {
        let said = shared.call(OTHER, args);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (2, ""),
            "{args}: {said:?}"
        );
        assert!(said.stderr.starts_with("error[io]: "), "{args}: {said:?}");
    }
    set_mode(&shared.folder, 0o700);
    let said = shared.call(OTHER, "reserve --key order:1 --fingerprint v1");
    assert!(
        said.code == 2 && said.stderr.starts_with("error[io]: "),
        "{said:?}"
    );
}
