//! Reads a provider's export: CSV with a header, or JSON Lines.
//!
//! Keys and amounts are text and never become floating point. Whatever could hide a row (an unclosed quote, a ragged
//! row, a name given twice) is refused: a row that is not seen would count as lacking.

mod csv;
mod json;
mod quotes;

use std::collections::hash_map::Entry;
use std::io::{self, Read};

use super::{Export, Row};
use crate::receipt::{Amount, AmountError, Key, NameError};

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// CSV with a header row.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// The format that the ending of a file's name stands for.
    pub fn by_ending(name: &str) -> Option<Format> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            _ => None,
        }
    }
}

/// A column: its name, and whether somebody asked for it by that name. One that was asked for must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    asked_for: bool,
}

impl Column {
    fn usual(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            asked_for: false,
        }
    }

    /// The column that was asked for, or the usual one.
    fn or_usual(asked_for: Option<String>, usual: &str) -> Column {
        match asked_for {
            Some(name) => Column {
                name,
                asked_for: true,
            },
            None => Column::usual(usual),
        }
    }
}

/// What each used column holds; the order in which they are kept in arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Status,
    Amount,
    Currency,
    Reference,
}

const ROLES: [Role; 5] = [
    Role::Key,
    Role::Status,
    Role::Amount,
    Role::Currency,
    Role::Reference,
];

/// What the columns are called; `None` stands for the usual name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnNames {
    /// Usually `key`. It must always be there.
    pub key: Option<String>,
    /// Usually `status`.
    pub status: Option<String>,
    /// Usually `amount`.
    pub amount: Option<String>,
    /// Usually `currency`.
    pub currency: Option<String>,
    /// Usually `reference`.
    pub reference: Option<String>,
}

/// How to read an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    columns: [Column; 5],
    /// The statuses that stand for an applied row.
    applied_status: Vec<String>,
}

/// The status of what was applied, where nobody says another.
const APPLIED_STATUS: &str = "succeeded";

impl Reading {
    /// With these columns and these statuses of what was applied; none given stands for `succeeded`, and for every row
    /// where there is no status column.
    pub fn new(names: ColumnNames, applied_status: Vec<String>) -> Reading {
        let mut status = Column::or_usual(names.status, "status");
        status.asked_for |= !applied_status.is_empty();
        let applied_status = if applied_status.is_empty() {
            vec![APPLIED_STATUS.to_owned()]
        } else {
            applied_status
        };
        let mut key = Column::or_usual(names.key, "key");
        key.asked_for = true;
        Reading {
            columns: [
                key,
                status,
                Column::or_usual(names.amount, "amount"),
                Column::or_usual(names.currency, "currency"),
                Column::or_usual(names.reference, "reference"),
            ],
            applied_status,
        }
    }

    /// Reads a whole export.
    ///
    /// # Errors
    /// [`ExportError`] for anything that is not as it should be: nothing of the export is then to be used.
    pub fn read(&self, format: Format, source: impl Read) -> Result<Export, ExportError> {
        let source = without_bom(source).map_err(ExportError::Io)?;
        let mut export = Export::new();
        let take = &mut |line, cells: Cells<'_>| self.take(line, cells, &mut export);
        match format {
            Format::Csv => csv::read(self, source, take)?,
            Format::JsonLines => json::read(self, source, take)?,
        }
        if export.is_empty() {
            return Err(Fault::NoRow.alone());
        }
        export.shrink_to_fit();
        Ok(export)
    }

    /// Checks a row and adds it to what the export says of its key.
    fn take(&self, line: u64, cells: Cells<'_>, export: &mut Export) -> Result<(), ExportError> {
        let [key, status, amount, currency, reference] = cells;
        let key = Key::parse(key.unwrap_or_default()).map_err(|why| Fault::Key(why).on(line))?;
        let given = |cell: Option<&str>| cell.filter(|text| !text.is_empty()).map(Box::from);
        let amount: Option<Box<str>> = given(amount);
        if let Some(amount) = &amount {
            Amount::check_value(amount).map_err(|why| Fault::Amount(why).on(line))?;
        }
        let currency = given(currency).map(|code: Box<str>| code.to_ascii_uppercase());
        if let Some(currency) = &currency {
            Amount::check_currency(currency).map_err(|why| Fault::Currency(why).on(line))?;
        }
        let rows = match export.entry(key) {
            Entry::Occupied(rows) => rows.into_mut(),
            Entry::Vacant(slot) => slot.insert(super::Rows::default()),
        };
        if status.is_none_or(|status| self.applied_status.iter().any(|word| word == status)) {
            // One row a key is the rule: room for more is made only where there are more.
            rows.applied
                .reserve_exact(usize::from(rows.applied.is_empty()));
            rows.applied.push(Row {
                line,
                amount,
                currency: currency.map(String::into_boxed_str),
                reference: given(reference),
            });
        }
        Ok(())
    }

    fn column(&self, role: Role) -> &Column {
        &self.columns[role as usize]
    }
}

/// The cells of a row that are used, by role; `None` where the column is not there.
type Cells<'a> = [Option<&'a str>; 5];

/// What is done with each row: its line and its cells.
type Take<'a> = dyn FnMut(u64, Cells<'_>) -> Result<(), ExportError> + 'a;

/// Longest row in bytes: some thousand times a usual one, and it bounds what a file without newlines costs.
const ROW_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why an export is not used. No message repeats a cell.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be read.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// Something in it is wrong.
    #[error("{}{fault}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Wrong {
        /// The line, counted from 1, where it is one line's fault.
        line: Option<u64>,
        /// What is wrong.
        fault: Fault,
    },
}

/// What is wrong with an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Zero bytes, or nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// A header at most.
    #[error("there is not a single row in it")]
    NoRow,
    /// A column that is needed, or was asked for.
    #[error("there is no column {0:?}")]
    NoColumn(String),
    /// A name that is used stands twice.
    #[error("the name {0:?} is there twice")]
    Twice(String),
    /// The key's cell can never match a receipt.
    #[error("the key {0}")]
    Key(NameError),
    /// The amount's cell.
    #[error("the amount {0}")]
    Amount(AmountError),
    /// The currency's cell.
    #[error("the currency {0}")]
    Currency(AmountError),
    /// Another number of cells than the header.
    #[error("the row has {cells} cells, the header {header}")]
    Ragged {
        /// Cells of the row.
        cells: usize,
        /// Cells of the header.
        header: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// A quote that nothing closes: all rows behind it would be one cell.
    #[error("a quote that begins here is never closed")]
    UnclosedQuote,
    /// Text between a closing quote and the next comma: mostly a quote that was not closed in time.
    #[error("there is text behind a closing quote")]
    TextBehindQuote,
    /// Longer than a row may be.
    #[error("the row is longer than {ROW_BYTES_MAX} bytes")]
    TooLong,
    /// No JSON object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// A member that should be a text or a number.
    #[error("{0:?} is neither a text nor a number")]
    NotAText(String),
    /// Some rows say it, some do not.
    #[error("some rows have {0:?} and some do not; it cannot be told which were applied")]
    NowAndThen(String),
}

impl Fault {
    fn on(self, line: u64) -> ExportError {
        ExportError::Wrong {
            line: Some(line),
            fault: self,
        }
    }

    fn alone(self) -> ExportError {
        ExportError::Wrong {
            line: None,
            fault: self,
        }
    }
}

/// The same without a byte order mark at its beginning.
fn without_bom(mut source: impl Read) -> io::Result<impl Read> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let mut head = Vec::with_capacity(BOM.len());
    let first = u64::try_from(BOM.len()).unwrap_or_default();
    source.by_ref().take(first).read_to_end(&mut head)?;
    if head == BOM {
        head.clear();
    }
    Ok(io::Cursor::new(head).chain(source))
}
