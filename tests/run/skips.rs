//! Contract 6.4: what `run` says and how it ends where it starts nothing; on which stream; and when it is quiet.

use super::stage::{finish, lines, perform};
use super::support::Scratch;

const SCRIPT: &str = "echo x >>effects; echo out";

/// A key in every state that is skipped: key, decision, state.
const STATES: [(&str, &str, &str); 4] = [
    ("in-flight", "SKIP_IN_FLIGHT", "reserved"),
    ("succeeded", "SKIP_SUCCEEDED", "succeeded"),
    ("failed", "SKIP_FAILED", "failed"),
    ("unknown", "SKIP_UNKNOWN", "unknown"),
];

fn prepared() -> Scratch {
    let ledger = Scratch::with_ledger();
    for (key, _, _) in STATES {
        let reserve = format!("reserve --key {key} --fingerprint f");
        assert_eq!(ledger.run(&reserve).code, 0);
        let settle = match key {
            "succeeded" => "succeed",
            "failed" => "fail",
            "unknown" => "unknown",
            _ => continue,
        };
        assert_eq!(ledger.run(&format!("{settle} --key {key}")).code, 0);
    }
    ledger
}

#[test]
fn a_skip_exits_75_but_0_where_success_is_on_record_and_3_on_a_conflict() {
    let ledger = prepared();
    for (key, decision, state) in STATES {
        let code = if key == "succeeded" { 0 } else { 75 };
        let said = finish(
            &ledger,
            &mut perform(&ledger, &format!("--key {key}"), SCRIPT),
        );
        let line = format!("decision={decision} state={state} attempt=1\n");
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("", line.as_str(), code)
        );
        for more in ["", "--skip-exit 0", "--quiet", "--wait 1h", "--capture"] {
            let args = format!("run --key {key} --fingerprint other {more} -- touch effects");
            let said = ledger.run(&args);
            let line = format!("decision=CONFLICT state={state} attempt=1\n");
            assert_eq!(
                (said.stdout.as_str(), said.stderr.as_str(), said.code),
                ("", line.as_str(), 3),
                "{args}"
            );
        }
    }
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}

#[test]
fn skip_exit_gives_any_code_to_what_is_in_flight_failed_or_unknown() {
    let ledger = prepared();
    for code in [0, 1, 2, 3, 64, 74, 75, 76, 124, 127, 128, 143, 254, 255] {
        for (key, _, _) in STATES {
            let options = format!("--key {key} --skip-exit {code}");
            let said = finish(&ledger, &mut perform(&ledger, &options, SCRIPT));
            let expected = if key == "succeeded" { 0 } else { code };
            assert_eq!(
                (said.stdout.as_str(), said.code),
                ("", expected),
                "{options}"
            );
        }
    }
    let executed = finish(&ledger, &mut perform(&ledger, "--skip-exit 9", "exit 75"));
    assert_eq!(executed.code, 75);
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}

#[test]
fn quiet_drops_the_line_where_it_performs_or_exits_with_0_and_nowhere_else() {
    let ledger = prepared();
    let quiet = |options: &str, script: &str| {
        let said = finish(
            &ledger,
            &mut perform(&ledger, &format!("--quiet {options}"), script),
        );
        assert!(said.stdout.is_empty() || said.stdout == "out\n");
        (said.stderr, said.code)
    };
    let silent = |code: i32| (String::new(), code);
    assert_eq!(quiet("", SCRIPT), silent(0));
    assert_eq!(quiet("", SCRIPT), silent(0));
    assert_eq!(quiet("--key other", "exit 9"), silent(9));
    assert_eq!(
        quiet("--key failed --allow-failed-retry", "exit 0"),
        silent(0)
    );
    assert_eq!(quiet("--key unknown --skip-exit 0", SCRIPT), silent(0));
    for (options, decision, state, code) in [
        ("--key unknown", "SKIP_UNKNOWN", "unknown", 75),
        ("--key in-flight", "SKIP_IN_FLIGHT", "reserved", 75),
        (
            "--key in-flight --skip-exit 1",
            "SKIP_IN_FLIGHT",
            "reserved",
            1,
        ),
    ] {
        let line = format!("decision={decision} state={state} attempt=1\n");
        assert_eq!(quiet(options, SCRIPT), (line, code));
    }
    assert_eq!(lines(&ledger, "effects"), ["x"]);
}

#[test]
fn with_format_json_every_line_on_standard_error_is_an_object() {
    let ledger = prepared();
    let json = |options: &str, script: &str| {
        let options = format!("--format json {options}");
        let said = finish(&ledger, &mut perform(&ledger, &options, script));
        let objects: Vec<serde_json::Value> = said
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        (said.stdout, objects, said.code)
    };
    for (key, decision, state, next, code) in [
        ("k", "EXECUTE", "reserved", "perform", 0),
        ("k", "SKIP_SUCCEEDED", "succeeded", "done", 0),
        ("in-flight", "SKIP_IN_FLIGHT", "reserved", "wait", 75),
        ("failed", "SKIP_FAILED", "failed", "retry-explicitly", 75),
        ("unknown", "SKIP_UNKNOWN", "unknown", "reconcile", 75),
    ] {
        let object = serde_json::json!({
            "key": key, "decision": decision, "state": state, "attempt": 1, "next": next,
        });
        let stdout = if decision == "EXECUTE" { "out\n" } else { "" };
        let told = json(&format!("--key {key}"), SCRIPT);
        assert_eq!(told, (stdout.to_owned(), vec![object], code));
    }
    let (stdout, objects, code) = json("--key succeeded --capture", SCRIPT);
    assert_eq!((stdout.as_str(), code, objects.len()), ("", 2, 2));
    assert_eq!(objects[1]["error"]["code"], "no-output");
    let (stdout, objects, code) = json("--key gone", "rm receipts.db");
    assert_eq!((stdout.as_str(), code, objects.len()), ("", 2, 2));
    assert_eq!(objects[1]["error"]["code"], "not-recorded");
}
