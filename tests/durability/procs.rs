//! Processes that start together, facts about files, and chance that can be repeated.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::support::{Said, said};

/// How many times as much as usual is tried: `RECEIPT_LEDGER_TEST_SCALE`, 1 if it is not set.
pub(crate) fn scale() -> u32 {
    let value = std::env::var("RECEIPT_LEDGER_TEST_SCALE").ok();
    value.and_then(|value| value.parse().ok()).unwrap_or(1)
}

/// Chance that a failing test can repeat: the seed is `RECEIPT_LEDGER_TEST_SEED`, or drawn; printed in any case.
pub(crate) fn chance(test: &str) -> fastrand::Rng {
    let given = std::env::var("RECEIPT_LEDGER_TEST_SEED").ok();
    let seed = given
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    eprintln!("{test}: RECEIPT_LEDGER_TEST_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// Tests that start many processes, or measure time, do so one after the other.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a program can be started here.
pub(crate) fn has(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The same command, started by another: `wrapped("sh", ["-c", "…"], command)` runs `sh -c … PROGRAM ARGS`.
pub(crate) fn wrapped<S: AsRef<std::ffi::OsStr>>(
    program: &str,
    args: &[S],
    inner: &Command,
) -> Command {
    let mut outer = Command::new(program);
    outer
        .args(args)
        .arg(inner.get_program())
        .args(inner.get_args());
    if let Some(folder) = inner.get_current_dir() {
        outer.current_dir(folder);
    }
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.stdin(Stdio::null());
    outer
}

/// Runs all of them at once: each is a shell that has said it is ready before any of them goes on.
pub(crate) fn together(commands: &[Command]) -> Vec<Said> {
    const READY_THEN_GO: &str = r#"echo ready; read _; exec "$0" "$@""#;
    let (gate, opener) = io::pipe().unwrap();
    let mut children = Vec::new();
    for command in commands {
        let mut shell = wrapped("sh", &["-c", READY_THEN_GO], command);
        shell
            .stdin(gate.try_clone().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        stdout.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        children.push((child, stdout));
    }
    drop(gate);
    drop(opener);
    let finish = |(child, mut stdout): (std::process::Child, BufReader<_>)| {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        Said {
            stdout: text,
            ..said(&child.wait_with_output().unwrap())
        }
    };
    children.into_iter().map(finish).collect()
}

/// How many of them said this decision.
pub(crate) fn count(all: &[Said], decision: &str) -> usize {
    let start = format!("decision={decision} ");
    all.iter()
        .filter(|said| said.stdout.starts_with(&start))
        .count()
}

/// What lies in a folder: every name with what would show a change.
pub(crate) fn listing(folder: &Path) -> BTreeMap<PathBuf, String> {
    let facts = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let what = untouched(&path);
        (PathBuf::from(path.file_name().unwrap()), what)
    };
    fs::read_dir(folder).unwrap().map(facts).collect()
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |name: PathBuf| String::from_utf8_lossy(name.as_os_str().as_bytes()).into_owned();
    listing(folder).into_keys().map(name).collect()
}

/// A file's content, times, mode, owner and links, to be compared with later.
pub(crate) fn untouched(path: &Path) -> String {
    let facts = fs::symlink_metadata(path).unwrap();
    let content = if facts.is_file() {
        use sha2::Digest;
        let digest = sha2::Sha256::digest(fs::read(path).unwrap());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    } else {
        fs::read_link(path).map_or_else(|_| String::new(), |to| to.display().to_string())
    };
    format!(
        "{content} mtime={}.{:09} mode={:o} owner={}:{} links={} inode={}",
        facts.mtime(),
        facts.mtime_nsec(),
        facts.mode(),
        facts.uid(),
        facts.gid(),
        facts.nlink(),
        facts.ino()
    )
}

/// A plain SQLite connection to a ledger's file, as any other program would have it.
pub(crate) fn plain(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    connection
}

/// SQLite's own word on the file.
pub(crate) fn integrity(path: &Path) -> String {
    let connection = plain(path);
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap()
}

/// State and attempt as `show` prints them, `None` where there is no receipt.
pub(crate) fn standing(show: &Said) -> Option<(String, u32)> {
    if show.stderr.starts_with("error[not-found]") {
        return None;
    }
    assert_eq!((show.code, show.stderr.as_str()), (0, ""), "{show:?}");
    let mut words = show.stdout.split_whitespace();
    let state = words.next()?.strip_prefix("state=")?.to_owned();
    let attempt = words.next()?.strip_prefix("attempt=")?.parse().ok()?;
    Some((state, attempt))
}
