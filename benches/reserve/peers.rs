//! The programs that are timed: the ledger, and what it is held against.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The binary under measurement, built with the release profile's settings.
pub(crate) const OURS: &str = env!("CARGO_BIN_EXE_receipt-ledger");
/// The answer that every timed call must give.
pub(crate) const LINE: &str = "decision=EXECUTE state=reserved attempt=1";

/// `receipt-ledger reserve` of a key.
pub(crate) fn ours(db: &Path, key: &str) -> Command {
    let mut command = Command::new(OURS);
    command.arg("--db").arg(db);
    command.args(["--busy-timeout=20s", "reserve", "--fingerprint=send-v1"]);
    command.arg(format!("--key={key}"));
    command
}

/// The same transaction by Debian's shell.
pub(crate) fn shell(db: &Path, key: &str) -> Command {
    let now = "unixepoch() * 1000";
    let mut command = Command::new("sqlite3");
    command.args(["-batch", "-cmd", ".timeout 20000"]).arg(db);
    command.arg(format!(
        "PRAGMA synchronous = FULL; BEGIN IMMEDIATE; \
         SELECT fingerprint, state, attempt FROM receipt_ledger_receipt WHERE key = '{key}'; \
         INSERT INTO receipt_ledger_receipt (key, fingerprint, state, attempt, created_at_ms, updated_at_ms, \
         first_reserved_at_ms, attempt_started_at_ms, late_success, contested) \
         VALUES ('{key}', 'send-v1', 'reserved', 1, {now}, {now}, {now}, {now}, 0, 0); \
         INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt) \
         VALUES (last_insert_rowid(), 1, {now}, 'reserved', 1); \
         COMMIT; SELECT '{LINE}';"
    ));
    command
}

/// The same logic by a Python script.
pub(crate) fn python(interpreter: &Path, db: &Path, key: &str) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/reserve/peer.py");
    let mut command = Command::new(interpreter);
    command.arg(script).arg(db).arg(key);
    command
}

/// The floor: append 8 KiB, sync, print.
pub(crate) fn floor(program: &Path, file: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(file);
    command
}

/// Whether a program answers.
pub(crate) fn is_there(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    let command = command
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The real interpreter: what is on PATH may be a slow shim.
pub(crate) fn interpreter() -> Option<PathBuf> {
    let asked = Command::new("python3")
        .args(["-c", "import sys, sqlite3; print(sys.executable)"])
        .output();
    let answer = asked.ok().filter(|answer| answer.status.success())?;
    let path = String::from_utf8(answer.stdout).ok()?;
    Some(PathBuf::from(path.trim_end()))
}

/// Compiles the floor. Its binary has nothing of the ledger's in it.
pub(crate) fn compile_floor(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/reserve/floor.rs");
    let program = folder.join("floor");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let done = Command::new(rustc)
        .args(["--edition=2024", "-Copt-level=3", "-Cstrip=symbols", "-o"])
        .arg(&program)
        .arg(source)
        .status()?;
    if done.success() {
        Ok(program)
    } else {
        Err("rustc could not compile the floor".into())
    }
}
