//! What the tests of several subjects do: corners of the ledger's life, and processes that are cut short.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::past::{DAY, HOUR, Past, With};
use super::procs::{has, wrapped};
use super::support::{Said, Scratch, said};

/// Results that are easily lost on their way.
pub(crate) const RESULTS: &[&str] = &[
    "null",
    "false",
    "0",
    "\"\"",
    "1e5",
    "1E+05",
    "-0",
    "10000000000000000000000.10",
    r#"{"a":1,"a":2}"#,
    r#"{"b":[],"a":{}}"#,
    r#""\u0000\ud83d\ude00 é \/ \\ ' $x `id`""#,
    "[1.0,1,1.00]",
];

/// A ledger with a receipt in every corner: each state, late words, conflicts, payloads, odd results, pruned ones.
pub(crate) fn rich() -> Scratch {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 30 * DAY);
    for (number, result) in RESULTS.iter().enumerate() {
        let name = format!("result:{number}");
        past.reserve(&name);
        past.succeed(&name, 1, Some(result));
    }
    for name in ["old:succeeded", "old:failed", "old:contested", "old:again"] {
        past.reserve(name);
    }
    past.succeed("old:succeeded", 1, Some("[]"));
    for name in ["old:failed", "old:contested", "old:again"] {
        past.fail(name, 1);
    }
    past.reserve("old:contested");
    past.fail("old:contested", 2);
    past.succeed_late("old:contested", 1);
    past.close();
    assert_eq!(
        scratch.run("prune --older-than 1d --state failed").stdout,
        "pruned=3 kept_live=0\n"
    );
    let said = scratch.run("prune --older-than 1d --state succeeded --dry-run");
    assert_eq!(
        said.stdout,
        format!("pruned={} kept_live=0\n", RESULTS.len() + 1)
    );
    let mut past = Past::ago(&scratch, 2 * HOUR);
    past.record("recorded", Some("run-1"), None);
    past.record("recorded:payload", None, Some(b"\x00\xff\npayload"));
    past.record("failed:payload", None, Some(b"{}"));
    past.reserve("failed:payload");
    past.fail("failed:payload", 1);
    past.reserve_with(
        "reserved",
        With {
            run: Some("run-1"),
            amount: Some(("10.50", "EUR")),
            ..With::default()
        },
    );
    past.reserve_with(
        "reserved:leased",
        With {
            lease_ms: Some(DAY),
            ..With::default()
        },
    );
    past.reserve_with(
        "reserved:ran-out",
        With {
            lease_ms: Some(HOUR),
            ..With::default()
        },
    );
    past.reserve("unknown");
    past.unknown(
        "unknown",
        1,
        Some("a\ttab, a 'quote', a \u{202e}turn and a\nline"),
    );
    past.reserve("failed");
    past.fail("failed", 1);
    past.reserve("failed");
    past.fail("failed", 2);
    past.succeed_late("failed", 1);
    past.reserve("old:again");
    past.close();
    scratch.conflicts(
        "reserve --key unknown --fingerprint other",
        "decision=CONFLICT state=unknown attempt=1\n",
    );
    scratch.says(
        "resolve --key reserved:ran-out --as succeeded --evidence seen --result-json {}",
        "state=succeeded attempt=1\n",
    );
    scratch
}

/// Whether calls can be cut short at a syscall here.
pub(crate) fn can_inject() -> bool {
    let inject = "inject=getpid:error=EPERM";
    let can = has("strace", &["-f", "-e", inject, "true"]);
    if !can {
        eprintln!("skipped: strace cannot be used here");
    }
    can
}

/// The syscalls that change what other processes see of files.
const CHANGES: &[&str] = &[
    "write",
    "pwrite64",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "fchmod",
];

/// Most kills at one kind of syscall: a copy writes as many pages as there are.
const KILLS_A_CALL: u32 = 8;

/// Runs the command again and again, killed each time at another of its changes; `look` is told what it was killed at.
/// How often it was killed.
pub(crate) fn killed_everywhere(
    command: &mut dyn FnMut() -> Command,
    look: &mut dyn FnMut(&str),
) -> u32 {
    let mut kills = 0;
    for call in CHANGES {
        for nth in 1..=KILLS_A_CALL {
            if killed_at(&command(), call, nth).is_none() {
                look("nothing");
                break;
            }
            look(&format!("{call} number {nth}"));
            kills += 1;
        }
    }
    kills
}

/// Runs it and kills it at its `nth` such syscall, before that is done. `None` if it ended earlier.
fn killed_at(command: &Command, call: &str, nth: u32) -> Option<Said> {
    let inject = format!("inject=?{call}:error=EIO:signal=KILL:when={nth}");
    let trace = format!("trace=?{call}");
    let flags = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    let output = wrapped("strace", &flags, command).output().unwrap();
    if output.status.code().is_some() {
        assert!(output.status.success(), "{:?}", said(&output));
        return None;
    }
    Some(said(&output))
}

/// Has a process decide these keys and dies without folding its log back.
pub(crate) fn die_with_a_log(scratch: &Scratch, keys: &[&str]) {
    let mut child = scratch
        .command(["batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for key in keys {
        writeln!(
            stdin,
            r#"{{"op":"reserve","key":"{key}","fingerprint":"f"}}"#
        )
        .unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("EXECUTE"), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fs::metadata(scratch.path("receipts.db-wal")).unwrap().len() > 0);
}

/// Says it when it goes, also where an assertion failed: who waits for it would go on for ever.
pub(crate) struct AtLast<'a>(pub(crate) &'a AtomicBool);

impl Drop for AtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A file's permission bits.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Runs the binary on another ledger of the same folder.
pub(crate) fn on(scratch: &Scratch, db: &str, args: &str) -> Said {
    let mut command = super::support::binary();
    command
        .current_dir(scratch.path("."))
        .args(["--db", db])
        .args(args.split_whitespace());
    said(&command.output().unwrap())
}

/// Everything in a ledger, as `export` writes it.
pub(crate) fn exported(scratch: &Scratch, db: &str) -> String {
    let said = on(scratch, db, "export");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    said.stdout
}
