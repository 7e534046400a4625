//! A value on its way into a statement, written as the server reads it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Number(i64),
    Flag(bool),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    pub(super) fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text))
    }

    pub(super) fn bytes(bytes: &'a [u8]) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(bytes))
    }

    /// The same, which borrows nothing.
    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Number(number) => Value::Number(number),
            Value::Flag(flag) => Value::Flag(flag),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

impl From<&Value<'_>> for String {
    fn from(value: &Value<'_>) -> String {
        match value {
            Value::Text(text) => text.clone().into_owned(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag_word(*flag).to_owned(),
            Value::Bytes(bytes) => bytea(bytes),
        }
    }
}

/// `t` or `f`.
pub(super) fn flag_word(flag: bool) -> &'static str {
    if flag { "t" } else { "f" }
}

/// Writes a number behind what is there.
pub(super) fn push_number(text: &mut String, number: i64) {
    write!(text, "{number}").expect("a string takes everything");
}

/// Bytes as a value of type `bytea`.
pub(super) fn bytea(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    push_hex(&mut text, bytes);
    text
}

/// Writes bytes as hexadecimal digits behind what is there.
pub(super) fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.reserve(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 0x0F] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
}
