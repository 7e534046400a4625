//! Contract §3.3 and §3.5: `--format json`, whole objects, errors too.

use serde_json::{Value, json};

use super::prepared::{SAME, prepare};
use super::support::{Said, Scratch};

fn object(said: &str) -> Value {
    assert!(
        said.ends_with('\n') && said.lines().count() == 1,
        "{said:?}"
    );
    serde_json::from_str(said).unwrap()
}

/// Runs with `--format json` behind the command.
fn run(ledger: &Scratch, args: &str) -> Said {
    ledger.run(&format!("{args} --format json"))
}

fn answers(ledger: &Scratch, args: &str, code: i32, expected: Value) {
    let said = run(ledger, args);
    assert_eq!((said.code, said.stderr.as_str()), (code, ""), "{args}");
    assert_eq!(object(&said.stdout), expected, "{args}");
}

#[test]
fn a_decision_has_its_key_and_what_comes_next() {
    let ledger = Scratch::with_ledger();
    let next = |decision: &str| match decision {
        "EXECUTE" | "RETRY" => "perform",
        "SKIP_IN_FLIGHT" => "wait",
        "SKIP_SUCCEEDED" => "done",
        "SKIP_FAILED" => "retry-explicitly",
        "SKIP_UNKNOWN" => "reconcile",
        _ => "stop",
    };
    for (name, flags, decision, state, attempt) in [
        ("nothing", "", "EXECUTE", "reserved", 1),
        ("recorded", "", "EXECUTE", "reserved", 1),
        ("failed", "--allow-failed-retry", "RETRY", "reserved", 2),
        (
            "unknown",
            "--retry-unknown-within 1h",
            "RETRY",
            "reserved",
            2,
        ),
        ("reserved, no lease", "", "SKIP_IN_FLIGHT", "reserved", 1),
        ("succeeded", "", "SKIP_SUCCEEDED", "succeeded", 1),
        ("pruned succeeded", "", "SKIP_SUCCEEDED", "succeeded", 1),
        ("failed", "", "SKIP_FAILED", "failed", 1),
        ("reserved, lease run out", "", "SKIP_UNKNOWN", "unknown", 1),
    ] {
        let key = format!("{}{flags}", name.replace([' ', ','], "-")).replace(' ', "");
        prepare(&ledger, name, &key);
        answers(
            &ledger,
            &format!("reserve --key {key} --fingerprint {SAME} {flags}"),
            0,
            json!({"key": key, "decision": decision, "state": state, "attempt": attempt, "next": next(decision)}),
        );
        answers(
            &ledger,
            &format!("reserve --key {key} --fingerprint other {flags}"),
            3,
            json!({"key": key, "decision": "CONFLICT", "state": state, "attempt": attempt, "next": "stop"}),
        );
    }
}

#[test]
fn a_settlement_has_its_key_and_what_stands() {
    let ledger = Scratch::with_ledger();
    for (name, args, state) in [
        ("reserved, no lease", "succeed", "succeeded"),
        ("reserved, no lease", "fail", "failed"),
        ("reserved, no lease", "unknown", "unknown"),
        (
            "reserved, no lease",
            "renew --attempt 1 --lease 1h",
            "reserved",
        ),
        (
            "unknown",
            "resolve --as succeeded --evidence e",
            "succeeded",
        ),
        ("unknown", "resolve --as failed --evidence e", "failed"),
    ] {
        let key = args.replace(' ', "");
        prepare(&ledger, name, &key);
        answers(
            &ledger,
            &format!("{args} --key {key}"),
            0,
            json!({"key": key, "state": state, "attempt": 1}),
        );
    }
}

#[test]
fn show_tells_every_fact_and_an_absent_one_is_null() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key bare --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let mut bare = object(&run(&ledger, "show --key bare").stdout);
    for name in ["created_at", "updated_at"] {
        let moment = bare[name].take();
        let text = moment.as_str().unwrap();
        assert!(
            text.len() == 24 && text.ends_with('Z') && &text[10..11] == "T",
            "{text}"
        );
    }
    let absent = json!({
        "state": "reserved", "attempt": 1, "key": "bare", "fingerprint": "f", "owner": null, "run": null,
        "amount": null, "currency": null, "created_at": null, "updated_at": null, "lease_expires_at": null,
        "settled_by": null, "reason": null, "result": null,
    });
    assert_eq!(bare, absent);

    ledger.says(
        "reserve --key full --fingerprint f --owner o --run r --amount 00042.10 --currency EUR --lease 1h",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let lease = object(&run(&ledger, "show --key full").stdout)["lease_expires_at"].clone();
    assert!(lease.as_str().unwrap().ends_with('Z'));
    ledger.says(
        "unknown --key full --reason lost",
        "state=unknown attempt=1\n",
    );
    ledger.says(
        r#"resolve --key full --as succeeded --evidence seen --result-json {"id":[1,null]}"#,
        "state=succeeded attempt=1\n",
    );
    let mut full = object(&run(&ledger, "show --key full").stdout);
    full["created_at"].take();
    full["updated_at"].take();
    let whole = json!({
        "state": "succeeded", "attempt": 1, "key": "full", "fingerprint": "f", "owner": "o", "run": "r",
        "amount": "00042.10", "currency": "EUR", "created_at": null, "updated_at": null, "lease_expires_at": null,
        "settled_by": "reconciled", "reason": "seen", "result": {"id": [1, null]},
    });
    assert_eq!(full, whole);
}

#[test]
fn a_pruned_receipt_tells_that_it_is_one() {
    let ledger = Scratch::with_ledger();
    prepare(&ledger, "pruned failed", "k");
    answers(
        &ledger,
        "show --key k",
        0,
        json!({"state": "failed", "attempt": 1, "key": "k", "pruned": true}),
    );
    ledger.says("show --key k", "state=failed attempt=1 key=k pruned=true\n");
}

#[test]
fn each_row_of_history_is_an_object_of_its_own() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f --owner o",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("fail --key k --reason why", "state=failed attempt=1\n");
    let said = run(&ledger, "show --key k --history");
    let mut rows: Vec<Value> = said
        .stdout
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for row in &mut rows {
        assert!(row["at"].take().as_str().unwrap().ends_with('Z'));
    }
    assert_eq!(
        rows,
        [
            json!({"key": "k", "at": null, "event": "reserved", "attempt": 1, "actor": "o", "detail": null}),
            json!({"key": "k", "at": null, "event": "failed", "attempt": 1, "actor": null, "detail": "why"}),
        ]
    );
}

#[test]
fn init_answers_whether_it_created() {
    let ledger = Scratch::new();
    let said = run(&ledger, "init");
    assert_eq!(
        (object(&said.stdout), said.code),
        (json!({"created": true}), 0)
    );
    answers(&ledger, "init", 0, json!({"created": false}));
    ledger.says("init", "created=false\n");
}

#[test]
fn an_error_is_one_object_on_standard_error_wherever_the_format_was_given() {
    let ledger = Scratch::with_ledger();
    prepare(&ledger, "reserved, no lease", "k");
    prepare(&ledger, "succeeded", "done");
    for (args, code) in [
        ("reserve", "usage"),
        ("nonsense", "usage"),
        ("reserve --key k --fingerprint f --no-such-flag", "usage"),
        ("reserve --key= --fingerprint f", "invalid-input"),
        ("reserve --key k --fingerprint f --lease 5", "invalid-input"),
        ("reserve --key k --payload-file missing", "io"),
        ("succeed --key other", "not-found"),
        ("show --key other", "not-found"),
        ("fail --key done", "invalid-transition"),
        ("succeed --key k --attempt 2", "stale-attempt"),
        ("succeed --key k --owner thief", "not-owner"),
    ] {
        for line in [
            format!("--format json {args}"),
            format!("--format=json {args}"),
            format!("{args} --format json"),
            format!("{args} --format=json"),
        ] {
            let said = ledger.run(&line);
            assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{line}");
            let error = object(&said.stderr);
            let members: Vec<&String> = error.as_object().unwrap().keys().collect();
            assert_eq!(members, ["error"], "{line}");
            let inner = error["error"].as_object().unwrap();
            let mut members: Vec<&String> = inner.keys().collect();
            members.sort();
            assert_eq!(members, ["code", "hint", "message"], "{line}");
            assert_eq!(inner["code"], code, "{line}");
            assert!(!inner["message"].as_str().unwrap().is_empty(), "{line}");
            assert!(
                inner["hint"].is_null() || !inner["hint"].as_str().unwrap().is_empty(),
                "{line}"
            );
        }
        let mut command = ledger.command(args.split_whitespace());
        let output = command
            .env("RECEIPT_LEDGER_FORMAT", "json")
            .output()
            .unwrap();
        let said = super::support::said(&output);
        assert_eq!(
            object(&said.stderr)["error"]["code"],
            code,
            "{args}, by the environment"
        );
    }
}

#[test]
fn an_error_in_text_has_its_code_its_message_and_a_hint_behind_it() {
    let ledger = Scratch::with_ledger();
    prepare(&ledger, "succeeded", "done");
    let said = ledger.run("fail --key done");
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[0],
        "error[invalid-transition]: done is succeeded (attempt 1), which fail does not lead from"
    );
    assert!(lines[1].starts_with("hint: "));
}
