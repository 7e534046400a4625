//! Many values in one: PostgreSQL's arrays, written as text.

use memchr::memchr2;

use super::value::{Value, flag_word, push_hex, push_number};

/// An array of values, any of them NULL. It ends with its last value: beside longer ones `unnest` fills it up with NULL.
#[derive(Debug, Clone, Default)]
pub(super) struct Array {
    text: String,
    /// NULLs that are not written, as no value has followed yet.
    nulls: usize,
}

impl Array {
    /// The next value.
    pub(super) fn push(&mut self, value: Option<&Value<'_>>) {
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        for _ in 0..self.nulls {
            self.part();
            self.text.push_str("NULL");
        }
        self.nulls = 0;
        self.part();
        match value {
            Value::Text(text) => self.quote(text),
            Value::Number(number) => push_number(&mut self.text, *number),
            Value::Flag(flag) => self.text.push_str(flag_word(*flag)),
            Value::Bytes(bytes) => {
                self.text.push_str("\"\\\\x");
                push_hex(&mut self.text, bytes);
                self.text.push('"');
            }
        }
    }

    fn quote(&mut self, text: &str) {
        self.text.push('"');
        let mut rest = text;
        while let Some(at) = memchr2(b'"', b'\\', rest.as_bytes()) {
            self.text.push_str(&rest[..at]);
            self.text.push('\\');
            self.text.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        self.text.push_str(rest);
        self.text.push('"');
    }

    fn part(&mut self) {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
    }

    /// Whether it has no value.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<Array> for String {
    fn from(array: Array) -> String {
        let mut text = array.text;
        if text.is_empty() {
            text.push('{');
        }
        text.push('}');
        text
    }
}

impl<'a> FromIterator<Value<'a>> for Array {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Array {
        let mut array = Array::default();
        for value in values {
            array.push(Some(&value));
        }
        array
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_so_that_each_stays_one_value() {
        let mut array = Array::default();
        assert_eq!(String::from(array.clone()), "{}");
        for value in [
            Some("a"),
            None,
            Some("NULL"),
            Some(r#"{"b":"\n"}, c"#),
            Some(""),
        ] {
            array.push(value.map(Value::text).as_ref());
        }
        let text = r#"{"a",NULL,"NULL","{\"b\":\"\\n\"}, c",""}"#;
        assert_eq!(String::from(array.clone()), text);
        array.push(None);
        assert_eq!(String::from(array), text);
    }

    #[test]
    fn numbers_flags_and_bytes_are_written_as_the_server_reads_them() {
        let values = [
            Value::Number(-7),
            Value::Flag(true),
            Value::Flag(false),
            Value::bytes(&[0, 0xAB]),
        ];
        let array: Array = values.into_iter().collect();
        assert_eq!(String::from(array), r#"{-7,t,f,"\\x00ab"}"#);
    }
}
