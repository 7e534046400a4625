//! Results that break other tools, each with the right value.

use super::input::fed;
use super::support::Scratch;

#[test]
fn any_json_value_is_a_result_and_succeeded_is_succeeded() {
    let ledger = Scratch::with_ledger();
    for (index, result) in [
        "null",
        "0",
        "false",
        "\"\"",
        "[]",
        "{}",
        "-0",
        "1.0",
        "1e400",
        "18446744073709551617",
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k{index}");
        ledger.says(
            &format!("reserve --key {key} --fingerprint f"),
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        for _ in 0..2 {
            ledger.says(
                &format!("succeed --key {key} --result-json {result}"),
                "state=succeeded attempt=1\n",
            );
        }
        ledger.says(
            &format!("succeed --key {key}"),
            "state=succeeded attempt=1\n",
        );
        ledger.refuses(
            &format!("succeed --key {key} --result-json [\"another\"]"),
            "invalid-transition",
        );
        ledger.says(
            &format!(
                "reserve --key {key} --fingerprint f --allow-failed-retry --retry-unknown-within 1h"
            ),
            "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
        );
        let json = ledger
            .run(&format!("show --key {key} --format json"))
            .stdout;
        assert!(
            json.ends_with(&format!("\"result\":{result}}}\n")),
            "literals are kept: {json}"
        );
    }
}

#[test]
fn a_result_keeps_number_literals_and_the_order_of_names_but_not_white_space() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let said = ledger.run_args(&[
        "succeed",
        "--key",
        "k",
        "--result-json",
        "{ \"b\" : 1.50 ,\n\t\"a\" : \" x  y \" }",
    ]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let json = ledger.run("show --key k --format json").stdout;
    assert!(
        json.ends_with("\"result\":{\"b\":1.50,\"a\":\" x  y \"}}\n"),
        "{json}"
    );
}

#[test]
fn a_long_result_comes_through_standard_input_up_to_a_mebibyte() {
    let ledger = Scratch::with_ledger();
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    for (key, result) in [("a", text(200_000)), ("b", text(1024 * 1024))] {
        ledger.says(
            &format!("reserve --key {key} --fingerprint f"),
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        let said = fed(
            &ledger,
            &["succeed", "--key", key, "--result-file", "-"],
            result.as_bytes(),
        );
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("state=succeeded attempt=1\n", "", 0)
        );
        let shown = ledger.run(&format!("show --key {key}")).stdout;
        assert!(shown.ends_with(&format!(" result='{result}'\n")), "{key}");
    }
    ledger.says(
        "reserve --key c --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let said = fed(
        &ledger,
        &["succeed", "--key", "c", "--result-file", "-"],
        text(1024 * 1024 + 1).as_bytes(),
    );
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(
        said.stderr
            .starts_with("error[invalid-input]: --result-file: "),
        "{}",
        &said.stderr[..200.min(said.stderr.len())]
    );
    assert!(said.stderr.len() < 300, "no result is printed");
    assert!(
        ledger
            .run("show --key c")
            .stdout
            .starts_with("state=reserved ")
    );
}

#[test]
fn what_is_no_json_is_no_result() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    for result in [
        "",
        " ",
        "s3cret",
        "{s3cret}",
        "{\"a\":s3cret}",
        "1 2",
        "\"s3cret",
        "\u{feff}1",
        "'s3cret'",
        "[1,]",
    ] {
        let said = ledger.run_args(&["succeed", "--key", "k", &format!("--result-json={result}")]);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{result}");
        assert!(
            said.stderr
                .starts_with("error[invalid-input]: --result-json"),
            "{result}: {}",
            said.stderr
        );
        assert!(!said.stderr.contains("s3cret"), "{}", said.stderr);
    }
    let said = fed(
        &ledger,
        &["succeed", "--key", "k", "--result-file", "-"],
        b"",
    );
    assert_eq!(said.code, 2, "an empty file is no JSON value");
    assert!(
        ledger
            .run("show --key k")
            .stdout
            .starts_with("state=reserved ")
    );
}
