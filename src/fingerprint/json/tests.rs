//! What is refused as a JSON text, with which words; and what becomes of a result.
#![allow(clippy::unwrap_used)]

use std::iter;

use super::*;
use crate::fingerprint::tests::Random;
use crate::fingerprint::{PAYLOAD_JSON_BYTES_MAX, RESULT_BYTES_MAX, of_json};

fn refusal(payload: impl AsRef<[u8]>) -> JsonRefusal {
    of_json(payload.as_ref()).unwrap_err()
}

fn message(payload: impl AsRef<[u8]>) -> String {
    refusal(payload).to_string()
}

fn compact(text: impl AsRef<[u8]>) -> Result<String, JsonRefusal> {
    compact_json(text.as_ref(), RESULT_BYTES_MAX)
}

#[test]
fn what_is_no_text_at_all_is_said_so() {
    let too_large = vec![b' '; PAYLOAD_JSON_BYTES_MAX + 1];
    assert_eq!(
        message(too_large),
        "the JSON text is longer than 16777216 bytes"
    );
    for empty in ["", " ", " \r\n\t "] {
        assert_eq!(message(empty), "the JSON text is empty");
    }
    for marked in [
        &b"\xEF\xBB\xBF{}"[..],
        b"\xEF\xBB\xBF",
        b"\xFF\xFE{\0}\0",
        b"\xFE\xFF\0{\0}",
    ] {
        assert_eq!(
            message(marked),
            "the JSON text starts with a byte order mark: it must be UTF-8 without one"
        );
    }
}

#[test]
fn each_refusal_has_its_own_message_with_a_position() {
    let messages = [
        (
            &b"\"\xC3\""[..],
            "the JSON text is not UTF-8 at line 1 column 2 (byte 1)",
        ),
        (
            b"[1,\n\"ab\xED\xA0\x80\"]",
            "the JSON text is not UTF-8 at line 2 column 4 (byte 7)",
        ),
        (
            b"[1]\xFF",
            "the JSON text is not UTF-8 at line 1 column 4 (byte 3)",
        ),
        (
            b"{'a':1}",
            "the text is not JSON near line 1 column 2 (byte 1)",
        ),
        (
            b"[1,\n\n2,]",
            "the text is not JSON near line 3 column 3 (byte 7)",
        ),
        (
            b"\"a\nb\"",
            "the text is not JSON near line 1 column 2 (byte 1)",
        ),
        (
            b"\n\n\"\n\"",
            "the text is not JSON near line 3 column 1 (byte 2)",
        ),
        (
            b"[\"\xC3\xA9\" \xC3\xA9]",
            "the text is not JSON near line 1 column 7 (byte 6)",
        ),
        (
            b"[\"\\x\"]",
            "the text is not JSON near line 1 column 4 (byte 3)",
        ),
        (
            b"[1,",
            "the JSON text ends too early, at line 1 column 4 (byte 3)",
        ),
        (
            b"{\"a\":\n\"b",
            "the JSON text ends too early, at line 2 column 3 (byte 8)",
        ),
        (
            b"NaN",
            "NaN or Infinity at line 1 column 1 (byte 0): JSON has no such number",
        ),
        (
            b"[1,NaN]",
            "NaN or Infinity at line 1 column 4 (byte 3): JSON has no such number",
        ),
        (
            b"\n{\"a\":Infinity}",
            "NaN or Infinity at line 2 column 6 (byte 6): JSON has no such number",
        ),
        (
            b"[-Infinity]",
            "NaN or Infinity at line 1 column 3 (byte 2): JSON has no such number",
        ),
        (
            b"{}\n {}",
            "there is more text after the JSON value, at line 2 column 2 (byte 4)",
        ),
        (
            b"1 2",
            "there is more text after the JSON value, at line 1 column 3 (byte 2)",
        ),
        (
            b"{\"a\":1,\"a\":1}",
            "an object has the same name twice, the second time at line 1 column 8 (byte 7)",
        ),
        (
            b"[\"\\ud800\"]",
            "the string at line 1 column 2 (byte 1) holds a lone surrogate, which is not a character",
        ),
        (
            b"[\n1.23456789012345678]",
            "the number at line 2 column 1 (byte 2) would change its value in canonical form: write it as a string",
        ),
    ];
    for (payload, expected) in messages {
        assert_eq!(message(payload), expected);
    }
    assert_eq!(
        message("[".repeat(129) + &"]".repeat(129)),
        "arrays and objects are nested deeper than 128 levels at line 1 column 129 (byte 128)"
    );
}

#[test]
fn what_the_grammar_does_not_allow_is_not_taken() {
    let words = r#"
        +1 .5 1. 01 -01 00 - 1e 1e+ 0x10 1_000 1,0 1f 1.0.0 1e1.0 --1 nul nulL True undefined nan inf 'a' `a` a
        [,] [1,] [1,,2] ] } : , [} {] {,} {"a"} {"a":} {"a":1,} {a:1} {1:1} {null:1} {"a":1:2} {"a","b"} [1:2]
        // /**/1 1// [1]# [1]] {}} "a""b" "\u12" "\u12G4" "\u+123" "\U0061" "\'" "\x61" "\ "#;
    let with_white_space = [
        "tru e",
        "- 1",
        "1 .5",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1}\n{\"b\":2}",
        "\"\t\"",
        "\"a\nb\"",
        "\"\0\"",
        "\"\u{1f}\"",
        "\"\\\n\"",
        "\u{a0}1",
        "\u{b}1",
        "\u{c}1",
        "1\u{2028}",
        " \u{feff}1",
        "1\0",
        "\0",
    ];
    for text in words.split_whitespace().chain(with_white_space) {
        assert!(of_json(text.as_bytes()).is_err(), "{text:?}");
        assert!(compact(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_message_holds_nothing_of_the_payload() {
    let texts = r#"
        {"kw1tz":1,"kw1tz":2} {"kw1tz":nope} kw1tz {"kw1tz"kw1tz} ["kw1tz\ud800"] {"kw1tz":NaN} {"kw1tz":1}kw1tz
        {"kw1tz":"kw1tz ["kw1tz\kw1tz"] 98765432109876543210 [98765432109876543210.5] 98765x 98765432109876e999
    "#;
    for text in texts.split_whitespace() {
        let told = message(text) + &format!("{:?}", refusal(text));
        assert!(!told.contains("kw1tz") && !told.contains("98765"), "{told}");
    }
}

#[test]
fn a_result_loses_the_white_space_between_its_tokens_and_nothing_else() {
    for (given, expected) in [
        ("null", "null"),
        (" 0\n", "0"),
        ("\"\"", "\"\""),
        ("false", "false"),
        ("\t[ ]\r\n", "[]"),
        (
            "[ 1.0 , 1e0,\n-0, 1E400, 9007199254740993 ]",
            "[1.0,1e0,-0,1E400,9007199254740993]",
        ),
        (
            r#"{ "b" : 1 , "a" : 2 , "b" : 3 }"#,
            r#"{"b":1,"a":2,"b":3}"#,
        ),
        (
            r#"[ " \" [ 1 , 2 ] \\" , " \\\" " ]"#,
            r#"[" \" [ 1 , 2 ] \\"," \\\" "]"#,
        ),
        (r#"[ "\u0041\/ \ud800" ]"#, r#"["\u0041\/ \ud800"]"#),
        ("[ \"\u{a0} é \u{2028} 😀\" ]", "[\"\u{a0} é \u{2028} 😀\"]"),
    ] {
        assert_eq!(compact(given).unwrap(), expected);
        assert_eq!(compact(expected).unwrap(), expected);
    }
}

#[test]
fn any_result_is_as_it_was_before_it_was_laid_out() {
    let seed = 4627;
    let mut random = Random(seed);
    for round in 0..3_000 {
        let value = random.value(5);
        let laid_out = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(
            compact(laid_out),
            Ok(value.to_string()),
            "seed {seed} round {round}"
        );
    }
}

#[test]
fn a_result_may_be_nested_without_limit() {
    let deep = "[".repeat(RESULT_BYTES_MAX / 2) + &"]".repeat(RESULT_BYTES_MAX / 2);
    assert_eq!(compact(&deep).unwrap(), deep);
    let objects: String = iter::repeat_n("{\"a\":", 100_000)
        .chain(["1"])
        .chain(iter::repeat_n("}", 100_000))
        .collect();
    assert_eq!(compact(&objects).unwrap(), objects);
}

#[test]
fn a_result_is_refused_like_a_payload() {
    let refusal = |text: &[u8]| compact_json(text, 10).unwrap_err();
    assert_eq!(
        refusal(b"\"123456789\""),
        JsonRefusal::TooLarge { bytes_max: 10 }
    );
    assert_eq!(refusal(b" "), JsonRefusal::Empty);
    assert_eq!(refusal(b"\xEF\xBB\xBF1"), JsonRefusal::ByteOrderMark);
    assert!(matches!(refusal(b"\"\xFF\""), JsonRefusal::InvalidUtf8(_)));
    assert!(matches!(refusal(b"[1;2]"), JsonRefusal::NotJson(_)));
    assert!(matches!(refusal(b"[NaN]"), JsonRefusal::NotFinite(_)));
    assert!(matches!(refusal(b"[1,2"), JsonRefusal::Incomplete(_)));
    assert!(matches!(refusal(b"1\n2"), JsonRefusal::TrailingText(_)));
    assert!(compact_json(b"\"12345678\"", 10).is_ok());
}
