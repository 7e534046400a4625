//! Many values in one: PostgreSQL's arrays, written as text.

/// An array of values, any of them NULL.
#[derive(Debug, Clone, Default)]
pub(super) struct Array(String);

impl Array {
    /// The next value.
    pub(super) fn push(&mut self, value: Option<&str>) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        match value {
            None => self.0.push_str("NULL"),
            Some(value) => {
                self.0.push('"');
                for character in value.chars() {
                    if matches!(character, '"' | '\\') {
                        self.0.push('\\');
                    }
                    self.0.push(character);
                }
                self.0.push('"');
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Array> for String {
    fn from(mut array: Array) -> String {
        if array.0.is_empty() {
            array.0.push('{');
        }
        array.0.push('}');
        array.0
    }
}

impl<S: AsRef<str>> FromIterator<S> for Array {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Array {
        let mut array = Array::default();
        for value in values {
            array.push(Some(value.as_ref()));
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
            array.push(value);
        }
        assert_eq!(
            String::from(array),
            r#"{"a",NULL,"NULL","{\"b\":\"\\n\"}, c",""}"#
        );
    }
}
