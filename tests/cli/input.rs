//! Contract §2.1 to §2.6: what is taken as input, and how what is not is named.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use super::support::{Said, Scratch, said};

fn refused(said: &Said, code: &str, says: &[&str], case: &str) {
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
fn durations_have_units_and_zero_only_where_it_means_something() {
    let ledger = Scratch::with_ledger();
    for (flag, zero) in [
        ("--lease", false),
        ("--retry-unknown-within", false),
        ("--wait", true),
        ("--busy-timeout", true),
    ] {
        for wrong in [
            "",
            "5",
            "-5s",
            "+5s",
            "5 s",
            "5S",
            "1.5h",
            "s",
            "1y",
            "18446744073709551615s",
            "99999999999999999999d",
            "1h30",
            "inf",
        ] {
            let said = ledger.run_args(&[
                "reserve",
                "--key",
                "k",
                "--fingerprint",
                "f",
                &format!("{flag}={wrong}"),
            ]);
            refused(&said, "invalid-input", &[flag], &format!("{flag}={wrong}"));
        }
        for (index, zeros) in ["0s", "0ms", "0h0m"].into_iter().enumerate() {
            let key = format!("zero{flag}{index}");
            let said = ledger.run_args(&[
                "reserve",
                "--key",
                &key,
                "--fingerprint",
                "f",
                &format!("{flag}={zeros}"),
            ]);
            if zero {
                assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{flag}={zeros}");
            } else {
                refused(
                    &said,
                    "invalid-input",
                    &[flag, "zero"],
                    &format!("{flag}={zeros}"),
                );
            }
        }
        for right in ["500ms", "30s", "5m", "24h", "7d", "2w", "1h30m"] {
            let key = format!("right{flag}{right}");
            let said = ledger.run_args(&[
                "reserve",
                "--key",
                &key,
                "--fingerprint",
                "f",
                &format!("{flag}={right}"),
            ]);
            assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{flag}={right}");
        }
    }
    for lease in ["0s", "5", "18446744073709551615s"] {
        ledger.refuses(
            &format!("renew --key k --attempt 1 --lease {lease}"),
            "invalid-input",
        );
    }
}

#[test]
fn numbers_are_whole_and_positive() {
    let ledger = Scratch::with_ledger();
    for wrong in [
        "0",
        "-1",
        "1.0",
        "",
        " 1",
        "+1",
        "1e3",
        "x",
        "4294967296",
        "99999999999999999999",
    ] {
        for args in [
            vec![
                "reserve",
                "--key",
                "k",
                "--fingerprint",
                "f",
                "--max-attempts",
            ],
            vec!["succeed", "--key", "k", "--attempt"],
            vec!["renew", "--key", "k", "--lease=1s", "--attempt"],
        ] {
            let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            let flag = args.pop().unwrap();
            args.push(format!("{flag}={wrong}"));
            refused(
                &ledger.run_args(&args),
                "invalid-input",
                &[&flag],
                &format!("{args:?}"),
            );
        }
    }
}

#[test]
fn an_amount_is_an_exact_decimal_with_its_currency() {
    let ledger = Scratch::with_ledger();
    for (amount, currency) in [
        ("1e3", "EUR"),
        ("1,5", "EUR"),
        ("", "EUR"),
        ("NaN", "EUR"),
        ("1", "eur"),
        ("1", ""),
        ("1", "EU"),
        (".5", "EUR"),
    ] {
        let args = [
            "reserve",
            "--key=k",
            "--fingerprint=f",
            &format!("--amount={amount}"),
            &format!("--currency={currency}"),
        ];
        refused(
            &ledger.run_args(&args),
            "invalid-input",
            &[],
            &format!("{amount} {currency}"),
        );
    }
    ledger.refuses("reserve --key k --fingerprint f --amount 1", "usage");
    ledger.refuses("reserve --key k --fingerprint f --currency EUR", "usage");
}

#[test]
fn a_reason_is_utf_8_of_at_most_4_kib_and_never_empty() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let said = ledger.run_args(&[
        OsString::from("fail"),
        "--key=k".into(),
        "--reason".into(),
        OsString::from_vec(b"a\xffb".to_vec()),
    ]);
    refused(&said, "invalid-input", &["--reason"], "not UTF-8");
    let said = ledger.run_args(&["fail", "--key=k", &format!("--reason={}", "x".repeat(4097))]);
    refused(&said, "invalid-input", &["--reason", "4097"], "too long");
    assert!(!said.stderr.contains("xxxx"), "{}", said.stderr);
    refused(
        &ledger.run_args(&["fail", "--key=k", "--reason="]),
        "invalid-input",
        &["--reason"],
        "empty",
    );
    ledger.says(
        &format!("fail --key k --reason {}", "x".repeat(4096)),
        "state=failed attempt=1\n",
    );
}

#[test]
fn no_word_of_a_result_is_printed_in_an_error() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    for args in [
        // An unquoted variable falls apart into words.
        vec![
            "succeed",
            "--key",
            "k",
            "--result-json",
            r#"{"a":"#,
            r#""s3cret"}"#,
        ],
        vec!["succeed", "--key", "k", r#"{"a":"s3cret"}"#],
        vec!["succeed", "--key", "k", "--result-json", r#"{"a":"s3cret""#],
        vec![
            "succeed",
            "--key",
            "k",
            "--result-json",
            r#"{"a":1} s3cret"#,
        ],
        vec!["succeed", "--key", "k", "--result-json", "s3cret"],
        vec!["succeed", "--key", "k", r#"--resultjson={"a":"s3cret"}"#],
        vec![
            "succeed",
            "--key",
            "k",
            r#"--result={"a":"s3cret"}"#,
            "--result-json=1",
        ],
        vec!["fail", "--key", "k", "--reason", "a", "s3cret"],
        vec!["unknown", "--key", "k", "--reason", "a", "--", "s3cret"],
        vec![
            "resolve",
            "--key",
            "k",
            "--as",
            "failed",
            "--evidence",
            "the",
            "s3cret",
        ],
        vec!["resolve", "--key", "k", "--as", "s3cret", "--evidence", "e"],
        vec!["succeed", "--key", "k", "--attempt", "s3cret"],
        vec![
            "reserve",
            "--key",
            "k",
            "--fingerprint",
            "f",
            "--allow-failed-retry=s3cret",
        ],
        vec!["show", "--key", "k", "s3cret"],
    ] {
        let said = ledger.run_args(&args);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{args:?}");
        assert!(!said.stderr.contains("s3cret"), "{args:?}: {}", said.stderr);
        let json = ledger.run_args(&[&args[..], &["--format=json"][..]].concat());
        assert!(!json.stderr.contains("s3cret"), "{args:?}: {}", json.stderr);
    }
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
