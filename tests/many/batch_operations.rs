//! Every operation: what a line says, a call says, and the other way round (contract 7.4, 2.2, 2.4, 3.3, 3.5).

use serde_json::Value;

use super::stage::rewrite;
use super::support::{Said, Scratch};
use super::talk::{batch, reserve};

/// Every operation as a line and as a call that says the same.
const OPERATIONS: &[(&str, &[&str])] = &[
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1"}"#,
        &["reserve", "--key=a", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1"}"#,
        &["reserve", "--key=a", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v2"}"#,
        &["reserve", "--key=a", "--fingerprint=v2"],
    ),
    (
        r#"{"op":"reserve","key":"b","payload":{"n":1.0,"a":[]},"lease":"1h30m","owner":"w","run":"r1","amount":"10.50","currency":"EUR"}"#,
        &[
            "reserve",
            "--key=b",
            "--payload-json=payload.json",
            "--lease=1h30m",
            "--owner=w",
            "--run=r1",
            "--amount=10.50",
            "--currency=EUR",
        ],
    ),
    (r#"{"op":"show","key":"b"}"#, &["show", "--key=b"]),
    (
        r#"{"op":"renew","key":"b","attempt":1,"lease":"2h","owner":"w"}"#,
        &["renew", "--key=b", "--attempt=1", "--lease=2h", "--owner=w"],
    ),
    (
        r#"{"op":"renew","key":"b","attempt":2,"lease":"2h"}"#,
        &["renew", "--key=b", "--attempt=2", "--lease=2h"],
    ),
    (
        r#"{"op":"succeed","key":"b","owner":"other"}"#,
        &["succeed", "--key=b", "--owner=other"],
    ),
    (
        r#"{"op":"fail","key":"a","reason":"no \"card\""}"#,
        &["fail", "--key=a", "--reason=no \"card\""],
    ),
    (
        r#"{"op":"fail","key":"a","reason":"again"}"#,
        &["fail", "--key=a", "--reason=again"],
    ),
    (r#"{"op":"unknown","key":"a"}"#, &["unknown", "--key=a"]),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1","allow_failed_retry":false}"#,
        &["reserve", "--key=a", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1","allow_failed_retry":true,"max_attempts":1}"#,
        &[
            "reserve",
            "--key=a",
            "--fingerprint=v1",
            "--allow-failed-retry",
            "--max-attempts=1",
        ],
    ),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1","allow_failed_retry":true,"max_attempts":2}"#,
        &[
            "reserve",
            "--key=a",
            "--fingerprint=v1",
            "--allow-failed-retry",
            "--max-attempts=2",
        ],
    ),
    (r#"{"op":"fail","key":"a"}"#, &["fail", "--key=a"]),
    (
        r#"{"op":"succeed","key":"a","attempt":1}"#,
        &["succeed", "--key=a", "--attempt=1"],
    ),
    (
        r#"{"op":"unknown","key":"a","attempt":2,"reason":"timeout"}"#,
        &["unknown", "--key=a", "--attempt=2", "--reason=timeout"],
    ),
    (
        r#"{"op":"reserve","key":"a","fingerprint":"v1","retry_unknown_within":"1h"}"#,
        &[
            "reserve",
            "--key=a",
            "--fingerprint=v1",
            "--retry-unknown-within=1h",
        ],
    ),
    (
        r#"{"op":"unknown","key":"a","attempt":3}"#,
        &["unknown", "--key=a", "--attempt=3"],
    ),
    (
        r#"{"op":"resolve","key":"a","as":"failed","evidence":"looked","attempt":3}"#,
        &[
            "resolve",
            "--key=a",
            "--as=failed",
            "--evidence=looked",
            "--attempt=3",
        ],
    ),
    (
        r#"{"op":"resolve","key":"a","as":"succeeded","evidence":"found","result":{"id": 7.0}}"#,
        &[
            "resolve",
            "--key=a",
            "--as=succeeded",
            "--evidence=found",
            "--result-json={\"id\": 7.0}",
        ],
    ),
    (r#"{"op":"show","key":"a"}"#, &["show", "--key=a"]),
    (
        r#"{"op":"resolve","key":"new","as":"succeeded","evidence":"e","fingerprint":"v1","owner":"x"}"#,
        &[
            "resolve",
            "--key=new",
            "--as=succeeded",
            "--evidence=e",
            "--fingerprint=v1",
            "--owner=x",
        ],
    ),
    (
        r#"{"op":"resolve","key":"new2","as":"succeeded","evidence":"e","payload":{"a":[],"n":1}}"#,
        &[
            "resolve",
            "--key=new2",
            "--as=succeeded",
            "--evidence=e",
            "--payload-json=payload.json",
        ],
    ),
    (
        r#"{"op":"resolve","key":"new2","as":"succeeded","evidence":"e","fingerprint":"v9"}"#,
        &[
            "resolve",
            "--key=new2",
            "--as=succeeded",
            "--evidence=e",
            "--fingerprint=v9",
        ],
    ),
    (
        r#"{"op":"succeed","key":"b","attempt":1,"owner":"w","result":[]}"#,
        &[
            "succeed",
            "--key=b",
            "--attempt=1",
            "--owner=w",
            "--result-json=[]",
        ],
    ),
    (
        r#"{"op":"succeed","key":"b","result":{}}"#,
        &["succeed", "--key=b", "--result-json={}"],
    ),
    (
        r#"{"op":"record","key":"c","fingerprint":"v1","owner":"w","run":"r1"}"#,
        &[
            "record",
            "--key=c",
            "--fingerprint=v1",
            "--owner=w",
            "--run=r1",
        ],
    ),
    (
        r#"{"op":"record","key":"c","fingerprint":"v1"}"#,
        &["record", "--key=c", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"record","key":"c","fingerprint":"v2"}"#,
        &["record", "--key=c", "--fingerprint=v2"],
    ),
    (
        r#"{"op":"record","key":"b","payload":{"n":1,"a":[]},"keep_payload":true}"#,
        &[
            "record",
            "--key=b",
            "--payload-json=payload.json",
            "--keep-payload",
        ],
    ),
    (r#"{"op":"succeed","key":"c"}"#, &["succeed", "--key=c"]),
    (
        r#"{"op":"show","key":"nothing"}"#,
        &["show", "--key=nothing"],
    ),
    (r#"{"op":"show","key":"c"}"#, &["show", "--key=c"]),
    (r#"{"op":"show","key":"p"}"#, &["show", "--key=p"]),
    (
        r#"{"op":"record","key":"p","fingerprint":"v1"}"#,
        &["record", "--key=p", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"reserve","key":"p","fingerprint":"v1"}"#,
        &["reserve", "--key=p", "--fingerprint=v1"],
    ),
    (
        r#"{"op":"reserve","key":"p","fingerprint":"v2"}"#,
        &["reserve", "--key=p", "--fingerprint=v2"],
    ),
    (
        r#"{"op":"succeed","key":"p","result":1}"#,
        &["succeed", "--key=p", "--result-json=1"],
    ),
];

/// A ledger that holds a pruned receipt, `p`.
fn with_a_pruned_receipt() -> Scratch {
    let ledger = Scratch::with_ledger();
    std::fs::write(ledger.path("payload.json"), "{\"n\": 1, \"a\": [] }").unwrap();
    ledger.run("reserve --key p --fingerprint v1");
    ledger.run("succeed --key p");
    ledger.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    ledger
}

fn without_times(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    for name in ["created_at", "updated_at", "lease_expires_at"] {
        if let Some(time) = value.get_mut(name).filter(|time| !time.is_null()) {
            *time = "some time".into();
        }
    }
    value
}

#[test]
fn a_line_and_a_call_that_say_the_same_are_answered_the_same() {
    let (by_lines, by_calls) = (with_a_pruned_receipt(), with_a_pruned_receipt());
    let all: String = OPERATIONS
        .iter()
        .map(|(line, _)| format!("{line}\n"))
        .collect();
    let said = batch(&by_lines, all);
    assert_eq!(said.lines.len(), OPERATIONS.len());
    for ((line, call), answer) in OPERATIONS.iter().zip(&said.lines) {
        let mut args = vec!["--format=json"];
        args.extend(*call);
        let Said {
            stdout,
            stderr,
            code,
        } = by_calls.run_args(&args);
        let called = if code == 2 { stderr } else { stdout };
        assert_eq!(without_times(answer), without_times(&called), "{line}");
        // The facts come in the same order, too: but for times nothing differs.
        let order = |text: &str| {
            text.matches(|c: char| !c.is_ascii_digit())
                .collect::<String>()
        };
        assert_eq!(order(answer), order(called.trim_end()), "{line}");
    }
    let list = |ledger: &Scratch| {
        let text = ledger.run("list --format json").stdout;
        text.lines().map(without_times).collect::<Vec<_>>()
    };
    assert_eq!(list(&by_lines), list(&by_calls));
    for ledger in [&by_lines, &by_calls] {
        assert!(ledger.run("verify").stdout.starts_with("verify=ok "));
    }
}

#[test]
fn show_with_history_has_the_rows_in_an_array() {
    let ledger = Scratch::with_ledger();
    let said = batch(
        &ledger,
        reserve("k")
            + "{\"op\":\"fail\",\"key\":\"k\",\"reason\":\"no\"}\n{\"op\":\"show\",\"key\":\"k\",\"history\":true}\n\
               {\"op\":\"show\",\"key\":\"k\",\"history\":false}\n",
    );
    let values = said.values();
    let called = ledger.run("show --format json --key k --history").stdout;
    let rows: Vec<Value> = called
        .lines()
        .skip(1)
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    assert_eq!(values[2]["history"], Value::Array(rows));
    assert_eq!(values[2]["history"].as_array().unwrap().len(), 2);
    assert_eq!(values[3].get("history"), None);
}

#[test]
fn a_result_of_any_kind_is_kept_as_it_was_written() {
    let ledger = Scratch::with_ledger();
    for (n, (given, kept)) in [
        ("null", "null"),
        ("false", "false"),
        ("0", "0"),
        ("\"\"", "\"\""),
        ("[]", "[]"),
        ("-0", "-0"),
        ("1.0", "1.0"),
        ("1e400", "1e400"),
        ("9007199254740993", "9007199254740993"),
        (
            r#"{"b" : 1 ,"a": [ 1.50 , "x y" ], "b":2}"#,
            r#"{"b":1,"a":[1.50,"x y"],"b":2}"#,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k:{n}");
        let said = batch(
            &ledger,
            format!(
                "{}{{\"op\":\"succeed\",\"key\":\"{key}\",\"result\":{given}}}\n{{\"op\":\"show\",\"key\":\"{key}\"}}\n",
                reserve(&key)
            ),
        );
        assert!(
            said.lines[2].ends_with(&format!("\"result\":{kept}}}")),
            "{said:?}"
        );
        let again = batch(
            &ledger,
            format!("{{\"op\":\"succeed\",\"key\":\"{key}\",\"result\":{given}}}\n"),
        );
        assert_eq!(
            again.words(),
            ["succeeded"],
            "the same again is no other result"
        );
    }
    // No result and the result null are two things.
    let said = batch(
        &ledger,
        reserve("none")
            + "{\"op\":\"succeed\",\"key\":\"none\"}\n{\"op\":\"succeed\",\"key\":\"none\",\"result\":null}\n",
    );
    assert_eq!(said.words(), ["EXECUTE", "succeeded", "invalid-transition"]);
}

#[test]
fn a_result_over_1_mib_is_refused_and_one_of_1_mib_is_kept() {
    const MIB: usize = 1024 * 1024;
    for (bytes, word) in [(MIB, "succeeded"), (MIB + 1, "invalid-input")] {
        let ledger = Scratch::with_ledger();
        let result = format!("\"{}\"", "x".repeat(bytes - 2));
        let said = batch(
            &ledger,
            format!(
                "{}{{\"op\":\"succeed\",\"key\":\"k\",\"result\":{result}}}\n",
                reserve("k")
            ),
        );
        assert_eq!(said.words(), ["EXECUTE", word]);
    }
}

#[test]
fn a_payload_of_any_kind_is_bound_by_its_value_and_not_by_its_spelling() {
    let ledger = Scratch::with_ledger();
    let ask = |payload: &str| {
        let said = batch(
            &ledger,
            format!("{{\"op\":\"reserve\",\"key\":\"k\",\"payload\":{payload}}}\n"),
        );
        said.words().remove(0)
    };
    assert_eq!(ask(r#"{"b":[1,null],"a":"\u0041\/"}"#), "EXECUTE");
    assert_eq!(
        ask(r#"{ "a" : "A/" , "b" : [ 1.0 , null ] }"#),
        "SKIP_IN_FLIGHT"
    );
    assert_eq!(ask(r#"{"a":"A/","b":[1e0,null]}"#), "SKIP_IN_FLIGHT");
    for other in [
        r#"{"a":"A/","b":[2,null]}"#,
        "null",
        "false",
        "0",
        "\"\"",
        "{}",
        "[]",
    ] {
        assert_eq!(ask(other), "CONFLICT", "{other}");
    }
    // It is --payload-json's fingerprint.
    for (n, payload) in ["null", "false", "-0", "\"\"", "{\"z\":1,\"a\":2.50}"]
        .into_iter()
        .enumerate()
    {
        std::fs::write(ledger.path("p.json"), payload).unwrap();
        let said = batch(
            &ledger,
            format!("{{\"op\":\"reserve\",\"key\":\"n:{n}\",\"payload\":{payload}}}\n"),
        );
        assert_eq!(said.words(), ["EXECUTE"]);
        ledger.says(
            &format!("reserve --key n:{n} --payload-json p.json"),
            "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
        );
    }
}

#[test]
fn a_payload_without_a_canonical_form_is_refused() {
    let nested = format!("{}{}", "[".repeat(129), "]".repeat(129));
    let ledger = Scratch::with_ledger();
    for payload in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":1}"#,
        "9007199254740993",
        "1e400",
        "0.1000000000000000055511151231257827",
        r#""\ud800""#,
        &nested,
    ] {
        for op in ["reserve", "record", "resolve"] {
            let more = if op == "resolve" {
                ",\"as\":\"succeeded\",\"evidence\":\"e\""
            } else {
                ""
            };
            let said = batch(
                &ledger,
                format!("{{\"op\":\"{op}\",\"key\":\"k\",\"payload\":{payload}{more}}}\n"),
            );
            assert_eq!(said.words(), ["invalid-input"], "{op} {payload}");
            assert!(said.lines[0].contains("payload: "), "{said:?}");
        }
    }
    let fine = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let said = batch(
        &ledger,
        format!("{{\"op\":\"reserve\",\"key\":\"k\",\"payload\":{fine}}}\n"),
    );
    assert_eq!(said.words(), ["EXECUTE"]);
}

#[test]
fn an_amount_is_text_also_where_it_is_written_as_a_number() {
    let ledger = Scratch::with_ledger();
    for (key, amount, kept) in [
        ("a", "10.50", "10.50"),
        ("b", "\"10.50\"", "10.50"),
        ("c", "-3", "-3"),
        (
            "d",
            "12345678901234567890.123456789",
            "12345678901234567890.123456789",
        ),
    ] {
        let said = batch(
            &ledger,
            format!(
                "{{\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"v1\",\"amount\":{amount},\"currency\":\"EUR\"}}\n{{\"op\":\"show\",\"key\":\"{key}\"}}\n"
            ),
        );
        assert_eq!(said.values()[1]["amount"], kept, "{said:?}");
    }
}

#[test]
fn a_kept_payload_is_kept_as_it_stood_in_the_line() {
    let ledger = Scratch::with_ledger();
    let payload = r#"{ "b" : 1.50, "a":[ 1 ,2] ,"t":"\u00e9ü" }"#;
    let said = batch(
        &ledger,
        format!(
            "{{\"op\":\"record\",\"key\":\"k\",\"payload\": {payload} ,\"keep_payload\":true}}\n"
        ),
    );
    assert_eq!(
        said.lines,
        [r#"{"key":"k","created":true,"state":"recorded","attempt":0}"#]
    );
    ledger.run_args(&[
        "drain",
        "--all",
        "--quiet",
        "--",
        "sh",
        "-c",
        "cat >payload",
    ]);
    assert_eq!(
        std::fs::read_to_string(ledger.path("payload")).unwrap(),
        payload
    );
}

#[test]
fn a_receipt_whose_lease_has_run_out_is_unknown_to_a_line_too() {
    let ledger = Scratch::with_ledger();
    batch(
        &ledger,
        "{\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\",\"lease\":\"1h\"}\n",
    );
    rewrite(
        &ledger,
        "UPDATE receipt_ledger_receipt SET lease_expires_at_ms = 1 WHERE key = ?1",
        &[&"k"],
    );
    assert_eq!(batch(&ledger, reserve("k")).words(), ["SKIP_UNKNOWN"]);
}
