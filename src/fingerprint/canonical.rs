//! The canonical form (RFC 8785) of a JSON value.
//!
//! The library that writes the canonical form takes a value apart from how it was written; whether two names were the
//! same, or a number had more digits than a double, is lost by then. So the text, its grammar already checked, is walked
//! here token by token into a small tree, and refused where that would lose something.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::json::{JsonRefusal, Position, WHITE_SPACE};
use super::number;

/// How many arrays and objects may lie within one another: reading and writing them takes a stack frame for each.
pub const NESTING_MAX: usize = 128;

/// The canonical form of `text`, which must be one JSON value by its grammar.
pub(super) fn of(text: &str) -> Result<Vec<u8>, JsonRefusal> {
    let value = Walk { text, at: 0 }.value(0)?;
    Ok(serde_json_canonicalizer::to_vec(&value)
        .expect("unique names and finite numbers have a canonical form"))
}

enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    // Boxed slices: a payload may be millions of small arrays or objects, and a growing list keeps room to spare.
    Array(Box<[Value<'a>]>),
    Object(Box<[Member<'a>]>),
}

struct Member<'a> {
    name: Cow<'a, str>,
    name_at: usize,
    value: Value<'a>,
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(value) => serializer.serialize_f64(*value),
            Value::Text(value) => serializer.serialize_str(value),
            Value::Array(values) => serializer.collect_seq(values),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|member| (&member.name, &member.value)))
            }
        }
    }
}

/// A walk over a text whose grammar is known to be right: it looks only at what tells the tokens apart, and should
/// anything be unlike its expectation after all, it refuses.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn value(&mut self, depth: usize) -> Result<Value<'a>, JsonRefusal> {
        match self.next_token() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            _ => Err(self.unexpected()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, JsonRefusal> {
        self.check_depth(depth)?;
        self.at += 1;
        let mut members = Vec::new();
        while !self.skipped(b'}') {
            let name_at = self.at;
            let name = self.string()?;
            if !self.skipped(b':') {
                return Err(self.unexpected());
            }
            let value = self.value(depth)?;
            members.push(Member {
                name,
                name_at,
                value,
            });
            self.skipped(b',');
        }

        // Brings equal names together; the writer sorts once more, by what RFC 8785 asks for.
        members.sort_by(|a, b| a.name.cmp(&b.name));
        match members.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(JsonRefusal::DuplicateName(self.position(pair[1].name_at))),
            None => Ok(Value::Object(members.into_boxed_slice())),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, JsonRefusal> {
        self.check_depth(depth)?;
        self.at += 1;
        let mut values = Vec::new();
        while !self.skipped(b']') {
            values.push(self.value(depth)?);
            self.skipped(b',');
        }
        Ok(Value::Array(values.into_boxed_slice()))
    }

    fn check_depth(&self, depth: usize) -> Result<(), JsonRefusal> {
        if depth <= NESTING_MAX {
            return Ok(());
        }
        Err(JsonRefusal::TooDeep(self.position(self.at)))
    }

    /// The string whose opening quotation mark comes next, its escapes read.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonRefusal> {
        if self.next_token() != Some(b'"') {
            return Err(self.unexpected());
        }
        let opening = self.at;
        let (mut escaped, mut has_escapes) = (false, false);
        let length = self.rest()[1..].bytes().position(|byte| {
            let closing = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            has_escapes |= escaped;
            closing
        });
        let Some(length) = length else {
            return Err(self.unexpected());
        };
        self.at = opening + length + 2;
        if !has_escapes {
            return Ok(Cow::Borrowed(&self.text[opening + 1..self.at - 1]));
        }
        // With the grammar known to be right, only an escape that is half of a pair can fail.
        serde_json::from_str(&self.text[opening..self.at])
            .map(Cow::Owned)
            .map_err(|_| JsonRefusal::LoneSurrogate(self.position(opening)))
    }

    fn number(&mut self) -> Result<Value<'a>, JsonRefusal> {
        let start = self.at;
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        self.at += (self.rest().bytes().take_while(|&byte| is_part(byte))).count();
        number::exact(&self.text[start..self.at])
            .map(Value::Number)
            .ok_or_else(|| JsonRefusal::InexactNumber(self.position(start)))
    }

    fn literal(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, JsonRefusal> {
        if !self.rest().starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(value)
    }

    /// Passes over white space, and over `byte` if that comes next; stands at the next token in either case.
    fn skipped(&mut self, byte: u8) -> bool {
        let found = self.next_token() == Some(byte);
        if found {
            self.at += 1;
            self.next_token();
        }
        found
    }

    /// Passes over white space and tells the byte that comes next, which stays.
    fn next_token(&mut self) -> Option<u8> {
        self.at = self.text.len() - self.rest().trim_start_matches(WHITE_SPACE).len();
        self.rest().bytes().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn unexpected(&self) -> JsonRefusal {
        JsonRefusal::NotJson(self.position(self.at))
    }

    fn position(&self, byte: usize) -> Position {
        Position::of(self.text.as_bytes(), byte)
    }
}
