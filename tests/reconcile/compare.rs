//! Every row of the table, whole and pruned, against every column; then the window, moment by moment.

use receipt_ledger::receipt::{Entry, Receipt, State};
use receipt_ledger::reconcile::{Category, Finding, Rows, Scope, compare};

use crate::cast::*;
use crate::table::cells;

/// `lacks` is a provider that lacks the key in a complete export of the window, `unsaid` one in an export that nobody
/// called complete, `no window` one without any window. `-` is: nothing can be said.
const TABLE: &str = "
| ledger says             | once                 | other amount         | twice         | unapplied | lacks                | unsaid | no window |
| nothing                 | unrecorded           | unrecorded           | applied_twice | in_flight | -                    | -      | -         |
| recorded                | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | in_flight            | -      | -         |
| reserved, no lease      | in_flight            | in_flight            | applied_twice | in_flight | in_flight            | -      | -         |
| reserved, lease running | in_flight            | in_flight            | applied_twice | in_flight | -                    | -      | -         |
| reserved, lease run out | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | not_applied          | -      | -         |
| unknown                 | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | not_applied          | -      | -         |
| succeeded               | agree                | amount_differs       | applied_twice | in_flight | recorded_not_applied | -      | -         |
| failed                  | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | agree                | -      | -         |
| failed, late            | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | agree                | -      | -         |
| pruned succeeded        | agree                | agree                | applied_twice | in_flight | -                    | -      | -         |
| pruned failed           | applied_not_recorded | applied_not_recorded | applied_twice | in_flight | -                    | -      | -         |
";

fn said(finding: Finding) -> &'static str {
    match finding {
        Finding::Agree => "agree",
        Finding::InFlight => "in_flight",
        Finding::Drift(category) => category.as_str(),
        Finding::Unproven => "-",
        Finding::Outside => "outside",
    }
}

fn provider(column: &str) -> (Option<Rows>, Scope) {
    let covering = complete(SINCE, UNTIL);
    match column {
        "once" => (Some(rows(&["12.5"])), covering),
        "other amount" => (Some(rows(&["12.51"])), covering),
        "twice" => (Some(rows(&["12.50", "12.50"])), covering),
        "unapplied" => (Some(Rows::default()), covering),
        "lacks" => (None, covering),
        "unsaid" => (None, window(SINCE, UNTIL)),
        "no window" => (None, Scope::default()),
        other => panic!("no such column: {other}"),
    }
}

#[test]
fn every_cell_of_the_table() {
    for (name, column, expected) in cells(TABLE) {
        let (rows, scope) = provider(column);
        let found = compare(entry(name).as_ref(), rows.as_ref(), &scope, now());
        assert_eq!(said(found), expected, "{name} / {column}");
    }
}

#[test]
fn what_the_provider_has_is_the_same_with_any_scope_that_does_not_leave_the_receipt_out() {
    for (name, column, expected) in cells(TABLE) {
        let (Some(rows), _) = provider(column) else {
            continue;
        };
        for scope in [
            Scope::default(),
            window(SINCE, UNTIL),
            window(UPDATED, UNTIL),
            window(SINCE, FIRST + 1),
            complete(UPDATED, NOW + HOUR),
        ] {
            let found = compare(entry(name).as_ref(), Some(&rows), &scope, now());
            assert_eq!(said(found), expected, "{name} / {column} / {scope:?}");
        }
    }
}

fn lacking(entry: Entry, scope: &Scope) -> &'static str {
    said(compare(Some(&entry), None, scope, now()))
}

#[test]
fn a_receipt_lacks_only_if_its_whole_life_lies_inside_the_window() {
    let unknown = || whole(receipt(State::Unknown));
    for (since, until, expected) in [
        (SINCE, UNTIL, "not_applied"),
        // From its first attempt on, to one moment behind its last change.
        (FIRST, UPDATED + 1, "not_applied"),
        (FIRST + 1, UNTIL, "-"),
        (SINCE, UPDATED, "-"),
        // The window's end must lie in the past.
        (SINCE, NOW - 1, "not_applied"),
        (SINCE, NOW, "-"),
        (SINCE, NOW + 1, "-"),
    ] {
        let found = lacking(unknown(), &complete(since, until));
        assert_eq!(found, expected, "{since} to {until}");
    }
}

#[test]
fn a_lease_is_part_of_a_life() {
    let entry = || entry("reserved, lease run out").unwrap();
    assert_eq!(
        lacking(entry(), &complete(SINCE, LEASE_END + 1)),
        "not_applied"
    );
    assert_eq!(lacking(entry(), &complete(SINCE, LEASE_END)), "-");
    assert_eq!(lacking(entry(), &complete(SINCE, UPDATED + 1)), "-");
}

#[test]
fn a_life_that_began_at_no_known_time_never_lacks() {
    let mut unknown = receipt(State::Unknown);
    unknown.first_reserved_at = None;
    assert_eq!(
        lacking(whole(unknown), &complete(SINCE, UNTIL)),
        "-",
        "its first attempt was pruned"
    );
    let recorded = || whole(receipt(State::Recorded));
    assert_eq!(
        lacking(recorded(), &complete(CREATED, UNTIL)),
        "in_flight",
        "it began when it came on record"
    );
    assert_eq!(lacking(recorded(), &complete(CREATED + 1, UNTIL)), "-");
}

#[test]
fn a_receipt_with_no_moment_in_the_window_is_not_looked_at() {
    let looked_at = |receipt: Receipt, since, until| {
        let applied = rows(&["1"]);
        let scope = window(since, until);
        let with_rows = compare(Some(&whole(receipt.clone())), Some(&applied), &scope, now());
        let without = compare(Some(&whole(receipt)), None, &complete(since, until), now());
        assert_eq!(with_rows == Finding::Outside, without == Finding::Outside);
        with_rows != Finding::Outside
    };
    let unknown = || receipt(State::Unknown);
    assert!(looked_at(unknown(), UPDATED, UNTIL));
    assert!(!looked_at(unknown(), UPDATED + 1, UNTIL));
    assert!(looked_at(unknown(), SINCE, FIRST + 1));
    assert!(!looked_at(unknown(), SINCE, FIRST));
    let mut leased = receipt(State::Reserved);
    leased.lease_expires_at = Some(at(LEASE_END));
    assert!(looked_at(leased.clone(), LEASE_END, UNTIL));
    assert!(!looked_at(leased, LEASE_END + 1, UNTIL));
    let mut of_old = receipt(State::Failed);
    of_old.first_reserved_at = None;
    assert!(
        looked_at(of_old.clone(), SINCE, SINCE + 1),
        "it may have begun then"
    );
    assert!(!looked_at(of_old, UPDATED + 1, UNTIL));
}

#[test]
fn pruned_receipts_and_unrecorded_keys_have_no_time_and_are_always_looked_at() {
    let scope = complete(1, 2);
    let applied = rows(&["1"]);
    let found = |name| said(compare(entry(name).as_ref(), Some(&applied), &scope, now()));
    assert_eq!(found("nothing"), "unrecorded");
    assert_eq!(found("pruned succeeded"), "agree");
    assert_eq!(found("pruned failed"), "applied_not_recorded");
}

#[test]
fn amounts_differ_only_where_both_sides_have_one() {
    let compared = |ours: Option<(&str, &str)>, theirs: (&str, &str)| {
        let mut succeeded = receipt(State::Succeeded);
        succeeded.amount = ours.map(|(value, currency)| {
            receipt_ledger::receipt::Amount::parse(value, currency).unwrap()
        });
        let rows = Rows {
            applied: vec![row(2, theirs.0, theirs.1)],
        };
        let found = compare(
            Some(&whole(succeeded)),
            Some(&rows),
            &Scope::default(),
            now(),
        );
        assert!(matches!(
            found,
            Finding::Agree | Finding::Drift(Category::AmountDiffers)
        ));
        found != Finding::Agree
    };
    let ours = Some(("10.0", "EUR"));
    assert!(!compared(ours, ("10.00", "EUR")));
    assert!(!compared(ours, ("010", "EUR")));
    assert!(compared(ours, ("10.01", "EUR")));
    assert!(compared(ours, ("-10.00", "EUR")));
    assert!(compared(ours, ("10.00", "USD")), "another currency");
    assert!(
        !compared(ours, ("10", "")),
        "it is taken to be the receipt's"
    );
    assert!(compared(ours, ("11", "")));
    assert!(!compared(ours, ("", "EUR")));
    assert!(
        !compared(ours, ("", "USD")),
        "a currency alone says nothing"
    );
    assert!(!compared(None, ("10.00", "EUR")));
    assert!(!compared(Some(("-0", "EUR")), ("0.00", "EUR")));
    let long = "1234567890123456789012345678901234567.89";
    assert!(!compared(Some((long, "EUR")), (long, "EUR")));
    assert!(
        compared(
            Some((long, "EUR")),
            ("1234567890123456789012345678901234567.88", "EUR")
        ),
        "beyond what a double or 96 bits can tell apart"
    );
}
