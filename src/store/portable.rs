//! A ledger on its way to another one, whatever engine keeps it.

use crate::receipt::{HistoryRow, KeyDigest, Pruned, Receipt};

/// One item of a whole ledger, in the order: receipts as they came on record, digests by key digest, the count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portable {
    /// A whole receipt.
    Receipt {
        /// The receipt.
        receipt: Box<Receipt>,
        /// Its history, oldest first.
        history: Vec<HistoryRow>,
        /// The payload kept for it.
        payload: Option<Vec<u8>>,
    },
    /// What is left of a pruned one.
    Pruned {
        /// Its key's digest.
        key: KeyDigest,
        /// What it answers.
        pruned: Pruned,
    },
    /// How many receipts were deleted whole, ever.
    Forgotten(u64),
}

/// Where an import reads from.
pub trait Source {
    /// The next item; nothing behind the last. `Err` abandons the import: nothing of it is kept.
    ///
    /// # Errors
    /// [`Abandon`]; the source itself knows why.
    fn next(&mut self) -> Result<Option<Portable>, Abandon>;
}

/// The source cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandon;

/// What came of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// It was taken.
    Taken {
        /// Receipts and digests that were not there before.
        added: u64,
        /// Receipts and digests that were there, the same.
        unchanged: u64,
    },
    /// It says something else than the ledger does; nothing was changed.
    Contradicts {
        /// The key, or the digest of one.
        key: String,
    },
    /// The source gave up; nothing was changed.
    Abandoned,
}
