//! What is asked of the server, and what comes back.

use std::borrow::Cow;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorFields;

use super::value::Parameter;

/// A statement and its values.
#[derive(Debug, Clone)]
pub(super) struct Statement<'a> {
    pub(super) sql: Cow<'a, str>,
    pub(super) values: Vec<Option<Parameter>>,
}

impl<'a> Statement<'a> {
    /// A statement without values.
    pub(super) fn new(sql: &'a str) -> Statement<'a> {
        Statement {
            sql: Cow::Borrowed(sql),
            values: Vec::new(),
        }
    }

    /// The same, written for the occasion.
    pub(super) fn made(sql: String) -> Statement<'static> {
        Statement {
            sql: Cow::Owned(sql),
            values: Vec::new(),
        }
    }

    /// The next value.
    pub(super) fn with(self, value: impl Into<Parameter>) -> Statement<'a> {
        self.with_optional(Some(value))
    }

    /// The next value, which may be NULL.
    pub(super) fn with_optional(mut self, value: Option<impl Into<Parameter>>) -> Statement<'a> {
        self.values.push(value.map(Into::into));
        self
    }
}

/// What a statement was answered with.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// What it returned.
    pub(super) rows: Vec<Row>,
    /// What was done, as `COMMIT` or `INSERT 0 1`.
    pub(super) tag: String,
    /// The first warning that came with it.
    pub(super) warning: Option<String>,
}

impl Answer {
    /// How many rows it touched.
    pub(super) fn count(&self) -> u64 {
        let last = self.tag.rsplit(' ').next();
        last.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

/// A row: values as text, by the names of their columns.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) columns: Rc<[String]>,
    pub(super) values: Vec<Option<Bytes>>,
}

impl Row {
    /// How many bytes its values have.
    pub(super) fn bytes(&self) -> usize {
        self.values.iter().flatten().map(Bytes::len).sum()
    }

    /// A column's text; the outer `None` where there is no such column or it is not UTF-8.
    pub(super) fn get(&self, column: &str) -> Option<Option<&str>> {
        let at = self.columns.iter().position(|name| name == column)?;
        match self.values.get(at)? {
            None => Some(None),
            Some(bytes) => std::str::from_utf8(bytes).ok().map(Some),
        }
    }
}

/// The constraint that keeps a second row of a key out.
const ONE_ROW_A_KEY: &str = "receipt_key_digest_key";

/// The server's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// Five characters of SQLSTATE.
    pub(super) code: String,
    pub(super) message: String,
    /// Whether it is that a key has a row already.
    pub(super) second_row: bool,
    /// Whether the connection ends with it.
    pub(super) fatal: bool,
    /// Which of the statements sent together it answers.
    pub(super) statement: usize,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server refused.
    Server(ServerError),
    /// The connection is gone.
    Lost(io::Error),
    /// The time was over.
    Late,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        let late = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        );
        if late {
            Fault::Late
        } else {
            Fault::Lost(error)
        }
    }
}

/// An error or a notice, and how bad it is in words that no setting translates.
pub(super) fn server_error(
    mut fields: ErrorFields<'_>,
    statement: usize,
) -> io::Result<(ServerError, String)> {
    let (mut severity, mut code, mut message) = (String::new(), String::new(), String::new());
    let (mut schema, mut constraint) = (String::new(), String::new());
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'V' => severity = value,
            b'C' => code = value,
            b'M' => message = value,
            b's' => schema = value,
            b'n' => constraint = value,
            _ => {}
        }
    }
    let fatal = severity == "FATAL" || severity == "PANIC";
    let error = ServerError {
        code,
        message,
        second_row: schema == "receipt_ledger" && constraint == ONE_ROW_A_KEY,
        fatal,
        statement,
    };
    Ok((error, severity))
}
