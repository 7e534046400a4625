//! The table of contract §9.2: what the ledger says of a key against what the provider does.

use super::money;
use super::{Row, Rows};
use crate::receipt::{Entry, Receipt, State, Timestamp};

/// What does not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Succeeded and applied, with another amount or currency.
    AmountDiffers,
    /// Succeeded, and the provider lacks it.
    RecordedNotApplied,
    /// Applied; the ledger says that it is unknown, failed or only recorded.
    AppliedNotRecorded,
    /// Unknown, and the provider lacks it.
    NotApplied,
    /// Applied, and the ledger holds nothing for the key.
    Unrecorded,
    /// Applied on two rows or more.
    AppliedTwice,
}

impl Category {
    /// Every category.
    pub const ALL: [Category; 6] = [
        Category::AmountDiffers,
        Category::RecordedNotApplied,
        Category::AppliedNotRecorded,
        Category::NotApplied,
        Category::Unrecorded,
        Category::AppliedTwice,
    ];

    /// The category's word, as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Category::AmountDiffers => "amount_differs",
            Category::RecordedNotApplied => "recorded_not_applied",
            Category::AppliedNotRecorded => "applied_not_recorded",
            Category::NotApplied => "not_applied",
            Category::Unrecorded => "unrecorded",
            Category::AppliedTwice => "applied_twice",
        }
    }
}

/// What comparing one key shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Both say the same.
    Agree,
    /// One of them is not done yet.
    InFlight,
    /// They do not agree.
    Drift(Category),
    /// The provider lacks it, and that proves nothing.
    Unproven,
    /// The receipt lies outside the window and is not looked at.
    Outside,
}

/// The time that an export covers: from `since` on, up to but without `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first moment covered.
    pub since: Timestamp,
    /// The first moment that is not covered any more.
    pub until: Timestamp,
}

/// What an export covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope {
    /// The window, if one was named. Receipts outside it are not looked at.
    pub window: Option<Window>,
    /// Whether it holds everything in the window, so that what it lacks was not applied.
    pub complete: bool,
}

impl Scope {
    /// Whether the window ended in the past; without one there is nothing to wait for.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.window.is_none_or(|window| window.until < now)
    }

    /// Whether an export that lacks this receipt shows that it was not applied: all of its life is covered.
    fn covers(&self, receipt: &Receipt, now: Timestamp) -> bool {
        let (Some(window), Some(began)) = (self.window, began(receipt)) else {
            return false;
        };
        self.complete && self.is_over(now) && window.since <= began && ended(receipt) < window.until
    }

    /// Whether no moment of the receipt's life lies in the window. What began at a time that is not on record may have
    /// begun at any.
    fn excludes(&self, receipt: &Receipt) -> bool {
        self.window.is_some_and(|window| {
            ended(receipt) < window.since
                || began(receipt).is_some_and(|began| window.until <= began)
        })
    }
}

/// When the effect could happen for the first time. A receipt without a first reservation that is past attempt 0 was
/// performed before a prune, or somewhere else: nobody knows when.
fn began(receipt: &Receipt) -> Option<Timestamp> {
    match receipt.attempt {
        0 => Some(receipt.created_at),
        _ => receipt.first_reserved_at,
    }
}

/// The last moment at which the ledger knows of anything that could still happen.
fn ended(receipt: &Receipt) -> Timestamp {
    let lease_end = receipt.lease_expires_at;
    lease_end.map_or(receipt.updated_at, |end| end.max(receipt.updated_at))
}

/// Compares what the ledger holds for one key at `now` with the provider's rows for it.
pub fn compare(
    entry: Option<&Entry>,
    rows: Option<&Rows>,
    scope: &Scope,
    now: Timestamp,
) -> Finding {
    if let Some(Entry::Whole(receipt)) = entry
        && scope.excludes(receipt)
    {
        return Finding::Outside;
    }
    match rows.map(|rows| rows.applied.as_slice()) {
        None => lacking(entry, scope, now),
        Some([]) => Finding::InFlight,
        Some([row]) => applied(entry, row, now),
        Some([_, _, ..]) => Finding::Drift(Category::AppliedTwice),
    }
}

fn applied(entry: Option<&Entry>, row: &Row, now: Timestamp) -> Finding {
    let Some(entry) = entry else {
        return Finding::Drift(Category::Unrecorded);
    };
    match entry.state(now) {
        State::Succeeded if money::differ(entry, row) => Finding::Drift(Category::AmountDiffers),
        State::Succeeded => Finding::Agree,
        State::Unknown | State::Failed | State::Recorded => {
            Finding::Drift(Category::AppliedNotRecorded)
        }
        State::Reserved => Finding::InFlight,
    }
}

fn lacking(entry: Option<&Entry>, scope: &Scope, now: Timestamp) -> Finding {
    let receipt = match entry {
        Some(Entry::Whole(receipt)) if scope.covers(receipt, now) => receipt,
        // A pruned receipt has no times on record: no window is known to cover it.
        Some(Entry::Whole(_) | Entry::Pruned(_)) | None => return Finding::Unproven,
    };
    match receipt.state(now) {
        State::Succeeded => Finding::Drift(Category::RecordedNotApplied),
        State::Unknown => Finding::Drift(Category::NotApplied),
        State::Failed => Finding::Agree,
        State::Recorded | State::Reserved => Finding::InFlight,
    }
}
