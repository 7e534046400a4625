//! Many rows, a page at a time, from one view that holds nobody up.

use super::error::Trouble;
use super::meta::{HEAD, Head};
use super::patience::Patience;
use super::session::Session;
use super::wire::{Row, Statement};

/// Rows of the first page, and the most of one.
const ROWS_FIRST: usize = 64;
const ROWS_MAX: usize = 4096;
/// A page is kept about so large, in bytes of what its rows hold: a result may have a megabyte.
const PAGE_BYTES: usize = 1024 * 1024;

/// How many rows to ask for next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page(usize);

impl Page {
    pub(super) fn first() -> Page {
        Page(ROWS_FIRST)
    }

    /// The number of rows, as a value.
    pub(super) fn rows(self) -> String {
        self.0.to_string()
    }

    /// Whether so many rows are all there are.
    pub(super) fn is_last(self, rows: usize) -> bool {
        rows < self.0
    }

    /// Larger after a small page, smaller after a large one.
    pub(super) fn next(self, rows: &[Row]) -> Page {
        let bytes: usize = rows.iter().map(Row::bytes).sum();
        if bytes > PAGE_BYTES {
            Page((self.0 / 2).max(1))
        } else if bytes < PAGE_BYTES / 4 {
            Page((self.0 * 2).min(ROWS_MAX))
        } else {
            self
        }
    }
}

/// Opens a view, works in it for as long as it takes, and closes it.
pub(super) fn look<T>(
    session: &mut Session,
    patience: Patience,
    work: impl FnOnce(&mut Session, &Head) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let mut statements: Vec<_> = Session::viewing(patience).into();
    statements.push(Statement::new(HEAD));
    let answers = session.ask(&statements, patience)?;
    let head = answers
        .last()
        .ok_or(Trouble::Impossible("schema_version"))?;
    let head = Head::of(head, session)?;
    let done = work(session, &head);
    session.roll_back(patience);
    done
}
