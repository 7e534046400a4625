//! `list` and `export` as they come: in constant memory, beside writers, into readers that go away.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::bulk;
use super::procs::wrapped;
use super::support::{Scratch, said};

/// More than a pipe and every buffer hold.
const MANY: u32 = 5_000;

#[test]
fn a_reader_that_is_slow_holds_nobody_up_and_sees_one_moment() {
    for args in [["list"], ["export"]] {
        let scratch = Scratch::with_ledger();
        bulk::succeeded(&scratch, MANY, "[]");
        let mut child = scratch
            .command(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        scratch.says(
            "reserve --busy-timeout 50ms --key new --fingerprint f",
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        scratch.says(
            "prune --older-than 0s --state failed",
            "pruned=0 kept_live=0\n",
        );
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success());
        let lines = rest.lines().count() + 1;
        let around = if args == ["list"] { 0 } else { 2 };
        assert_eq!(lines, usize::try_from(MANY).unwrap() + around);
        assert!(!rest.contains("new"));
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_with_an_error() {
    let scratch = Scratch::with_ledger();
    bulk::succeeded(&scratch, MANY, "[]");
    for args in [["list"], ["export"]] {
        let mut command = scratch.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        drop(stdout);
        let said = said(&child.wait_with_output().unwrap());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.stderr.starts_with("error[output]: "), "{said:?}");
    }
    assert_eq!(
        std::fs::metadata(scratch.path("receipts.db-wal"))
            .map(|facts| facts.len())
            .unwrap_or(0),
        0
    );
}

#[test]
fn what_is_read_is_not_held_in_memory() {
    let scratch = Scratch::with_ledger();
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    bulk::succeeded(&scratch, 160, &large);
    for args in [
        vec!["list"],
        vec!["list", "--format", "json"],
        vec!["export"],
    ] {
        let limited = ["-c", "ulimit -v 98304; exec \"$0\" \"$@\""];
        let mut command = wrapped("sh", &limited, &scratch.command(&args));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let bytes = std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success(), "{args:?}");
        assert!(bytes > 160 << 20, "{args:?}: {bytes}");
    }
}
