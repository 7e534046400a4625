//! Many values in one: PostgreSQL's arrays, in the server's own form.

use postgres_protocol::Oid;

use super::value::{Parameter, Value};

/// PostgreSQL's numbers for the types of elements, the same in every version.
const BOOLEAN: Oid = 16;
const BYTEA: Oid = 17;
const BIGINT: Oid = 20;
const TEXT: Oid = 25;

/// What stands for NULL where an element's length does.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// An array of values of one type, any of them NULL. It ends with its last value: beside longer ones `unnest` fills it up
/// with NULL.
#[derive(Debug, Clone, Default)]
pub(super) struct Array {
    kind: Oid,
    /// Each with its length before it.
    elements: Vec<u8>,
    count: i32,
    /// NULLs that are not written, as no value has followed yet.
    nulls: i32,
    has_null: bool,
}

impl Array {
    /// The next value, of the type that those before it have.
    pub(super) fn push(&mut self, value: Option<&Value<'_>>) {
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        for _ in 0..self.nulls {
            self.elements.extend_from_slice(&NULL);
        }
        self.has_null |= self.nulls > 0;
        self.count += self.nulls + 1;
        self.nulls = 0;
        match value {
            Value::Text(text) => self.element(TEXT, text.as_bytes()),
            Value::Number(number) => self.element(BIGINT, &number.to_be_bytes()),
            Value::Flag(flag) => self.element(BOOLEAN, &[u8::from(*flag)]),
            Value::Bytes(bytes) => self.element(BYTEA, bytes),
        }
    }

    fn element(&mut self, kind: Oid, bytes: &[u8]) {
        let length = i32::try_from(bytes.len()).expect("no value is near 2 GiB");
        self.kind = kind;
        self.elements.extend_from_slice(&length.to_be_bytes());
        self.elements.extend_from_slice(bytes);
    }

    /// Whether it has no value.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl From<Array> for Parameter {
    fn from(array: Array) -> Parameter {
        // Without an element it has no type, which text does without.
        if array.is_empty() {
            return Parameter::from("{}");
        }
        const DIMENSIONS: i32 = 1;
        const FIRST: i32 = 1;
        let mut bytes = Vec::with_capacity(20 + array.elements.len());
        bytes.extend_from_slice(&DIMENSIONS.to_be_bytes());
        bytes.extend_from_slice(&i32::from(array.has_null).to_be_bytes());
        bytes.extend_from_slice(&array.kind.to_be_bytes());
        bytes.extend_from_slice(&array.count.to_be_bytes());
        bytes.extend_from_slice(&FIRST.to_be_bytes());
        bytes.extend_from_slice(&array.elements);
        Parameter::Binary(bytes)
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

    /// The elements as the protocol's crate reads them.
    fn read(array: Array) -> (Oid, Vec<Option<Vec<u8>>>) {
        use fallible_iterator::FallibleIterator as _;
        let Parameter::Binary(bytes) = Parameter::from(array) else {
            panic!("it has no elements");
        };
        let array = postgres_protocol::types::array_from_sql(&bytes).expect("it is an array");
        assert!(matches!(array.dimensions().count(), Ok(1)));
        let elements = array.values().map(|value| Ok(value.map(<[u8]>::to_vec)));
        (
            array.element_type(),
            elements.collect().expect("it has them all"),
        )
    }

    #[test]
    fn an_array_holds_what_was_pushed_up_to_the_last_value() {
        let mut array = Array::default();
        assert_eq!(Parameter::from(array.clone()), Parameter::from("{}"));
        array.push(None);
        assert_eq!(Parameter::from(array.clone()), Parameter::from("{}"));
        for value in [Some("a"), None, Some("NULL"), Some("")] {
            array.push(value.map(Value::text).as_ref());
        }
        array.push(None);
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let values = vec![None, bytes("a"), None, bytes("NULL"), bytes("")];
        assert_eq!(read(array), (TEXT, values));
    }

    #[test]
    fn every_type_has_its_form() {
        let of = |values: [Value<'_>; 2]| read(values.into_iter().collect());
        let numbers = of([Value::Number(-2), Value::Number(258)]);
        let written = |number: i64| Some(number.to_be_bytes().to_vec());
        assert_eq!(numbers, (BIGINT, vec![written(-2), written(258)]));
        let flags = of([Value::Flag(true), Value::Flag(false)]);
        assert_eq!(flags, (BOOLEAN, vec![Some(vec![1]), Some(vec![0])]));
        let bytes = of([Value::bytes(&[0, 0xAB]), Value::bytes(&[])]);
        assert_eq!(bytes, (BYTEA, vec![Some(vec![0, 0xAB]), Some(vec![])]));
    }
}
