//! Bad lines: one error object each, and nothing of it touches a neighbour (contract 7.4).

use super::support::Scratch;
use super::talk::{Answers, batch, reserve};

const MIB: usize = 1024 * 1024;

/// Puts a line between two good ones and expects that it alone gets an error.
fn hurts_no_other(bad: &[u8]) -> Answers {
    let ledger = Scratch::with_ledger();
    let input = [
        reserve("before").as_bytes(),
        bad,
        b"\n",
        reserve("after").as_bytes(),
    ]
    .concat();
    let said = batch(&ledger, input);
    let shown = String::from_utf8_lossy(&bad[..bad.len().min(100)]).into_owned();
    assert_eq!(
        said.words(),
        ["EXECUTE", "invalid-input", "EXECUTE"],
        "{shown}: {said:?}"
    );
    assert_eq!((said.stderr.as_str(), said.code), ("", 2), "{shown}");
    let error = &said.values()[1]["error"];
    assert!(!error["message"].as_str().unwrap().is_empty() && error.get("hint").is_some());
    let listed = ledger.run("list").stdout;
    let keys: Vec<&str> = listed
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(keys, ["key=before", "key=after"], "{shown}");
    said
}

#[test]
fn what_is_not_one_json_object() {
    for bad in [
        "nonsense",
        "{",
        "}",
        "[]",
        "1",
        "null",
        "\"reserve\"",
        "[{\"op\":\"show\",\"key\":\"k\"}]",
        "{}",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"} x",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}{\"op\":\"show\",\"key\":\"k\"}",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\",}",
        "{'op':'reserve','key':'k','fingerprint':'v1'}",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\",\"id\":NaN}",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\",\"id\":01}",
        "\u{feff}{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}",
        "\u{a0}{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}",
        "\u{a0}",
        "\u{c}",
        "\0",
        "{\"op\":\"reserve\",\"key\":\"k\0\",\"fingerprint\":\"v1\"}",
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}\0",
        "# a comment",
    ] {
        hurts_no_other(bad.as_bytes());
    }
}

#[test]
fn an_operation_that_is_none() {
    for bad in [
        r#"{"key":"k","fingerprint":"v1"}"#,
        r#"{"op":null,"key":"k","fingerprint":"v1"}"#,
        r#"{"op":1,"key":"k","fingerprint":"v1"}"#,
        r#"{"op":"","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"Reserve","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"reserve ","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"run","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"drain","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"apply","key":"k","fingerprint":"v1","sql":"SELECT 1"}"#,
        r#"{"op":"prune","key":"k"}"#,
        r#"{"op":"batch","key":"k"}"#,
    ] {
        hurts_no_other(bad.as_bytes());
    }
    // An escape in the name of an operation is still that operation.
    let ledger = Scratch::with_ledger();
    let said = batch(
        &ledger,
        r#"{"\u006fp":"reser\u0076e","key":"\u006b","fingerprint":"v1"}"#,
    );
    assert_eq!(said.words(), ["EXECUTE"]);
}

#[test]
fn a_member_that_the_operation_does_not_have() {
    for bad in [
        r#"{"op":"reserve","key":"k","fingerprint":"v1","colour":"red"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","":1}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","Key":"k"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","allow-failed-retry":true}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","attempt":1}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","skip_exit":9}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","db":"other.db"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","payload_file":"/etc/passwd"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","keep_payload":true}"#,
        r#"{"op":"record","key":"k","fingerprint":"v1","lease":"1h"}"#,
        r#"{"op":"show","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"fail","key":"k","result":1}"#,
        r#"{"op":"succeed","key":"k","reason":"r"}"#,
        r#"{"op":"renew","key":"k","attempt":1,"lease":"1s","reason":"r"}"#,
    ] {
        let said = hurts_no_other(bad.as_bytes());
        assert!(
            said.lines[1].contains("this op has no member "),
            "{bad}: {said:?}"
        );
    }
}

#[test]
fn a_member_that_is_there_twice_also_in_another_spelling() {
    for bad in [
        r#"{"op":"reserve","key":"k","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"reserve","key":"k","\u006bey":"k","fingerprint":"v1"}"#,
        r#"{"op":"reserve","op":"reserve","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"reserve","\u006f\u0070":"show","key":"k","fingerprint":"v1"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","f\u0069ngerprint":"v1"}"#,
        r#"{"op":"reserve","key":"k","payload":null,"p\u0061yload":null}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","id":1,"id":1}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","id":1,"\u0069d":2}"#,
        r#"{"op":"show","key":"k","\/":1,"/":1}"#,
    ] {
        let said = hurts_no_other(bad.as_bytes());
        assert!(
            said.lines[1].contains("a member is there twice"),
            "{bad}: {said:?}"
        );
    }
}

#[test]
fn what_is_missing_or_does_not_go_together() {
    for bad in [
        r#"{"op":"reserve","fingerprint":"v1"}"#,
        r#"{"op":"reserve","key":"k"}"#,
        r#"{"op":"record","key":"k"}"#,
        r#"{"op":"record","key":"k","fingerprint":"v1","keep_payload":true}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","payload":1}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","amount":"1"}"#,
        r#"{"op":"reserve","key":"k","fingerprint":"v1","currency":"EUR"}"#,
        r#"{"op":"renew","key":"k","attempt":1}"#,
        r#"{"op":"renew","key":"k","lease":"1s"}"#,
        r#"{"op":"resolve","key":"k","as":"succeeded"}"#,
        r#"{"op":"resolve","key":"k","evidence":"e"}"#,
        r#"{"op":"resolve","key":"k","evidence":"e","as":"unknown"}"#,
        r#"{"op":"resolve","key":"k","evidence":"e","as":"failed","result":null}"#,
    ] {
        hurts_no_other(bad.as_bytes());
    }
}

#[test]
fn wrong_types_and_values_out_of_bounds() {
    let (long, text) = ("k".repeat(256), "t".repeat(4097));
    let mut lines: Vec<String> = Vec::new();
    for key in [
        "1",
        "null",
        "true",
        "[\"k\"]",
        "{}",
        "\"\"",
        "\"a b\"",
        "\"k\\n\"",
        "\"k\\u0000\"",
        "\"\\u00e9\"",
        "\"\\ud800\"",
    ] {
        lines.push(format!(
            r#"{{"op":"reserve","key":{key},"fingerprint":"v1"}}"#
        ));
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":{key}}}"#
        ));
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","owner":{key}}}"#
        ));
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","run":{key}}}"#
        ));
    }
    lines.push(format!(
        r#"{{"op":"reserve","key":"{long}","fingerprint":"v1"}}"#
    ));
    for flag in ["\"true\"", "1", "0", "null", "\"\"", "[]"] {
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","allow_failed_retry":{flag}}}"#
        ));
        lines.push(format!(
            r#"{{"op":"record","key":"k","payload":1,"keep_payload":{flag}}}"#
        ));
        lines.push(format!(r#"{{"op":"show","key":"k","history":{flag}}}"#));
    }
    for count in [
        "0",
        "-1",
        "\"1\"",
        "1.0",
        "1e0",
        "1.5",
        "4294967296",
        "null",
        "true",
    ] {
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","max_attempts":{count}}}"#
        ));
        lines.push(format!(r#"{{"op":"succeed","key":"k","attempt":{count}}}"#));
    }
    for duration in [
        "1",
        "0",
        "\"0s\"",
        "\"1\"",
        "\"\"",
        "null",
        "\"-1s\"",
        "\"1 s\"",
        "\"365001d\"",
    ] {
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","lease":{duration}}}"#
        ));
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","retry_unknown_within":{duration}}}"#
        ));
        lines.push(format!(
            r#"{{"op":"renew","key":"k","attempt":1,"lease":{duration}}}"#
        ));
    }
    for amount in ["\"\"", "\"ten\"", "null", "[]", "\"1,5\""] {
        lines.push(format!(
            r#"{{"op":"reserve","key":"k","fingerprint":"v1","amount":{amount},"currency":"EUR"}}"#
        ));
    }
    for words in [
        "1",
        "null",
        "\"\"",
        "\"a\\u0000b\"",
        "[]",
        &format!("\"{text}\""),
    ] {
        lines.push(format!(r#"{{"op":"fail","key":"k","reason":{words}}}"#));
        lines.push(format!(
            r#"{{"op":"resolve","key":"k","as":"failed","evidence":{words}}}"#
        ));
    }
    let ledger = Scratch::with_ledger();
    let mut input = String::new();
    for (n, line) in lines.iter().enumerate() {
        input += &format!("{line}\n{}", reserve(&format!("good:{n}")));
    }
    let said = batch(&ledger, input);
    assert_eq!(said.lines.len(), lines.len() * 2);
    for (n, pair) in said.words().chunks(2).enumerate() {
        assert_eq!(
            pair,
            ["invalid-input", "EXECUTE"],
            "{}: {}",
            lines[n],
            said.lines[2 * n]
        );
    }
    assert_eq!(said.code, 2);
    assert_eq!(ledger.run("list").stdout.lines().count(), lines.len());
    assert!(
        !said.lines.iter().any(|line| line.contains(&text)),
        "no value is shown"
    );
}

#[test]
fn wait_is_refused_with_its_reason() {
    for value in ["\"1s\"", "\"0s\"", "null", "0", "false"] {
        let line = format!(r#"{{"op":"reserve","key":"k","fingerprint":"v1","wait":{value}}}"#);
        let said = hurts_no_other(line.as_bytes());
        assert!(
            said.lines[1].contains("wait has no place in a batch"),
            "{said:?}"
        );
    }
}

#[test]
fn invalid_utf_8_anywhere() {
    for bad in [
        &b"\xff"[..],
        b"{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\",\"id\":\"\xc3\"}",
        b"{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}\x80",
        b"{\"op\":\"reserve\",\"key\":\"k\",\"payload\":\"\xed\xa0\x80\"}",
        b"\xfe\xff\x00{",
    ] {
        let said = hurts_no_other(bad);
        assert!(said.lines[1].contains("is not UTF-8"), "{said:?}");
    }
}

#[test]
fn an_error_keeps_the_id_of_its_line_where_one_can_be_read() {
    let said = hurts_no_other(br#"{"op":"reserve","id":{"n": 7.0},"fingerprint":"v1"}"#);
    assert!(
        said.lines[1].starts_with(
            r#"{"id":{"n":7.0},"error":{"code":"invalid-input","message":"key is missing","#
        ),
        "{said:?}"
    );
}

#[test]
fn a_line_of_4_mib_is_read_and_a_longer_one_is_refused_whole() {
    let padded = |length: usize| {
        let line = reserve("long").trim_end().to_owned();
        let (start, rest) = line.split_at(1);
        format!("{start}{}{rest}", " ".repeat(length - line.len()))
    };
    for (length, word) in [
        (4 * MIB - 1, "EXECUTE"),
        (4 * MIB, "EXECUTE"),
        (4 * MIB + 1, "invalid-input"),
        (5 * MIB, "invalid-input"),
    ] {
        for end in ["\n", "\r\n", ""] {
            let ledger = Scratch::with_ledger();
            let input = format!("{}{}{end}", reserve("before"), padded(length));
            let input = if end.is_empty() {
                input
            } else {
                input + &reserve("after")
            };
            let said = batch(&ledger, input);
            let expected = [
                &["EXECUTE", word][..],
                if end.is_empty() { &[] } else { &["EXECUTE"] },
            ]
            .concat();
            assert_eq!(said.words(), expected, "{length} {end:?}");
        }
    }
}

#[test]
fn a_line_that_never_ends_is_refused_once_and_never_held() {
    let said = hurts_no_other(&vec![b'x'; 40 * MIB]);
    assert!(
        said.lines[1].contains("longer than 4194304 bytes"),
        "{said:?}"
    );
    // Also where it is all that comes.
    let ledger = Scratch::with_ledger();
    let said = batch(&ledger, vec![b' '; 9 * MIB]);
    assert_eq!(
        (said.words(), said.code),
        (vec!["invalid-input".to_owned()], 2)
    );
}

#[test]
fn no_message_shows_what_was_in_a_payload_or_a_result() {
    let ledger = Scratch::with_ledger();
    let big = format!("\"{}\"", "hush".repeat(300_000));
    let mut input = String::new();
    for payload in [
        r#"{"a":"hush","a":1}"#,
        r#""hush\ud800""#,
        "{\"hush\":9007199254740993}",
    ] {
        input += &format!("{{\"op\":\"reserve\",\"key\":\"k\",\"payload\":{payload}}}\n");
    }
    input += &reserve("r");
    input += &format!("{{\"op\":\"succeed\",\"key\":\"r\",\"result\":{big}}}\n");
    input += "{\"op\":\"reserve\",\"key\":\"k\",\"payload\":{\"hush\":\n";
    let said = batch(&ledger, input);
    assert_eq!(said.code, 2);
    assert!(
        !said.lines.iter().any(|line| line.contains("hush")),
        "{said:.2000?}"
    );
}
