//! A scratch folder and the real binary in it: standard output, standard error and exit code are looked at together.
#![allow(dead_code, clippy::unwrap_used)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for one test, removed afterwards.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    db: String,
}

/// What one call of the binary said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// The real binary, with nothing of the ledger's in its environment.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("receipt-ledger"));
    for name in ["DB", "FORMAT", "BUSY_TIMEOUT", "NO_CREATE"] {
        command.env_remove(format!("RECEIPT_LEDGER_{name}"));
    }
    command.stdin(Stdio::null());
    command
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch::on("receipts.db")
    }

    /// A scratch folder to work in on another ledger than `receipts.db`.
    pub(crate) fn on(db: impl Into<String>) -> Scratch {
        Scratch {
            folder: tempfile::tempdir().unwrap(),
            db: db.into(),
        }
    }

    /// A scratch folder with a ledger in it, so that nothing is noted on standard error any more.
    pub(crate) fn with_ledger() -> Scratch {
        let scratch = Scratch::new();
        scratch.says("init", "created=true\n");
        scratch
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The binary, working in the scratch folder on its ledger.
    pub(crate) fn command<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = binary();
        command
            .current_dir(self.folder.path())
            .args(["--db", &self.db])
            .args(args);
        command
    }

    /// Runs the binary with arguments written as in a shell, without quoting.
    pub(crate) fn run(&self, args: &str) -> Said {
        said(&self.command(args.split_whitespace()).output().unwrap())
    }

    /// Runs the binary with arguments that may hold anything.
    pub(crate) fn run_args<S: AsRef<OsStr>>(&self, args: &[S]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// Expects this answer, exit code 0. Standard error is silent but for the note of a creation.
    pub(crate) fn says(&self, args: &str, stdout: &str) {
        let said = self.run(args);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (0, stdout),
            "{args}: {}",
            said.stderr
        );
        let silent = said.stderr.is_empty() || said.stderr.starts_with("note: created ledger /");
        assert!(silent, "{args}: {}", said.stderr);
    }

    /// Expects a conflict, exit code 3.
    pub(crate) fn conflicts(&self, args: &str, stdout: &str) {
        let said = self.run(args);
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.as_str()),
            (3, stdout, ""),
            "{args}"
        );
    }

    /// Expects no answer: exit code 2, nothing on standard output, this code on standard error.
    pub(crate) fn refuses(&self, args: &str, code: &str) -> String {
        let said = self.run(args);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (2, ""),
            "{args}: {}",
            said.stderr
        );
        let start = format!("error[{code}]: ");
        assert!(said.stderr.starts_with(&start), "{args}: {}", said.stderr);
        said.stderr
    }
}

/// What a finished process said.
pub(crate) fn said(output: &Output) -> Said {
    Said {
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}
