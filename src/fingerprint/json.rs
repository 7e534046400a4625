//! Reading one JSON value: what is refused, and where in the text.
//!
//! `serde_json` checks the grammar. Its errors are not passed on: a message from here holds positions, never content.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Deserialize;
use serde_json::{Deserializer, error::Category, value::RawValue};

use super::NESTING_MAX;

/// The four characters that JSON calls white space; Rust's own notion is wider.
pub(super) const WHITE_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// A place in a JSON text, for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, counted from 1.
    pub line: usize,
    /// The byte within the line, counted from 1.
    pub column: usize,
    /// The byte within the text, counted from 0.
    pub byte: usize,
}

impl Position {
    /// Where `byte`, an offset into `text`, is for somebody who looks at the text in an editor.
    pub(super) fn of(text: &[u8], byte: usize) -> Self {
        let before = &text[..byte.min(text.len())];
        let line_start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        Self {
            line: before.iter().filter(|&&b| b == b'\n').count() + 1,
            column: before.len() - line_start + 1,
            byte,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} column {} (byte {})",
            self.line, self.column, self.byte
        )
    }
}

/// Why a JSON text is not taken. No message repeats anything of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonRefusal {
    /// Longer than the caller allows.
    #[error("the JSON text is longer than {bytes_max} bytes")]
    TooLarge {
        /// The most that would have been taken, in bytes.
        bytes_max: usize,
    },
    /// Nothing, or nothing but white space.
    #[error("the JSON text is empty")]
    Empty,
    /// A byte order mark, of UTF-8 or of UTF-16.
    #[error("the JSON text starts with a byte order mark: it must be UTF-8 without one")]
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    #[error("the JSON text is not UTF-8 at {0}")]
    InvalidUtf8(Position),
    /// Anything that the grammar of JSON does not allow; the position is where it was noticed, or a few bytes before.
    #[error("the text is not JSON near {0}")]
    NotJson(Position),
    /// The text stops inside a value, as after a write that was cut short.
    #[error("the JSON text ends too early, at {0}")]
    Incomplete(Position),
    /// `NaN` or `Infinity`, which some programs write and JSON does not have.
    #[error("NaN or Infinity at {0}: JSON has no such number")]
    NotFinite(Position),
    /// Something other than white space after the value.
    #[error("there is more text after the JSON value, at {0}")]
    TrailingText(Position),
    /// An object in which two names are the same once their escapes are read; the position is that of the second.
    #[error("an object has the same name twice, the second time at {0}")]
    DuplicateName(Position),
    /// Half of a surrogate pair, which is no character; the position is that of the string.
    #[error("the string at {0} holds a lone surrogate, which is not a character")]
    LoneSurrogate(Position),
    /// Arrays and objects within one another beyond [`NESTING_MAX`]; the position is that of the bracket which opens one
    /// level too many.
    #[error("arrays and objects are nested deeper than {NESTING_MAX} levels at {0}")]
    TooDeep(Position),
    /// A number whose value the canonical form, a double, does not keep.
    #[error("the number at {0} would change its value in canonical form: write it as a string")]
    InexactNumber(Position),
}

/// A JSON result as a receipt keeps it: `text` without the white space between its tokens, and otherwise exactly as given
/// (number literals, escapes, the order of names, even names given twice).
///
/// `bytes_max` bounds `text` as given, usually by [`RESULT_BYTES_MAX`](super::RESULT_BYTES_MAX). Nesting is not limited.
///
/// # Errors
///
/// A [`JsonRefusal`] where `text` is too large, empty, not UTF-8, starts with a byte order mark or is not exactly one JSON
/// value.
pub fn compact_json(text: &[u8], bytes_max: usize) -> Result<String, JsonRefusal> {
    let mut compact = one_value(text, bytes_max)?
        .trim_matches(WHITE_SPACE)
        .to_owned();
    let (mut in_string, mut escaped) = (false, false);
    compact.retain(|character| {
        in_string ^= character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
        in_string || !WHITE_SPACE.contains(&character)
    });
    Ok(compact)
}

/// `bytes` as text, proven to be exactly one JSON value by its grammar, with white space before and after as given.
/// Needs no stack, however deep the nesting.
pub(super) fn one_value(bytes: &[u8], bytes_max: usize) -> Result<&str, JsonRefusal> {
    if bytes.len() > bytes_max {
        return Err(JsonRefusal::TooLarge { bytes_max });
    }
    if let [0xEF, 0xBB, 0xBF, ..] | [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] = bytes {
        return Err(JsonRefusal::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonRefusal::InvalidUtf8(Position::of(bytes, error.valid_up_to())))?;
    let from_value = text.trim_start_matches(WHITE_SPACE);
    if from_value.is_empty() {
        return Err(JsonRefusal::Empty);
    }

    let mut deserializer = Deserializer::from_str(text);
    let value = <&RawValue>::deserialize(&mut deserializer).map_err(|e| refusal(text, &e))?;
    let after_value = &from_value[value.get().len()..];
    let trailing = after_value.trim_start_matches(WHITE_SPACE).len();
    if trailing > 0 {
        let position = Position::of(bytes, text.len() - trailing);
        return Err(JsonRefusal::TrailingText(position));
    }
    Ok(text)
}

fn refusal(text: &str, error: &serde_json::Error) -> JsonRefusal {
    if error.classify() == Category::Eof {
        return JsonRefusal::Incomplete(Position::of(text.as_bytes(), text.len()));
    }
    // serde_json's column counts the bytes of the line up to and including the one at fault; it is 0 where that one is
    // the line feed itself.
    let line_start: usize = (text.split_inclusive('\n').map(str::len))
        .take(error.line().saturating_sub(1))
        .sum();
    let at_fault = (line_start + error.column()).saturating_sub(1);
    let position = Position::of(text.as_bytes(), at_fault);
    let rest = text.as_bytes().get(at_fault..).unwrap_or_default();
    if rest.starts_with(b"NaN") || rest.starts_with(b"Infinity") {
        return JsonRefusal::NotFinite(position);
    }
    JsonRefusal::NotJson(position)
}
