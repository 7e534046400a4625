//! Exact sums of what is uncertain, a figure per currency.

use std::collections::BTreeMap;
use std::str::FromStr;

use bigdecimal::BigDecimal;

use super::{Category, Row, Rows};
use crate::receipt::{Amount, Entry};

/// ISO 4217's code for no currency: what is summed up where nobody says which one it was.
pub const NO_CURRENCY: &str = "XXX";

/// Sums, by currency. Everything is added as its absolute value, so that a refund never hides a charge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures(BTreeMap<String, BigDecimal>);

impl Figures {
    /// Each currency in order, and its sum as a plain decimal with all its digits.
    pub fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        let sums = self.0.iter();
        sums.map(|(currency, sum)| (currency.as_str(), sum.to_plain_string()))
    }

    /// Adds what a key in drift leaves uncertain.
    pub fn add_drift(&mut self, category: Category, entry: Option<&Entry>, rows: Option<&Rows>) {
        let ours = entry.and_then(amount);
        let applied = rows.map_or(&[][..], |rows| rows.applied.as_slice());
        match category {
            Category::RecordedNotApplied | Category::NotApplied => {
                if let Some(ours) = ours {
                    self.add(ours.currency(), number(ours.value()));
                }
            }
            Category::AppliedNotRecorded | Category::Unrecorded => {
                for row in applied {
                    self.add_row(row, ours);
                }
            }
            Category::AppliedTwice => {
                for row in applied.iter().skip(1) {
                    self.add_row(row, ours);
                }
            }
            Category::AmountDiffers => {
                if let (Some(ours), Some(row)) = (ours, applied.first())
                    && let Some((theirs, currency)) = theirs(row, Some(ours))
                {
                    let ours_number = number(ours.value());
                    if currency == ours.currency() {
                        self.add(currency, ours_number - theirs);
                    } else {
                        // There is no difference between two currencies: each side is uncertain as a whole.
                        self.add(ours.currency(), ours_number);
                        self.add(currency, theirs);
                    }
                }
            }
        }
    }

    /// The row's amount, or the ledger's where the row has none.
    fn add_row(&mut self, row: &Row, ours: Option<&Amount>) {
        if let Some((theirs, currency)) = theirs(row, ours) {
            self.add(currency, theirs);
        } else if let Some(ours) = ours {
            self.add(ours.currency(), number(ours.value()));
        }
    }

    fn add(&mut self, currency: &str, number: BigDecimal) {
        let sum = self.0.entry(currency.to_owned()).or_default();
        *sum += number.abs();
    }
}

/// Whether both sides have an amount and it is not the same. A provider's amount without a currency is taken to be in
/// the receipt's.
pub(super) fn differ(entry: &Entry, row: &Row) -> bool {
    let ours = amount(entry);
    match (ours, theirs(row, ours)) {
        (Some(ours), Some((theirs, currency))) => {
            currency != ours.currency() || theirs != number(ours.value())
        }
        (_, _) => false,
    }
}

fn amount(entry: &Entry) -> Option<&Amount> {
    match entry {
        Entry::Whole(receipt) => receipt.amount.as_ref(),
        Entry::Pruned(_) => None,
    }
}

/// The row's amount and its currency.
fn theirs<'a>(row: &'a Row, ours: Option<&'a Amount>) -> Option<(BigDecimal, &'a str)> {
    let amount = row.amount.as_deref()?;
    let currency = row.currency.as_deref();
    let currency = currency
        .or(ours.map(Amount::currency))
        .unwrap_or(NO_CURRENCY);
    Some((number(amount), currency))
}

fn number(plain_decimal: &str) -> BigDecimal {
    BigDecimal::from_str(plain_decimal).expect("a plain decimal, as was checked when it was read")
}
