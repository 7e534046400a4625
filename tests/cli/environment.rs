//! Contract §2.7: the environment, flags before it, neither ever empty.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use super::support::{Said, Scratch, binary, said};

fn with(ledger: &Scratch, variables: &[(&str, &str)], args: &str) -> Said {
    let mut command: Command = binary();
    command
        .current_dir(ledger.path(""))
        .args(args.split_whitespace());
    for (name, value) in variables {
        command.env(format!("RECEIPT_LEDGER_{name}"), value);
    }
    said(&command.output().unwrap())
}

#[test]
fn the_ledger_can_come_from_the_environment_and_the_flag_wins() {
    let ledger = Scratch::with_ledger();
    let first = with(
        &ledger,
        &[("DB", "receipts.db")],
        "reserve --key k --fingerprint f",
    );
    assert_eq!(
        (first.stdout.as_str(), first.stderr.as_str(), first.code),
        ("decision=EXECUTE state=reserved attempt=1\n", "", 0)
    );
    let flag = with(
        &ledger,
        &[("DB", "/nowhere/at/all.db")],
        "--db receipts.db reserve --key k --fingerprint f",
    );
    assert_eq!(
        flag.stdout,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
    );
    let behind = with(
        &ledger,
        &[("DB", "/nowhere/at/all.db")],
        "reserve --key k --fingerprint f --db receipts.db",
    );
    assert_eq!(
        behind.stdout,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
    );
}

#[test]
fn without_a_ledger_named_nothing_is_guessed() {
    let ledger = Scratch::new();
    let said = with(&ledger, &[], "reserve --key k --fingerprint f");
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(said.stderr.starts_with("error[usage]: "), "{}", said.stderr);
    assert!(
        said.stderr.contains("hint: ") && said.stderr.contains("--db"),
        "{}",
        said.stderr
    );
    assert_eq!(std::fs::read_dir(ledger.path("")).unwrap().count(), 0);
}

#[test]
fn what_is_set_but_empty_is_invalid_and_touches_nothing() {
    for name in ["DB", "FORMAT", "BUSY_TIMEOUT", "NO_CREATE"] {
        let ledger = Scratch::new();
        let variables = [("DB", "receipts.db"), (name, "")];
        let said = with(&ledger, &variables, "reserve --key k --fingerprint f");
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{name}");
        assert!(
            said.stderr
                .starts_with(&format!("error[invalid-input]: RECEIPT_LEDGER_{name} ")),
            "{}",
            said.stderr
        );
        assert_eq!(
            std::fs::read_dir(ledger.path("")).unwrap().count(),
            0,
            "{name}"
        );
    }
    for flag in ["--db=", "--format=", "--busy-timeout="] {
        let ledger = Scratch::new();
        let said = with(
            &ledger,
            &[("DB", "receipts.db")],
            &format!("reserve --key k --fingerprint f {flag}"),
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{flag}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{flag}: {}",
            said.stderr
        );
        assert_eq!(
            std::fs::read_dir(ledger.path("")).unwrap().count(),
            0,
            "{flag}"
        );
    }
    let ledger = Scratch::new();
    let mut command = binary();
    command.current_dir(ledger.path("")).args([
        "--db",
        "",
        "reserve",
        "--key",
        "k",
        "--fingerprint",
        "f",
    ]);
    let said = said(&command.output().unwrap());
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(
        said.stderr
            .starts_with("error[invalid-input]: --db: is empty"),
        "{}",
        said.stderr
    );
}

#[test]
fn no_create_is_1_and_nothing_else() {
    for (value, code) in [
        ("1", "no-ledger"),
        ("0", "invalid-input"),
        ("true", "invalid-input"),
        ("yes", "invalid-input"),
        (" 1", "invalid-input"),
        ("", "invalid-input"),
    ] {
        let ledger = Scratch::new();
        let said = with(
            &ledger,
            &[("DB", "receipts.db"), ("NO_CREATE", value)],
            "reserve --key k --fingerprint f",
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{value:?}");
        assert!(
            said.stderr.starts_with(&format!("error[{code}]: ")),
            "{value:?}: {}",
            said.stderr
        );
        assert_eq!(
            std::fs::read_dir(ledger.path("")).unwrap().count(),
            0,
            "{value:?}"
        );
    }
    let ledger = Scratch::with_ledger();
    let said = with(
        &ledger,
        &[("DB", "receipts.db"), ("NO_CREATE", "1")],
        "reserve --key k --fingerprint f",
    );
    assert_eq!(
        said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
        "one that is there is used"
    );
    let ledger = Scratch::new();
    let said = with(
        &ledger,
        &[("DB", "receipts.db"), ("NO_CREATE", "1")],
        "init",
    );
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("created=true\n", 0),
        "init creates all the same: {}",
        said.stderr
    );
    let ledger = Scratch::new();
    ledger.refuses("--no-create reserve --key k --fingerprint f", "no-ledger");
    ledger.refuses("reserve --key k --fingerprint f --no-create", "no-ledger");
}

#[test]
fn the_format_and_the_busy_timeout_can_come_from_the_environment() {
    let ledger = Scratch::with_ledger();
    let json = with(
        &ledger,
        &[("DB", "receipts.db"), ("FORMAT", "json")],
        "reserve --key k --fingerprint f",
    );
    assert!(json.stdout.starts_with("{\"key\":\"k\""), "{}", json.stdout);
    let flag = with(
        &ledger,
        &[("DB", "receipts.db"), ("FORMAT", "json")],
        "reserve --key k --fingerprint f --format text",
    );
    assert_eq!(
        flag.stdout,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
    );
    for (name, value) in [
        ("FORMAT", "xml"),
        ("FORMAT", "JSON"),
        ("BUSY_TIMEOUT", "5"),
        ("BUSY_TIMEOUT", "-1s"),
    ] {
        let said = with(
            &ledger,
            &[("DB", "receipts.db"), (name, value)],
            "reserve --key new --fingerprint f",
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{name}={value}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{name}={value}: {}",
            said.stderr
        );
    }
    let holder = rusqlite::Connection::open(ledger.path("receipts.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    for args in ["reserve --key busy --fingerprint f", "succeed --key k"] {
        let said = with(
            &ledger,
            &[("DB", "receipts.db"), ("BUSY_TIMEOUT", "20ms")],
            args,
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2));
        assert!(
            said.stderr.starts_with("error[busy]: ") && said.stderr.contains("20 ms"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn what_is_no_utf_8_in_the_environment_or_on_the_line_is_an_error_never_a_panic() {
    let ledger = Scratch::with_ledger();
    let bad = OsString::from_vec(b"a\xffb".to_vec());
    for name in ["FORMAT", "BUSY_TIMEOUT", "NO_CREATE"] {
        let mut command = ledger.command(["reserve", "--key", "k", "--fingerprint", "f"]);
        let said = said(
            &command
                .env(format!("RECEIPT_LEDGER_{name}"), &bad)
                .output()
                .unwrap(),
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{name}");
        assert!(
            said.stderr.starts_with("error[invalid-input]: "),
            "{name}: {}",
            said.stderr
        );
    }
    for flag in [
        "--format",
        "--busy-timeout",
        "--lease",
        "--attempt",
        "--amount",
        "--reason",
        "--as",
        "--no-such-flag",
    ] {
        for verb in ["reserve", "fail", "resolve"] {
            let args: [&OsStr; 4] = [verb.as_ref(), "--key=k".as_ref(), flag.as_ref(), &bad];
            let said = ledger.run_args(&args);
            assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{verb} {flag}");
            assert!(
                said.stderr.starts_with("error["),
                "{verb} {flag}: {}",
                said.stderr
            );
        }
    }
    let said = ledger.run_args(&[&bad]);
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(said.stderr.starts_with("error["), "{}", said.stderr);
}
