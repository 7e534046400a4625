//! The canonical form, against RFC 8785 and against all that could slip past it.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::*;
use crate::fingerprint::PAYLOAD_JSON_BYTES_MAX;
use crate::fingerprint::compact_json;
use crate::fingerprint::json::one_value;
use crate::fingerprint::tests::Random;

fn canonical(text: impl AsRef<[u8]>) -> Result<String, JsonRefusal> {
    let form = of(one_value(text.as_ref(), PAYLOAD_JSON_BYTES_MAX)?)?;
    Ok(String::from_utf8(form).unwrap())
}

fn refusal(text: impl AsRef<[u8]>) -> JsonRefusal {
    canonical(text).unwrap_err()
}

fn arrays(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

fn objects(levels: usize) -> String {
    "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels)
}

#[test]
fn the_published_example_has_its_published_form() {
    let published = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    // Its first number has more digits than a double keeps: it is refused, and taken as what it would become.
    assert!(matches!(refusal(published), JsonRefusal::InexactNumber(_)));
    let kept = published.replace("333333333.33333329", "333333333.3333333");
    let expected = [
        r#"{"literals":[null,true,false],"#,
        r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#,
    ];
    assert_eq!(canonical(kept).unwrap(), expected.concat());
}

#[test]
fn the_published_names_have_their_published_order() {
    let given = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let expected = [
        r#"{"\r":"Carriage Return","1":"One","#,
        "\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
        "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    ];
    assert_eq!(canonical(given).unwrap(), expected.concat());
}

#[test]
fn names_are_ordered_by_utf_16_code_units_at_every_level() {
    // By code points U+E000 and U+FFFD come before U+1F600, by UTF-16 after its surrogates; a prefix comes first.
    let expected = "{\"\":{\"a\":0,\"aa\":1,\"😀\":2,\"\u{e000}\":3,\"\u{fffd}\":4},\"A\":5}";
    let given = "{\"A\":5,\"\":{\"\u{fffd}\":4,\"\\uE000\":3,\"😀\":2,\"aa\":1,\"a\":0}}";
    assert_eq!(canonical(given).unwrap(), expected);
}

#[test]
fn control_characters_are_written_the_shortest_way_and_all_others_as_themselves() {
    let mut given = String::from("\"");
    for control in 0..0x20 {
        write!(given, "\\u{control:04X}").unwrap();
    }
    given += r#"\u007f\u0080\u2028\ufeff\uffff\ud834\udd1e\/""#;
    let expected = [
        r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
        r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f",
        "\u{7f}\u{80}\u{2028}\u{feff}\u{ffff}\u{1d11e}/\"",
    ];
    assert_eq!(canonical(given).unwrap(), expected.concat());
}

#[test]
fn a_name_given_twice_is_refused_however_it_is_spelled_and_wherever() {
    let texts = r#"
        {"amount":1,"amount":1} {"amount":1,"\u0061mount":2} {"\u0061mount":1,"amoun\u0074":2} {"/":1,"\/":2}
        {"":1,"":2} {"😀":1,"\uD83D\uDE00":2} {"\n":1,"\u000A":2} {"a":{"b":{},"c":[],"b":{}}}
        [0,{"a":1,"b":2,"c":3,"a":1}] {"a":{"a":1},"b":1,"a":1}
    "#;
    for text in texts.split_whitespace() {
        assert!(
            matches!(refusal(text), JsonRefusal::DuplicateName(_)),
            "{text}"
        );
    }
    for text in [
        r#"{"é":1,"e\u0301":2}"#,
        r#"{"a":{"a":{"a":1}}}"#,
        r#"[{"a":1},{"a":1}]"#,
    ] {
        assert!(canonical(text).is_ok(), "{text}");
    }
}

#[test]
fn half_a_surrogate_pair_is_refused_in_texts_and_in_names() {
    let texts = r#"
        "\ud800" "\udc00" "\uDFFF" "\uDBFFx" "\ud800\ud800" "\udc00\ud800" "\ud800\u0041" "\ud800\n"
        "\ud83d\ud83d\ude00" "\ud800\\udc00" {"\ud800":1} {"a":["\udead"]}
    "#;
    for text in texts.split_whitespace() {
        assert!(
            matches!(refusal(text), JsonRefusal::LoneSurrogate(_)),
            "{text}"
        );
    }
    assert_eq!(
        canonical(r#""\ud83d\uDE00\\ud800""#).unwrap(),
        r#""😀\\ud800""#
    );
}

#[test]
fn nesting_of_128_is_taken_and_129_is_not() {
    assert_eq!(canonical(arrays(128)).unwrap(), arrays(128));
    assert_eq!(canonical(objects(128)).unwrap(), objects(128));
    let too_deep = [
        arrays(129),
        objects(129),
        format!("[1,{}]", objects(128)),
        format!("{{\"a\":{}}}", arrays(128)),
    ];
    for text in too_deep {
        assert!(matches!(refusal(text), JsonRefusal::TooDeep(_)));
    }
    let beside_one_another = format!("[{}1]", "[[]],".repeat(1000));
    assert!(canonical(beside_one_another).is_ok());
}

#[test]
fn nesting_without_end_is_refused_at_once() {
    let started = Instant::now();
    assert!(matches!(
        refusal("[".repeat(100_000)),
        JsonRefusal::Incomplete(_)
    ));
    assert!(matches!(
        refusal("{\"a\":".repeat(100_000)),
        JsonRefusal::Incomplete(_)
    ));
    assert!(matches!(refusal(arrays(100_000)), JsonRefusal::TooDeep(_)));
    assert!(matches!(refusal(objects(100_000)), JsonRefusal::TooDeep(_)));
    let largest = arrays(PAYLOAD_JSON_BYTES_MAX / 2);
    assert!(matches!(refusal(largest), JsonRefusal::TooDeep(_)));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn any_value_has_the_form_that_the_library_gives_it_directly() {
    let seed = 8259;
    let mut random = Random(seed);
    for round in 0..3_000 {
        let value = random.value(5);
        let expected = serde_json_canonicalizer::to_string(&value).unwrap();
        let laid_out = serde_json::to_string_pretty(&value).unwrap();
        for text in [&expected, &laid_out, &value.to_string()] {
            assert_eq!(
                canonical(text).as_ref(),
                Ok(&expected),
                "seed {seed} round {round}"
            );
        }
    }
}

#[test]
fn a_damaged_text_is_refused_exactly_where_it_is_no_longer_json() {
    let seed = 17;
    let mut random = Random(seed);
    let bytes = b"{}[]\",:\\/u0d8e+-.19nNtrfalsI \n\xC3\xA9\x01";
    for round in 0..30_000 {
        let mut text = random.value(3).to_string().into_bytes();
        for _ in 0..=random.below(3) {
            let (at, byte) = (random.below(text.len()), bytes[random.below(bytes.len())]);
            match random.below(3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => text.truncate(at.max(1)),
            }
        }

        let shown = format!(
            "seed {seed} round {round}: {}",
            String::from_utf8_lossy(&text)
        );
        let library = serde_json::from_slice::<serde_json::Value>(&text);
        match canonical(&text) {
            Ok(form) => {
                assert!(library.is_ok(), "{shown}");
                assert_eq!(canonical(&form), Ok(form), "{shown}");
            }
            Err(JsonRefusal::DuplicateName(_) | JsonRefusal::InexactNumber(_)) => {}
            Err(_) => assert!(library.is_err(), "{shown}"),
        }
        let grammatical = std::str::from_utf8(&text).is_ok()
            && serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
        assert_eq!(compact_json(&text, 1 << 20).is_ok(), grammatical, "{shown}");
    }
}
