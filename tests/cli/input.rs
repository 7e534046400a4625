//! Contract §2.1, §2.2, §2.6 and §2.8: names, contents, flags and standard input, and how what is refused is named.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use super::support::{Said, Scratch, said};

pub(super) fn refused(said: &Said, code: &str, says: &[&str], case: &str) {
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("", 2),
        "{case}: {}",
        said.stderr
    );
    assert!(
        said.stderr.starts_with(&format!("error[{code}]: ")),
        "{case}: {}",
        said.stderr
    );
    for part in says {
        assert!(
            said.stderr.contains(part),
            "{case}: {part:?} not in {}",
            said.stderr
        );
    }
}

/// Runs with these bytes on standard input.
pub(super) fn fed(ledger: &Scratch, args: &[&str], input: &[u8]) -> Said {
    let mut command = ledger.command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that does not read to the end closes its side; what it says is what counts.
    let _ = child.stdin.take().unwrap().write_all(input);
    said(&child.wait_with_output().unwrap())
}

#[test]
fn names_are_visible_ascii_and_a_refusal_names_flag_position_and_byte_never_the_value() {
    let ledger = Scratch::with_ledger();
    let long = "s3cret".repeat(50);
    for flag in ["--key", "--fingerprint", "--owner", "--run"] {
        for (value, says) in [
            (b"".to_vec(), "is empty"),
            (b" ".to_vec(), "byte 1 is 0x20"),
            (b"s3cret ".to_vec(), "byte 7 is 0x20"),
            (b" s3cret".to_vec(), "byte 1 is 0x20"),
            (b"s3cret\r".to_vec(), "byte 7 is 0x0d"),
            (b"s3cret\n".to_vec(), "byte 7 is 0x0a"),
            (b"s3\tcret".to_vec(), "byte 3 is 0x09"),
            (b"s3cret\x7f".to_vec(), "byte 7 is 0x7f"),
            (b"s3cret\x1b[2J".to_vec(), "byte 7 is 0x1b"),
            ("s3cretä".as_bytes().to_vec(), "byte 7 is 0xc3"),
            (b"s3cret\xff".to_vec(), "byte 7 is 0xff"),
            (long.clone().into_bytes(), "is 300 bytes long"),
        ] {
            let mut args: Vec<OsString> = vec!["reserve".into()];
            for other in ["--key", "--fingerprint"] {
                if other != flag {
                    args.push(format!("{other}=k").into());
                }
            }
            args.push(flag.into());
            args.push(OsString::from_vec(value.clone()));
            let said = ledger.run_args(&args);
            let case = format!("{flag} {value:?}");
            refused(&said, "invalid-input", &[flag, says], &case);
            assert!(!said.stderr.contains("s3cret"), "{case}: {}", said.stderr);
        }
    }
    ledger.refuses("show --key k", "not-found");
}

#[test]
fn names_of_255_bytes_and_names_that_begin_with_a_dash_are_taken() {
    let ledger = Scratch::with_ledger();
    let long = "k".repeat(255);
    ledger.says(
        &format!("reserve --key {long} --fingerprint {long}"),
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        "reserve --key=-k --fingerprint=--f --owner=-o --run=-r",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        "reserve --key=--help --fingerprint=-V",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        "reserve --key== --fingerprint==",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("fail --key=-k --reason=-x", "state=failed attempt=1\n");
    ledger.says(
        "succeed --key=--help --result-json=-1",
        "state=succeeded attempt=1\n",
    );
    assert!(
        ledger
            .run("show --key=-k")
            .stdout
            .contains(" key=-k fingerprint=--f owner=-o run=-r ")
    );
}

#[test]
fn upper_and_lower_case_are_different_names() {
    let ledger = Scratch::with_ledger();
    for key in ["k", "K"] {
        ledger.says(
            &format!("reserve --key {key} --fingerprint f"),
            "decision=EXECUTE state=reserved attempt=1\n",
        );
    }
    ledger.conflicts(
        "reserve --key k --fingerprint F",
        "decision=CONFLICT state=reserved attempt=1\n",
    );
}

#[test]
fn exactly_one_of_the_three_contents_is_needed() {
    let ledger = Scratch::with_ledger();
    for args in [
        "reserve --key k",
        "reserve --key k --fingerprint f --payload-file p",
        "reserve --key k --fingerprint f --payload-json p",
        "reserve --key k --payload-file p --payload-json p",
        "resolve --key k --as succeeded --evidence e --fingerprint f --payload-file p",
        "succeed --key k --result-json 1 --result-file p",
    ] {
        ledger.refuses(args, "usage");
    }
}

#[test]
fn a_flag_given_twice_is_an_error_wherever_it_stands() {
    let ledger = Scratch::with_ledger();
    for args in [
        "reserve --key k --key k --fingerprint f",
        "reserve --key k --fingerprint f --fingerprint f",
        "reserve --key k --fingerprint f --lease 1s --lease 1s",
        "reserve --key k --fingerprint f --allow-failed-retry --allow-failed-retry",
        "reserve --key k --fingerprint f --db receipts.db",
        "--db receipts.db reserve --key k --fingerprint f",
        "reserve --key k --fingerprint f --format text --format text",
        "--format text reserve --key k --fingerprint f --format text",
        "--busy-timeout 1s reserve --key k --fingerprint f --busy-timeout 1s",
        "--no-create reserve --key k --fingerprint f --no-create",
        "succeed --key k --result-json 1 --result-json 1",
        "show --key k --history --history",
    ] {
        ledger.refuses(args, "usage");
    }
    ledger.refuses("show --key k", "not-found");
}

#[test]
fn standard_input_is_read_only_where_a_dash_was_given() {
    let ledger = Scratch::with_ledger();
    let whole = fed(
        &ledger,
        &["reserve", "--key", "k", "--payload-file", "-"],
        b"abc",
    );
    assert_eq!(whole.stdout, "decision=EXECUTE state=reserved attempt=1\n");
    let sha = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert!(ledger.run("show --key k").stdout.contains(sha));
    let json = fed(
        &ledger,
        &["reserve", "--key", "j", "--payload-json", "-"],
        b" {\"b\" : 1.0, \"a\":\"\\u0061\"} ",
    );
    assert_eq!(json.stdout, "decision=EXECUTE state=reserved attempt=1\n");
    let same = fed(
        &ledger,
        &["reserve", "--key", "j", "--payload-json", "-"],
        b"{\"a\":\"a\",\"b\":1}",
    );
    assert_eq!(
        same.stdout,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
    );
    let empty = fed(
        &ledger,
        &["reserve", "--key", "e", "--payload-file", "-"],
        b"",
    );
    assert_eq!(empty.code, 0, "no bytes are bytes, too: {}", empty.stderr);
    let args = [
        "resolve",
        "--key",
        "k",
        "--as",
        "succeeded",
        "--evidence",
        "e",
        "--payload-file",
        "-",
        "--result-file",
        "-",
    ];
    refused(
        &fed(&ledger, &args, b"abc"),
        "usage",
        &["standard input"],
        "two readers",
    );
    std::fs::write(ledger.path("p"), "abc").unwrap();
    let mut unread = ledger.command(["reserve", "--key", "u", "--payload-file", "p"]);
    let mut child = unread
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open and empty: one that read it would never end.
    let pipe = child.stdin.take().unwrap();
    let said = said(&child.wait_with_output().unwrap());
    drop(pipe);
    assert_eq!(said.stdout, "decision=EXECUTE state=reserved attempt=1\n");
}

#[test]
fn a_payload_that_cannot_be_read_is_an_error_that_names_its_absolute_path_and_reserves_nothing() {
    let ledger = Scratch::with_ledger();
    for flag in ["--payload-file", "--payload-json"] {
        let said = ledger.run(&format!("reserve --key k {flag} missing"));
        refused(
            &said,
            "io",
            &[flag, ledger.path("missing").to_str().unwrap()],
            flag,
        );
        refused(
            &ledger.run(&format!("reserve --key k {flag} .")),
            "io",
            &[flag],
            flag,
        );
        refused(
            &ledger.run(&format!("reserve --key k {flag}=")),
            "invalid-input",
            &[flag, "empty"],
            flag,
        );
    }
    ledger.refuses("show --key k", "not-found");
}
