//! Contract §2.3 to §2.5: durations, numbers, amounts and texts; what is refused is named, never repeated.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::input::refused;
use super::support::Scratch;

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
