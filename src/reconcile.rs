//! Comparing the ledger with what the provider says it did (contract §9.2).
//!
//! [`provider`] reads an export, [`compare()`] is the table, [`Figures`] adds up the money that is uncertain, and
//! [`settle`] is the rule that puts what the export proves on record. Only `provider` reads anything; nothing here
//! opens a ledger or knows a clock.

mod compare;
mod drift;
mod money;
pub mod provider;
mod settle;

pub use compare::{Category, Finding, Scope, Window, compare};
pub use drift::{Drift, Report};
pub use money::{Figures, NO_CURRENCY};
pub use settle::{Proof, Seen, settle};

use std::collections::HashMap;

use crate::receipt::Key;

/// What the provider's export says of each key.
pub type Export = HashMap<Key, Rows>;

/// What an export says of one key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// The rows that were applied, in the export's order. Rows of any other status prove nothing: where there are only
    /// such rows, this is empty.
    pub applied: Vec<Row>,
}

/// A row that the provider applied. A million of them, each with a key, an amount, a currency and a reference of usual
/// length, were measured to take 320 MiB of memory at the most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The line it begins on, counted from 1.
    pub line: u64,
    /// A plain decimal, as the export writes it.
    pub amount: Option<Box<str>>,
    /// A currency code in upper case.
    pub currency: Option<Box<str>>,
    /// What the provider calls it.
    pub reference: Option<Box<str>>,
}

/// A request to compare.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reconcile {
    /// What the export calls itself, for evidence.
    pub name: String,
    /// What the export covers.
    pub scope: Scope,
    /// Only keys that begin with this.
    pub prefix: Option<String>,
    /// Put what was applied exactly once on record as succeeded.
    pub settle: bool,
    /// Put what is unknown and was not applied on record as failed.
    pub settle_absent: bool,
}

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileAnswer {
    /// What was found, drift aside: that was handed out as it was found.
    Compared(Report),
    /// The window is not over yet, so that nothing can be said to lack.
    WindowNotOver,
}
