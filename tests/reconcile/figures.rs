//! What each category leaves uncertain, per currency.

use receipt_ledger::receipt::{Amount, Entry, State};
use receipt_ledger::reconcile::{Category, Figures, Row, Rows};

use crate::cast::*;

fn figures(category: Category, ours: &str, theirs: &[(&str, &str)]) -> String {
    let mut figures = Figures::default();
    add(&mut figures, category, ours, theirs);
    shown(&figures)
}

/// `ours` is `value CURRENCY`, or nothing for a receipt without an amount.
fn add(figures: &mut Figures, category: Category, ours: &str, theirs: &[(&str, &str)]) {
    let mut receipt = receipt(State::Unknown);
    receipt.amount = ours
        .split_once(' ')
        .map(|(value, currency)| Amount::parse(value, currency).unwrap());
    let applied: Vec<Row> = theirs
        .iter()
        .map(|(amount, currency)| row(2, amount, currency))
        .collect();
    figures.add_drift(category, Some(&whole(receipt)), Some(&Rows { applied }));
}

fn shown(figures: &Figures) -> String {
    let shown = figures
        .iter()
        .map(|(currency, sum)| format!("{currency}={sum}"));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_category_counts_the_side_that_it_leaves_uncertain() {
    use Category::*;
    let theirs = &[("9.99", "EUR")][..];
    for (category, expected) in [
        (RecordedNotApplied, "EUR=12.50"),
        (NotApplied, "EUR=12.50"),
        (AppliedNotRecorded, "EUR=9.99"),
        (Unrecorded, "EUR=9.99"),
        (AmountDiffers, "EUR=2.51"),
    ] {
        assert_eq!(
            figures(category, "12.50 EUR", theirs),
            expected,
            "{category:?}"
        );
    }
}

#[test]
fn of_what_was_applied_twice_all_but_the_first_row_counts() {
    let three = [("1.00", "EUR"), ("2.00", "EUR"), ("4.00", "USD")];
    let counted = figures(Category::AppliedTwice, "1.00 EUR", &three);
    assert_eq!(counted, "EUR=2.00 USD=4.00");
}

#[test]
fn a_row_without_an_amount_counts_as_the_receipt_says() {
    use Category::*;
    let counted = figures(AppliedNotRecorded, "12.50 EUR", &[("", "")]);
    assert_eq!(counted, "EUR=12.50");
    let counted = figures(AppliedTwice, "12.50 EUR", &[("", ""), ("", "")]);
    assert_eq!(counted, "EUR=12.50");
    assert_eq!(figures(AppliedNotRecorded, "", &[("", "")]), "");
    assert_eq!(figures(RecordedNotApplied, "", &[]), "");
}

#[test]
fn an_amount_without_a_currency_is_the_receipts_or_none() {
    use Category::*;
    let counted = figures(AppliedNotRecorded, "12.50 EUR", &[("3", "")]);
    assert_eq!(counted, "EUR=3");
    assert_eq!(figures(AppliedNotRecorded, "", &[("3", "")]), "XXX=3");
    let mut figures = Figures::default();
    let entry: Option<&Entry> = None;
    let rows = Rows {
        applied: vec![row(2, "3", "")],
    };
    figures.add_drift(Unrecorded, entry, Some(&rows));
    assert_eq!(shown(&figures), "XXX=3");
}

#[test]
fn between_two_currencies_each_side_counts_whole() {
    let counted = figures(Category::AmountDiffers, "10.00 EUR", &[("11.00", "USD")]);
    assert_eq!(counted, "EUR=10.00 USD=11.00");
}

#[test]
fn sums_are_exact() {
    let mut sums = Figures::default();
    for amount in ["0.10", "0.20"] {
        add(
            &mut sums,
            Category::AppliedNotRecorded,
            "",
            &[(amount, "EUR")],
        );
    }
    assert_eq!(shown(&sums), "EUR=0.30");
    let mut sums = Figures::default();
    let long = "9999999999999999999999999999999999999.99";
    for _ in 0..2 {
        add(&mut sums, Category::Unrecorded, "", &[(long, "EUR")]);
    }
    assert_eq!(
        shown(&sums),
        "EUR=19999999999999999999999999999999999999.98"
    );
}

#[test]
fn a_refund_does_not_hide_a_charge() {
    let mut sums = Figures::default();
    for amount in ["10.00", "-10.00"] {
        add(
            &mut sums,
            Category::AppliedNotRecorded,
            "",
            &[(amount, "EUR")],
        );
    }
    assert_eq!(shown(&sums), "EUR=20.00");
    let counted = figures(Category::AmountDiffers, "10.00 EUR", &[("10.50", "EUR")]);
    assert_eq!(counted, "EUR=0.50");
}

#[test]
fn small_and_round_amounts_are_written_without_an_exponent() {
    let small = "0.00000000000000000000000000000000000001";
    let counted = figures(Category::Unrecorded, "", &[(small, "BTC")]);
    assert_eq!(counted, format!("BTC={small}"));
    let round = "1000000000000000000000000000000000000000";
    let counted = figures(Category::Unrecorded, "", &[(round, "IDR")]);
    assert_eq!(counted, format!("IDR={round}"));
}
