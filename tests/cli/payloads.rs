//! Payloads and results that break other tools, each with the right value.

use super::input::fed;
use super::support::Scratch;

#[test]
fn numbers_that_would_change_are_refused_and_so_never_share_a_fingerprint() {
    let ledger = Scratch::with_ledger();
    for payload in [
        r#"{"id":18446744073709551616}"#,
        r#"{"id":18446744073709551617}"#,
        r#"{"id":9007199254740993}"#,
        r#"{"id":1e400}"#,
        r#"{"id":-1e400}"#,
        r#"{"id":0.1000000000000000055511151231257827}"#,
        r#"{"amount":1,"amount":900}"#,
        r#"{"amount":1,"\u0061mount":900}"#,
        r#"{"a":{"x":1,"x":1}}"#,
        "\u{feff}{}",
        "{} {}",
        "{}x",
        "",
        " ",
        "NaN",
        "{\"a\":NaN}",
        "Infinity",
        "{'a':1}",
        "{\"a\":1,}",
        "[1,]",
        "01",
        "+1",
        ".5",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"a\nb\"",
        "// comment\n1",
    ] {
        let said = fed(
            &ledger,
            &["reserve", "--key", "k", "--payload-json", "-"],
            payload.as_bytes(),
        );
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{payload}");
        assert!(
            said.stderr
                .starts_with("error[invalid-input]: --payload-json: "),
            "{payload}: {}",
            said.stderr
        );
        assert!(
            !said.stderr.contains("900") && !said.stderr.contains("90071"),
            "{payload}: {}",
            said.stderr
        );
    }
    for bytes in [
        &b"\"\xff\""[..],
        b"\xef\xbb\xbf{}",
        b"\"\xed\xa0\x80\"",
        b"{\"a\":\"\xc0\xaf\"}",
    ] {
        let said = fed(
            &ledger,
            &["reserve", "--key", "k", "--payload-json", "-"],
            bytes,
        );
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("", 2),
            "{bytes:?}: {}",
            said.stderr
        );
    }
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let said = fed(
        &ledger,
        &["reserve", "--key", "k", "--payload-json", "-"],
        deep(129).as_bytes(),
    );
    assert_eq!(said.code, 2, "129 deep");
    ledger.refuses("show --key k", "not-found");
    let said = fed(
        &ledger,
        &["reserve", "--key", "deep", "--payload-json", "-"],
        deep(128).as_bytes(),
    );
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "128 deep");
}

#[test]
fn every_way_to_write_the_same_json_is_the_same_content() {
    let ledger = Scratch::with_ledger();
    for (first, others) in [
        ("1", vec!["1.0", "1e0", "10e-1", " 1 ", "1.000"]),
        ("0", vec!["-0", "0.0", "-0.0", "0e9"]),
        (
            r#"{"a":1,"b":[true,null]}"#,
            vec![
                r#"{ "b" : [ true , null ] , "a" : 1 }"#,
                "{\"\\u0061\":1,\n\"b\":[true,null]}\r\n",
            ],
        ),
        (r#""/""#, vec![r#""\/""#, "\"\\u002f\""]),
        ("\"😀\"", vec!["\"\\ud83d\\ude00\""]),
    ] {
        let key = format!(
            "key-{}",
            first.len() * 1000 + first.bytes().map(usize::from).sum::<usize>()
        );
        let args = ["reserve", "--key", &key, "--payload-json", "-"];
        assert_eq!(
            fed(&ledger, &args, first.as_bytes()).stdout,
            "decision=EXECUTE state=reserved attempt=1\n",
            "{first}"
        );
        for other in others {
            let said = fed(&ledger, &args, other.as_bytes());
            assert_eq!(
                said.stdout, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
                "{first} / {other}: {}",
                said.stderr
            );
        }
        let bytes = fed(
            &ledger,
            &["reserve", "--key", &key, "--payload-file", "-"],
            first.as_bytes(),
        );
        assert_eq!(bytes.code, 3, "bytes are bound in another way than JSON");
    }
}

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

#[test]
fn a_late_failure_after_the_second_attempt_began_frees_nothing() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("fail --key k --attempt 1", "state=failed attempt=1\n");
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=RETRY state=reserved attempt=2\n",
    );
    let said = ledger.refuses("fail --key k --attempt 1", "stale-attempt");
    assert!(
        said.contains("attempt 2"),
        "the current one is named: {said}"
    );
    let said = ledger.refuses("fail --key k", "stale-attempt");
    assert!(said.contains("--attempt"), "{said}");
    ledger.says(
        "reserve --key k --fingerprint f --allow-failed-retry",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=2\n",
    );
}
