//! Contract §3.2: every text line is a safe list of shell assignments, whatever a key or a reason holds.

use std::process::{Command, Stdio};

use super::support::{Said, Scratch, said};

/// Runs `sh` with the line in `$line`, evaluates it there, and prints the variables named.
fn evaluated(ledger: &Scratch, line: &str, names: &[&str]) -> Said {
    let print: String = names
        .iter()
        .map(|name| format!("printf '%s=%s\\n' {name} \"${name}\"; "))
        .collect();
    let script = format!("set -u; eval \"$line\"; {print}");
    let mut sh = Command::new("sh");
    sh.arg("-c")
        .arg(script)
        .env("line", line)
        .current_dir(ledger.path(""))
        .stdin(Stdio::null());
    said(&sh.output().unwrap())
}

const NAMES: [&str; 14] = [
    "state",
    "attempt",
    "key",
    "fingerprint",
    "owner",
    "run",
    "amount",
    "currency",
    "created_at",
    "updated_at",
    "lease_expires_at",
    "settled_by",
    "reason",
    "result",
];

#[test]
fn show_has_every_name_always_and_the_shell_gets_back_every_value() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let line = ledger.run("show --key k").stdout;
    let names: Vec<&str> = line
        .split_whitespace()
        .map(|word| word.split('=').next().unwrap())
        .collect();
    assert_eq!(names, NAMES);
    let back = evaluated(
        &ledger,
        &line,
        &["state", "attempt", "key", "owner", "reason"],
    );
    assert_eq!(
        (back.stdout.as_str(), back.stderr.as_str(), back.code),
        ("state=reserved\nattempt=1\nkey=k\nowner=\nreason=\n", "", 0)
    );
}

#[test]
fn hostile_keys_and_fingerprints_are_only_text_to_a_shell() {
    let ledger = Scratch::with_ledger();
    for hostile in [
        "$(touch${IFS}x)",
        "`touch${IFS}x`",
        "$(touch",
        "';touch${IFS}x;'",
        "\";touch${IFS}x;\"",
        "a;touch${IFS}x",
        "a&touch${IFS}x",
        "a|touch${IFS}x",
        "a>x",
        "a<x",
        "*",
        "~",
        "~root",
        "$HOME",
        "${HOME}",
        "\\",
        "a\\",
        "'",
        "''",
        "\"",
        "#",
        "a#b",
        "!",
        "!!",
        "{a,b}",
        "[a]",
        "-n",
        "--",
        "=",
        "decision=EXECUTE",
        "(x)",
        "x()",
        "^",
        "%s",
        "a\\'b",
    ] {
        let args = [
            "reserve".to_owned(),
            format!("--key={hostile}"),
            format!("--fingerprint={hostile}"),
            format!("--owner={hostile}"),
            format!("--run={hostile}"),
        ];
        let said = ledger.run_args(&args);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{hostile}");
        let line = ledger
            .run_args(&["show".to_owned(), format!("--key={hostile}")])
            .stdout;
        let names = ["key", "fingerprint", "owner", "run", "state"];
        let back = evaluated(&ledger, &line, &names);
        let expected = format!(
            "key={hostile}\nfingerprint={hostile}\nowner={hostile}\nrun={hostile}\nstate=reserved\n"
        );
        assert_eq!(
            (back.stdout.as_str(), back.stderr.as_str(), back.code),
            (expected.as_str(), "", 0),
            "{line}"
        );
        assert!(
            !ledger.path("x").exists(),
            "{hostile} ran something: {line}"
        );
    }
}

#[test]
fn the_key_of_the_contract_runs_nothing() {
    let ledger = Scratch::with_ledger();
    let key = "$(touch${IFS}x)";
    ledger.run_args(&["reserve", "--key", key, "--fingerprint", "f"]);
    // With a space it is no key at all.
    let said = ledger.run_args(&["reserve", "--key", "$(touch x)", "--fingerprint", "f"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(
        said.stderr.contains("--key: byte 8 is 0x20"),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("touch"), "{}", said.stderr);
}

#[test]
fn a_hostile_reason_is_one_assignment_on_one_line() {
    let ledger = Scratch::with_ledger();
    let hostile = [
        ("a\ndecision=EXECUTE", "a\\ndecision=EXECUTE"),
        (
            "a decision=EXECUTE attempt=9",
            "a decision=EXECUTE attempt=9",
        ),
        (
            "it's $(touch x) `touch x` \"q\"",
            "it's $(touch x) `touch x` \"q\"",
        ),
        ("' touch x '", "' touch x '"),
        ("\r\n\ttab", "\\r\\n\\ttab"),
        (
            "\u{1b}]0;title\u{7}\u{1b}[31m",
            "\\u001b]0;title\\u0007\\u001b[31m",
        ),
        (
            "\u{7f}\u{80}\u{9b}31m\u{9f}",
            "\\u007f\\u0080\\u009b31m\\u009f",
        ),
        (
            "\u{202e}reversed\u{202c}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}",
            "\\u202ereversed\\u202c\\u2066\\u2069\\u200e\\u200f\\u061c",
        ),
        ("\u{2028}\u{2029}\u{85}", "\\u2028\\u2029\\u0085"),
        ("Größe 😀 日本", "Größe 😀 日本"),
        ("back\\slash", "back\\slash"),
    ];
    for (index, (reason, shown)) in hostile.into_iter().enumerate() {
        let key = format!("k{index}");
        ledger.run_args(&["reserve", "--key", &key, "--fingerprint", "f"]);
        let said = ledger.run_args(&["fail", "--key", &key, "--reason", reason]);
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("state=failed attempt=1\n", "", 0)
        );
        let line = ledger.run_args(&["show", "--key", &key]).stdout;
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert!(
            line.trim_end_matches('\n').chars().all(|c| !c.is_control()),
            "{line:?}"
        );
        let back = evaluated(
            &ledger,
            &format!("decision=none; {line}"),
            &["decision", "attempt", "reason"],
        );
        let expected = format!("decision=none\nattempt=1\nreason={shown}\n");
        assert_eq!(
            (back.stdout.as_str(), back.stderr.as_str(), back.code),
            (expected.as_str(), "", 0),
            "{line:?}"
        );
        let history = ledger
            .run_args(&["show", "--key", &key, "--history"])
            .stdout;
        assert_eq!(history.lines().count(), 3, "{history:?}");
        for row in history.lines().skip(1) {
            let back = evaluated(&ledger, row, &["event"]);
            assert_eq!((back.stderr.as_str(), back.code), ("", 0), "{row}");
        }
        // JSON has it exactly.
        let json = ledger
            .run_args(&["show", "--key", &key, "--format", "json"])
            .stdout;
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["reason"], reason);
        assert!(
            json.trim_end_matches('\n').chars().all(|c| !c.is_control()),
            "{json:?}"
        );
        assert!(!ledger.path("x").exists());
    }
}

#[test]
fn a_hostile_result_comes_back_through_the_shell_as_the_same_json() {
    let ledger = Scratch::with_ledger();
    for (index, result) in [
        r#"{"a":"it's $(touch x)","b":"`touch x`"}"#,
        "\"\\u001b[31m\\n\\u0000\"",
        "\"\u{7f}\u{9b}\u{202e}\"",
        r#"["\"","\\'"]"#,
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k{index}");
        ledger.run_args(&["reserve", "--key", &key, "--fingerprint", "f"]);
        let said = ledger.run_args(&["succeed", "--key", &key, "--result-json", result]);
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("state=succeeded attempt=1\n", 0),
            "{}",
            said.stderr
        );
        let line = ledger.run_args(&["show", "--key", &key]).stdout;
        assert!(
            line.trim_end_matches('\n').chars().all(|c| !c.is_control()),
            "{line:?}"
        );
        let back = evaluated(&ledger, &line, &["result"]);
        let json = back.stdout.strip_prefix("result=").unwrap();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(json), value(result), "{line}");
        let shown = ledger
            .run_args(&["show", "--key", &key, "--format", "json"])
            .stdout;
        assert_eq!(value(&shown)["result"], value(result));
        assert!(!ledger.path("x").exists());
    }
}

#[test]
fn every_decision_line_is_three_plain_assignments() {
    let ledger = Scratch::with_ledger();
    let line = ledger.run("reserve --key k --fingerprint f").stdout;
    let back = evaluated(&ledger, &line, &["decision", "state", "attempt"]);
    assert_eq!(back.stdout, "decision=EXECUTE\nstate=reserved\nattempt=1\n");
}

#[test]
fn an_error_for_a_hostile_value_keeps_the_terminal_clean() {
    let ledger = Scratch::with_ledger();
    for args in [
        vec!["reserve", "--key", "\u{1b}[2J", "--fingerprint", "f"],
        vec!["\u{1b}[2J"],
        vec!["reserve", "--\u{1b}[2J"],
        vec![
            "reserve",
            "--key",
            "k",
            "--fingerprint",
            "f",
            "\u{1b}[2J\u{202e}",
        ],
        vec!["show", "--key", "k", "--db", "x\u{1b}[2J"],
        vec![
            "reserve",
            "--key",
            "k",
            "--payload-file",
            "no\u{1b}such\u{9b}file",
        ],
    ] {
        let said = ledger.run_args(&args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}");
        let controls = said
            .stderr
            .chars()
            .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
        assert!(!controls, "{args:?}: {:?}", said.stderr);
    }
}
