//! A key in drift, and what all of them come to.

use super::{Category, Figures, Finding, Row, Rows};
use crate::receipt::{Amount, Entry, Key, State, Timestamp};

/// A key whose receipt and rows do not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// What does not agree.
    pub category: Category,
    /// The key.
    pub key: Key,
    /// What the ledger says it is, if it holds anything.
    pub state: Option<State>,
    /// Its attempt.
    pub attempt: Option<u32>,
    /// Whether the ledger keeps only its digests.
    pub pruned: bool,
    /// The ledger's amount.
    pub amount: Option<Amount>,
    /// The provider's row; of several applied ones the second, the first that should not be there.
    pub row: Option<Row>,
    /// How many rows were applied.
    pub rows: usize,
    /// Since when it has waited to be reconciled; not on record for what is pruned or was never there.
    pub since: Option<Timestamp>,
}

impl Drift {
    pub(crate) fn new(
        category: Category,
        key: &Key,
        entry: Option<&Entry>,
        rows: Option<&Rows>,
        now: Timestamp,
    ) -> Drift {
        let applied = rows.map_or(&[][..], |rows| rows.applied.as_slice());
        let amount = match entry {
            Some(Entry::Whole(receipt)) => receipt.amount.clone(),
            Some(Entry::Pruned(_)) | None => None,
        };
        Drift {
            category,
            key: key.clone(),
            state: entry.map(|entry| entry.state(now)),
            attempt: entry.map(Entry::attempt),
            pruned: matches!(entry, Some(Entry::Pruned(_))),
            amount,
            row: applied.get(1).or(applied.first()).cloned(),
            rows: applied.len(),
            since: entry.and_then(since),
        }
    }
}

/// The age of drift counts from the first moment at which money can have moved without the two sides agreeing on it,
/// the first reservation, and not from the last change: a receipt that is touched again and again is not younger for
/// it. What was never reserved here counts from when it came on record.
fn since(entry: &Entry) -> Option<Timestamp> {
    match entry {
        Entry::Whole(receipt) => Some(receipt.first_reserved_at.unwrap_or(receipt.created_at)),
        Entry::Pruned(_) => None,
    }
}

/// What a comparison comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Keys on which both sides agree.
    pub agree: u64,
    /// Keys that one of them is not done with.
    pub in_flight: u64,
    /// Keys in drift.
    pub drift: u64,
    /// The age of the oldest receipt in drift, in whole seconds.
    pub oldest_unreconciled_age_s: Option<u64>,
    /// What is uncertain.
    pub figures: Figures,
    /// Receipts outside the window that the provider has rows for: they were not looked at.
    pub outside: u64,
}

impl Report {
    /// Counts one key; its drift, if that is what was found.
    pub(crate) fn count(
        &mut self,
        finding: Finding,
        key: &Key,
        entry: Option<&Entry>,
        rows: Option<&Rows>,
        now: Timestamp,
    ) -> Option<Drift> {
        match finding {
            Finding::Agree => self.agree += 1,
            Finding::InFlight => self.in_flight += 1,
            Finding::Outside => self.outside += u64::from(rows.is_some()),
            Finding::Unproven => {}
            Finding::Drift(category) => {
                self.drift += 1;
                self.figures.add_drift(category, entry, rows);
                let drift = Drift::new(category, key, entry, rows, now);
                let age_ms = drift.since.map(|since| now.ms_since(since).max(0));
                let age_s = age_ms.map(|ms| ms.unsigned_abs() / 1_000);
                self.oldest_unreconciled_age_s = self.oldest_unreconciled_age_s.max(age_s);
                return Some(drift);
            }
        }
        None
    }
}
