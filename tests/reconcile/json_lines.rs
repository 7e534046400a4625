//! Reading JSON Lines: what is taken, what is refused, and on which line.

use receipt_ledger::receipt::Key;
use receipt_ledger::reconcile::Export;
use receipt_ledger::reconcile::provider::{ColumnNames, Format, Reading};

fn read_as(reading: &Reading, text: impl AsRef<[u8]>) -> Result<Export, String> {
    let told = reading.read(Format::JsonLines, text.as_ref());
    told.map_err(|why| why.to_string())
}

fn read(text: impl AsRef<[u8]>) -> Result<Export, String> {
    read_as(&Reading::new(ColumnNames::default(), Vec::new()), text)
}

fn refused(text: impl AsRef<[u8]>, why: &str) {
    let told = read(text.as_ref()).unwrap_err();
    assert_eq!(told, why, "{}", String::from_utf8_lossy(text.as_ref()));
}

fn row(export: &Export, key: &str) -> String {
    let applied = &export[&Key::parse(key).unwrap()].applied;
    assert_eq!(applied.len(), 1, "{key}");
    let text = |cell: &Option<Box<str>>| cell.as_deref().unwrap_or("-").to_owned();
    let row = &applied[0];
    let (amount, currency) = (text(&row.amount), text(&row.currency));
    format!("{} {amount} {currency} {}", row.line, text(&row.reference))
}

#[test]
fn texts_and_the_literals_of_numbers_are_taken() {
    let export = read(
        r#"{"key":"00042","amount":"10.0","currency":"eur","reference":"ch_9","more":{"a":[1,null]}}
{"key":9912140633506421,"amount":10.10,"currency":null,"reference":7}
{"key":9.91214E+15,"amount":123456789012345678901234567890.123456789}
{"amount":0.1,"k\u0065y":"\u0061:1"}
"#,
    )
    .unwrap();
    assert_eq!(row(&export, "00042"), "1 10.0 EUR ch_9");
    assert_eq!(row(&export, "9912140633506421"), "2 10.10 - 7");
    let long = "123456789012345678901234567890.123456789";
    assert_eq!(row(&export, "9.91214E+15"), format!("3 {long} - -"));
    assert_eq!(row(&export, "a:1"), "4 0.1 - -");
}

#[test]
fn a_byte_order_mark_crlf_blank_lines_and_a_missing_last_newline_are_fine() {
    let export =
        read("\u{feff}{\"key\":\"a\"}\r\n\r\n  {\"key\":\"b\"} \r\n{\"key\":\"c\"}").unwrap();
    assert_eq!(row(&export, "a"), "1 - - -");
    assert_eq!(row(&export, "b"), "3 - - -");
    assert_eq!(row(&export, "c"), "4 - - -");
}

#[test]
fn a_status_counts_as_in_csv() {
    let text = r#"{"key":"a","status":"succeeded"}
{"key":"b","status":"pending"}
{"key":"c","status":null}
{"key":"d","status":true}
{"key":"e","status":200}
"#;
    let applied = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let reading = Reading::new(ColumnNames::default(), words);
        let export = read_as(&reading, text).unwrap();
        assert_eq!(export.len(), 5);
        let applied = export.iter().filter(|(_, rows)| !rows.applied.is_empty());
        let mut keys: Vec<String> = applied.map(|(key, _)| key.to_string()).collect();
        keys.sort();
        keys.join("")
    };
    assert_eq!(applied(&[]), "a");
    assert_eq!(applied(&["true"]), "d");
    assert_eq!(applied(&["200", "pending"]), "be");
}

#[test]
fn a_status_that_only_some_rows_have_is_refused() {
    let why =
        "line 2: some rows have \"status\" and some do not; it cannot be told which were applied";
    refused(
        "{\"key\":\"a\",\"status\":\"pending\"}\n{\"key\":\"b\"}\n",
        why,
    );
    refused(
        "{\"key\":\"b\"}\n{\"key\":\"a\",\"status\":\"pending\"}\n",
        why,
    );
}

#[test]
fn a_member_that_is_needed_or_was_asked_for_must_be_there() {
    refused(
        "{\"key\":\"a\"}\n{}\n",
        "line 2: there is no column \"key\"",
    );
    let names = ColumnNames {
        amount: Some("gross".into()),
        ..ColumnNames::default()
    };
    let reading = Reading::new(names, Vec::new());
    let told = read_as(
        &reading,
        "{\"key\":\"a\",\"gross\":1}\n{\"key\":\"b\",\"amount\":1}\n",
    );
    assert_eq!(told.unwrap_err(), "line 2: there is no column \"gross\"");
    let reading = Reading::new(ColumnNames::default(), vec!["paid".into()]);
    let told = read_as(&reading, "{\"key\":\"a\"}\n").unwrap_err();
    assert_eq!(told, "line 1: there is no column \"status\"");
}

#[test]
fn what_is_not_one_object_is_refused() {
    for wrong in [
        "[]",
        "\"a\"",
        "1",
        "null",
        "{\"key\":\"a\"",
        "{\"key\":\"a\"} {}",
        "{\"key\":a}",
        "{'key':'a'}",
        "key,amount",
        "{\"key\":\"a\",}",
        "{\"key\":01}",
        "{\"key\":NaN}",
    ] {
        refused(
            format!("{{\"key\":\"x\"}}\n{wrong}\n"),
            "line 2: it is not a JSON object",
        );
    }
    let pretty = "{\n  \"key\": \"a\"\n}\n";
    refused(pretty, "line 1: it is not a JSON object");
}

#[test]
fn a_name_twice_is_refused_however_it_is_written() {
    let why = "line 1: the name \"key\" is there twice";
    refused("{\"key\":\"a\",\"amount\":1,\"key\":\"a\"}\n", why);
    refused("{\"key\":\"a\",\"k\\u0065y\":\"b\"}\n", why);
    refused(
        "{\"key\":\"a\",\"x\":1,\"x\":1}\n",
        "line 1: the name \"x\" is there twice",
    );
}

#[test]
fn cells_that_are_neither_text_nor_number_are_refused() {
    for (member, name) in [
        ("\"key\":true", "key"),
        ("\"key\":null", "key"),
        ("\"key\":[\"a\"]", "key"),
        ("\"key\":\"\\ud800\"", "key"),
        ("\"key\":\"a\",\"amount\":{\"value\":1}", "amount"),
        ("\"key\":\"a\",\"amount\":true", "amount"),
        ("\"key\":\"a\",\"status\":[]", "status"),
        ("\"key\":\"a\",\"reference\":{}", "reference"),
    ] {
        let why = format!("line 1: \"{name}\" is neither a text nor a number");
        refused(format!("{{{member}}}\n"), &why);
    }
}

#[test]
fn cells_are_checked_as_in_csv() {
    let why = "line 1: the key is empty; 1 to 255 bytes of visible ASCII are needed";
    refused("{\"key\":\"\"}\n", why);
    assert!(
        read("{\"key\":\"a b\"}\n")
            .unwrap_err()
            .starts_with("line 1: the key byte 2")
    );
    assert!(
        read("{\"key\":\"a\\n\"}\n")
            .unwrap_err()
            .starts_with("line 1: the key byte 2")
    );
    for amount in ["1e3", "\"1,000\"", "\"€5\"", "1E-2"] {
        let told = read(format!("{{\"key\":\"a\",\"amount\":{amount}}}\n")).unwrap_err();
        assert!(
            told.starts_with("line 1: the amount is not a plain decimal"),
            "{told}"
        );
    }
    assert!(read("{\"key\":\"a\",\"currency\":\"Euro!\"}").is_err());
}

#[test]
fn nothing_is_no_export() {
    refused("", "the file is empty");
    refused("\u{feff}", "the file is empty");
    refused("\n\r\n", "there is not a single row in it");
    refused(
        b"{\"key\":\"a\"}\n{\"key\":\"b\",\"x\":\"\xff\"}\n",
        "line 2: it is not UTF-8",
    );
}

#[test]
fn a_line_of_endless_length_is_refused() {
    let long = format!(
        "{{\"key\":\"a\",\"x\":\"{}\"}}",
        "x".repeat(4 * 1024 * 1024)
    );
    refused(long, "line 1: the row is longer than 4194304 bytes");
}
