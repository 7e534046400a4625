//! Values on their way into a statement.

use std::borrow::Cow;

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

/// What a statement is given for one of its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parameter {
    /// Written as text, which the server reads as whatever type belongs there.
    Text(String),
    /// In the server's own form for the type.
    Binary(Vec<u8>),
}

impl Parameter {
    /// The number that the protocol has for the form.
    pub(super) fn format(&self) -> i16 {
        match self {
            Parameter::Text(_) => 0,
            Parameter::Binary(_) => 1,
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Parameter::Text(text) => text.as_bytes(),
            Parameter::Binary(bytes) => bytes,
        }
    }
}

impl From<String> for Parameter {
    fn from(text: String) -> Parameter {
        Parameter::Text(text)
    }
}

impl From<&str> for Parameter {
    fn from(text: &str) -> Parameter {
        Parameter::Text(text.to_owned())
    }
}

impl From<&Value<'_>> for Parameter {
    fn from(value: &Value<'_>) -> Parameter {
        match value {
            Value::Text(text) => Parameter::Text(text.clone().into_owned()),
            Value::Number(number) => Parameter::Text(number.to_string()),
            Value::Flag(flag) => Parameter::Text(flag.to_string()),
            Value::Bytes(bytes) => Parameter::Binary(bytes.clone().into_owned()),
        }
    }
}

impl From<Value<'_>> for Parameter {
    fn from(value: Value<'_>) -> Parameter {
        Parameter::from(&value)
    }
}
