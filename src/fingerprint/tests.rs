//! The fingerprints themselves: what is the same has the same, what differs does not.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use super::*;

/// Pseudo-random choices, the same in each run; a failing test names its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    /// Some JSON value, whose numbers are integers that a double holds.
    pub(super) fn value(&mut self, depth: usize) -> serde_json::Value {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => serde_json::Value::Null,
            1 => (self.below(2) == 0).into(),
            2 => (i64::try_from(self.below(1 << 53)).unwrap() - (1 << 52)).into(),
            3 => self.text().into(),
            4 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.below(5))
                .map(|_| (self.text(), self.value(depth - 1)))
                .collect(),
        }
    }

    fn text(&mut self) -> String {
        let alphabet: Vec<char> = "ab\"\\/ \n\u{1}\u{7f}é\u{2028}\u{fb33}😀".chars().collect();
        let length = self.below(5);
        (0..length)
            .map(|_| alphabet[self.below(alphabet.len())])
            .collect()
    }
}

#[test]
fn bytes_have_the_sha256_that_everybody_else_computes() {
    let of = |mut bytes: &[u8]| of_bytes(&mut bytes).unwrap().to_string();
    assert_eq!(
        of(b""),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(
        of(b"abc"),
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_eq!(
        of(&[b'a'; 1_000_000]),
        "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    );
}

#[test]
fn a_reader_that_is_interrupted_and_gives_single_bytes_changes_nothing() {
    struct Halting<'a>(&'a [u8], bool);
    impl Read for Halting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            self.0.read(&mut buffer[..1])
        }
    }
    let at_once = of_bytes(&mut &b"order 17"[..]).unwrap();
    assert_eq!(of_bytes(&mut Halting(b"order 17", false)).unwrap(), at_once);
}

#[test]
fn a_reader_that_fails_gives_no_fingerprint() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::PermissionDenied.into())
        }
    }
    let error = of_bytes(&mut b"the first part".chain(Failing)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn json_has_the_sha256_of_its_canonical_form() {
    assert_eq!(
        of_json(b" { } ").unwrap().as_str(),
        "jcs-sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
    let canonical = of_bytes(&mut &br#"{"a":1,"b":[2,"x"]}"#[..]).unwrap();
    let given = of_json(b"{\"b\" :[2.0,\"\\u0078\"],\r\n\t\"a\":1e0}").unwrap();
    assert_eq!(given.as_str(), format!("jcs-{canonical}"));
}

#[test]
fn white_space_escapes_number_forms_and_the_order_of_names_make_no_difference() {
    let same = [
        r#"{"amount":10,"to":["DE89",{"x":0,"y":true}]}"#,
        "\r\n{\t\"to\" : [ \"DE89\" , {\n\"y\" : true , \"x\" : -0.0 } ] ,\n \"amount\" : 1e1 } \n",
        r#"{"\u0061mount":10.00,"t\u006F":["\u0044E89",{"\u0078":0e9,"\u0079":true}]}"#,
    ];
    for text in same {
        assert_eq!(of_json(text.as_bytes()), of_json(same[0].as_bytes()));
    }
}

#[test]
fn different_values_have_different_fingerprints() {
    let texts: Vec<_> = r#"
        null true false 0 1 -1 0.1 10 9007199254740991 9007199254740992 9007199254740994
        "" "0" "1" "null" "\u0020" "\u0000" "\\u0000" "a" "A" "é" "e\u0301" "/" "\\/"
        [] {} [[]] [{}] [0] [null] [""] [1,2] [2,1] [12] ["1",2] [[1],2] [1,[2]] [1,2,null]
        {"a":1} {"a":"1"} {"A":1} {"a":2} {"":1} {"\u0020":1} {"a":null} {"a":{}} {"a":[]} {"a":[1]} {"a":{"b":1}}
        {"a":1,"b":2} {"a":2,"b":1} [{"a":1},{"b":2}] {"a\":1,\"b":2} {"a":1,"b":null}
    "#
    .split_whitespace()
    .collect();
    let fingerprints: HashSet<_> =
        (texts.iter().map(|text| of_json(text.as_bytes()).unwrap())).collect();
    assert_eq!(fingerprints.len(), texts.len());
}

#[test]
fn a_payload_of_exactly_the_limit_is_taken() {
    let text = format!("\"{}\"", "x".repeat(PAYLOAD_JSON_BYTES_MAX - 2));
    assert!(of_json(text.as_bytes()).is_ok());
    let bytes_max = PAYLOAD_JSON_BYTES_MAX;
    assert_eq!(
        of_json((text + " ").as_bytes()),
        Err(JsonRefusal::TooLarge { bytes_max })
    );
}

#[test]
fn large_payloads_take_no_time_to_speak_of() {
    let started = Instant::now();
    let names: Vec<_> = (0..100_000_u32)
        .map(|number| format!("\"{:x}\":1", number.reverse_bits()))
        .collect();
    let object = format!("{{{}}}", names.join(","));
    assert!(object.len() > 1024 * 1024);
    assert!(of_json(object.as_bytes()).is_ok());
    let repeated = object.replacen('{', &format!("{{{},", names[99_999]), 1);
    assert!(matches!(
        of_json(repeated.as_bytes()),
        Err(JsonRefusal::DuplicateName(_))
    ));

    let (open, close, escapes) = ("[".repeat(127), "]".repeat(127), "\\n".repeat(500_000));
    let much_within_much = format!("{open}\"{escapes}\",{object}{close}");
    assert!(of_json(much_within_much.as_bytes()).is_ok());

    let zeros = "0".repeat(1_000_000);
    let long_numbers = format!("[1{zeros}e-1000000,0.{zeros}1]");
    assert!(matches!(
        of_json(long_numbers.as_bytes()),
        Err(JsonRefusal::InexactNumber(_))
    ));
    // Far above what any of this takes, far below what a quadratic step would.
    assert!(started.elapsed() < Duration::from_secs(20));
}
