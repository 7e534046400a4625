//! Nobody to tell the answer to (contract 3.6): exit 2, and the ledger keeps what it decided.

use std::fs::OpenOptions;
use std::io;
use std::process::{Command, Stdio};

use super::procs::{has, wrapped};
use super::support::{Said, Scratch, said};

const RESERVE: [&str; 5] = ["reserve", "--key", "order:1", "--fingerprint", "v1"];

fn full() -> Stdio {
    OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

/// The writing end of a pipe that nobody reads from any more.
fn closed_pipe() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn kept(ledger: &Scratch) {
    ledger.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
}

fn run(command: &mut Command) -> Said {
    said(&command.output().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_written_is_an_error_and_the_decision_is_kept() {
    for stdout in [full as fn() -> Stdio, closed_pipe] {
        let ledger = Scratch::with_ledger();
        let told = run(ledger.command(RESERVE).stdout(stdout()));
        assert_eq!(told.code, 2, "{told:?}");
        assert!(told.stderr.starts_with("error[output]: "), "{told:?}");
        kept(&ledger);
        for (call, then) in [
            (
                ["succeed", "--key", "order:1"],
                "state=succeeded attempt=1 ",
            ),
            (["show", "--key", "order:1"], "state=succeeded attempt=1 "),
        ] {
            let told = run(ledger.command(call).stdout(stdout()));
            assert_eq!(told.code, 2, "{call:?} {told:?}");
            assert!(
                told.stderr.starts_with("error[output]: "),
                "{call:?} {told:?}"
            );
            let show = ledger.run("show --key order:1");
            assert!(show.stdout.starts_with(then), "{show:?}");
        }
    }
}

#[test]
fn an_answer_to_a_closed_standard_output_is_an_error_or_goes_nowhere_but_never_into_the_ledger() {
    let ledger = Scratch::with_ledger();
    for (n, closing) in [">&-", "2>&-", "<&-", ">&- 2>&- <&-"]
        .into_iter()
        .enumerate()
    {
        let script = format!(r#"exec "$0" "$@" {closing}"#);
        let key = format!("closed:{n}");
        let call = ledger.command(["reserve", "--fingerprint", "v1", "--key", &key]);
        let told = run(&mut wrapped("sh", &["-c", &script], &call));
        assert!([0, 2].contains(&told.code), "{closing}: {told:?}");
        assert!(!told.stderr.contains("panicked"), "{closing}: {told:?}");
        ledger.says(
            &format!("reserve --key {key} --fingerprint v1"),
            "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
        );
    }
    assert_eq!(super::procs::integrity(&ledger.path("receipts.db")), "ok");
}

#[test]
#[cfg(target_os = "linux")]
fn a_standard_error_that_cannot_be_written_changes_no_exit_code() {
    for stderr in [full as fn() -> Stdio, closed_pipe, Stdio::null] {
        let ledger = Scratch::new();
        // The note of the creation has nobody to go to.
        let told = run(ledger.command(RESERVE).stderr(stderr()));
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (0, "decision=EXECUTE state=reserved attempt=1\n")
        );
        let told = run(ledger
            .command(["succeed", "--key", "other"])
            .stderr(stderr()));
        assert_eq!((told.code, told.stdout.as_str()), (2, ""));
        let told = run(ledger.command(RESERVE).stdout(full()).stderr(stderr()));
        assert_eq!(told.code, 2);
        let told = run(ledger
            .command(["--help"])
            .stdout(closed_pipe())
            .stderr(stderr()));
        assert!([0, 2].contains(&told.code), "{told:?}");
    }
}

#[test]
fn an_empty_environment_and_a_closed_standard_input_are_enough() {
    let ledger = Scratch::new();
    let mut bare = ledger.command(RESERVE);
    bare.env_clear();
    let told = run(&mut bare);
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (0, "decision=EXECUTE state=reserved attempt=1\n")
    );
    if has("env", &["-i", "true"]) {
        let told = run(&mut wrapped("env", &["-i"], &ledger.command(RESERVE)));
        assert_eq!(
            (told.code, told.stdout.as_str(), told.stderr.as_str()),
            (0, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n", "")
        );
    }
    let closed = wrapped(
        "sh",
        &["-c", r#"exec "$0" "$@" <&-"#],
        &ledger.command(RESERVE),
    )
    .output();
    let told = said(&closed.unwrap());
    assert_eq!(
        (told.code, told.stdout.as_str(), told.stderr.as_str()),
        (0, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n", "")
    );
}
