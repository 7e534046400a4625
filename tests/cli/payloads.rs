//! Payloads that break other tools, each with the right value.

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
