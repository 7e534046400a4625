//! Lines and their answers: order, ids, line ends, exit codes (contract 7.4).

use super::support::Scratch;
use super::talk::{batch, reserve};

#[test]
fn answers_come_in_the_order_of_the_lines_also_where_one_key_comes_again_and_again() {
    let ledger = Scratch::with_ledger();
    let mut input = String::new();
    for n in 0..2_500 {
        let key = format!("k:{}", n % 7);
        input += &format!(
            "{{\"id\":{n},\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"v1\"}}\n"
        );
    }
    let said = batch(&ledger, input);
    assert_eq!(
        (said.lines.len(), said.stderr.as_str(), said.code),
        (2_500, "", 0)
    );
    for (n, answer) in said.values().iter().enumerate() {
        assert_eq!(
            (&answer["id"], &answer["key"]),
            (&n.into(), &format!("k:{}", n % 7).into())
        );
        let decision = if n < 7 { "EXECUTE" } else { "SKIP_IN_FLIGHT" };
        assert_eq!(answer["decision"], decision, "{n}");
    }
}

#[test]
fn an_id_is_any_json_value_and_comes_back_first_and_as_it_was_written() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let ledger = Scratch::with_ledger();
    for id in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "\"\"",
        "\"a\"",
        "[]",
        "{}",
        "1.0",
        "1e0",
        "10.50",
        "9007199254740993",
        "1e400",
        "0.1000000000000000055511151231257827",
        r#"{"b":[1,2.50,{"a":null}],"a":"\u0041\n\"","b":2}"#,
        r#""\ud800""#,
        &deep,
    ] {
        let line =
            format!("{{\"id\":{id},\"op\":\"reserve\",\"key\":\"k\",\"fingerprint\":\"v1\"}}\n");
        let said = batch(&ledger, line);
        let start = format!("{{\"id\":{id},\"key\":\"k\",\"decision\":");
        assert!(said.lines[0].starts_with(&start), "{said:?}");
    }
    let said = batch(
        &ledger,
        "{ \"op\" : \"show\" , \"key\" : \"nothing\" , \"id\" : [ 1 , \" \" ] }\n",
    );
    assert!(
        said.lines[0].starts_with(r#"{"id":[1," "],"error":{"code":"not-found","#),
        "{said:?}"
    );
    let said = batch(&ledger, reserve("k"));
    assert!(
        said.lines[0].starts_with(r#"{"key":"k","#),
        "no id, none echoed: {said:?}"
    );
}

#[test]
fn an_id_with_a_control_character_is_escaped_and_still_the_same_value() {
    let ledger = Scratch::with_ledger();
    let id = "\"a\u{7f}\u{202e}\u{2028}b\"";
    let said = batch(
        &ledger,
        format!("{{\"id\":{id},\"op\":\"show\",\"key\":\"k\"}}\n"),
    );
    assert_eq!(said.values()[0]["id"], "a\u{7f}\u{202e}\u{2028}b");
    assert!(said.lines[0].is_ascii(), "{said:?}");
}

#[test]
fn blank_lines_are_passed_over_and_crlf_and_a_last_line_without_a_newline_are_fine() {
    for input in [
        "\n\nA\n \t \nB\n\n",
        "A\r\n\r\nB\r\n",
        "A\nB",
        "A\r\nB\r",
        "\n \r\n\tA \nB\t\n \t",
    ] {
        let ledger = Scratch::with_ledger();
        let line = |key| reserve(key).trim_end().to_owned();
        let said = batch(
            &ledger,
            input.replace('A', &line("a")).replace('B', &line("b")),
        );
        assert_eq!(said.words(), ["EXECUTE", "EXECUTE"], "{input:?}");
        assert_eq!((said.stderr.as_str(), said.code), ("", 0), "{input:?}");
    }
}

#[test]
fn no_line_at_all_is_no_answer_and_exit_0() {
    for input in ["", "\n", "\r\n \n\t", "  "] {
        let ledger = Scratch::with_ledger();
        let said = batch(&ledger, input);
        assert_eq!(
            (said.lines.len(), said.stderr.as_str(), said.code),
            (0, "", 0),
            "{input:?}"
        );
    }
}

#[test]
fn the_exit_code_is_2_after_any_error_else_3_after_any_conflict_else_0() {
    const FINE: &str = "{\"op\":\"reserve\",\"key\":\"a\",\"fingerprint\":\"v1\"}\n";
    const CONFLICT: &str = "{\"op\":\"reserve\",\"key\":\"a\",\"fingerprint\":\"v2\"}\n";
    const CONFLICTING_RECORD: &str = "{\"op\":\"record\",\"key\":\"a\",\"payload\":1}\n";
    const CONFLICTING_RESOLVE: &str = "{\"op\":\"resolve\",\"key\":\"a\",\"as\":\"succeeded\",\"evidence\":\"e\",\"fingerprint\":\"v3\"}\n";
    const BAD: &str = "nonsense\n";
    const NOT_FOUND: &str = "{\"op\":\"succeed\",\"key\":\"z\"}\n";
    const NOT_SHOWN: &str = "{\"op\":\"show\",\"key\":\"z\"}\n";
    for (lines, code) in [
        (&[FINE][..], 0),
        (&[FINE, FINE], 0),
        (&[FINE, CONFLICT, FINE], 3),
        (&[FINE, CONFLICTING_RECORD], 3),
        (&[FINE, CONFLICTING_RESOLVE], 3),
        (&[FINE, CONFLICT, BAD, FINE], 2),
        (&[FINE, BAD, CONFLICT], 2),
        (&[BAD, FINE], 2),
        (&[FINE, NOT_FOUND], 2),
        (&[NOT_SHOWN, FINE], 2),
    ] {
        let ledger = Scratch::with_ledger();
        let said = batch(&ledger, lines.concat());
        assert_eq!(
            (said.lines.len(), said.code),
            (lines.len(), code),
            "{lines:?}"
        );
        assert_eq!(said.stderr, "", "errors are answers here: {lines:?}");
    }
    // A conflict in an early group is not forgotten in a late one.
    let ledger = Scratch::with_ledger();
    let many: String = (0..1_500).map(|n| reserve(&format!("k:{n}"))).collect();
    assert_eq!(batch(&ledger, [FINE, CONFLICT, &many].concat()).code, 3);
    assert_eq!(batch(&ledger, [BAD, &many].concat()).code, 2);
}

#[test]
fn answers_are_json_whatever_format_is_asked_for() {
    for format in ["text", "json"] {
        let ledger = Scratch::with_ledger();
        let mut command = ledger.command(["--format", format, "batch"]);
        let said = super::talk::feed(&mut command, reserve("k").as_bytes());
        let whole =
            r#"{"key":"k","decision":"EXECUTE","state":"reserved","attempt":1,"next":"perform"}"#;
        assert_eq!(said.lines, [whole]);
    }
}

#[test]
fn batch_creates_the_ledger_and_says_so_once_unless_that_was_forbidden() {
    let ledger = Scratch::new();
    let mut forbidden = ledger.command(["--no-create", "batch"]);
    let said = super::talk::feed(&mut forbidden, reserve("k").as_bytes());
    assert!(said.stderr.starts_with("error[no-ledger]: "), "{said:?}");
    assert_eq!((said.lines.len(), said.code), (0, 2));
    assert!(!ledger.path("receipts.db").exists());
    let said = batch(&ledger, reserve("k"));
    assert!(
        said.stderr.starts_with("note: created ledger /"),
        "{said:?}"
    );
    assert_eq!((said.words(), said.code), (vec!["EXECUTE".to_owned()], 0));
    assert_eq!(batch(&ledger, reserve("k")).stderr, "");
}

#[test]
fn the_bounds_of_a_group_are_told_in_the_help() {
    let help = Scratch::new().run("batch --help").stdout;
    assert!(help.contains("at most 1,000 lines or 8 MiB"), "{help}");
}
