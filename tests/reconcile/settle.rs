//! The rule that settles by an export: what it takes, and what it leaves alone because it has changed.

use receipt_ledger::decide::Change;
use receipt_ledger::receipt::{
    Amount, Entry, EventKind, Fingerprint, Receipt, SettledBy, State, TEXT_BYTES_MAX,
};
use receipt_ledger::reconcile::{
    Category, Finding, Proof, Reconcile, Rows, Scope, compare, settle,
};

use crate::cast::*;

fn request(scope: Scope) -> Reconcile {
    Reconcile {
        name: "charges.csv".into(),
        scope,
        prefix: None,
        settle: true,
        settle_absent: scope.complete,
    }
}

fn covering() -> Reconcile {
    request(complete(SINCE, UNTIL))
}

fn proof(request: &Reconcile, entry: &Entry, rows: Option<Rows>) -> Option<Proof> {
    let found = compare(Some(entry), rows.as_ref(), &request.scope, now());
    Proof::of(request, found, &key(), Some(entry), &mut rows.clone())
}

fn whole_of(change: &Change) -> &Receipt {
    match &change.entry {
        Some(Entry::Whole(receipt)) => receipt,
        other => panic!("not whole: {other:?}"),
    }
}

const ALL: [&str; 10] = [
    "recorded",
    "reserved, no lease",
    "reserved, lease running",
    "reserved, lease run out",
    "unknown",
    "succeeded",
    "failed",
    "failed, late",
    "pruned succeeded",
    "pruned failed",
];

#[test]
fn what_was_applied_once_is_settled_as_succeeded_where_that_was_not_known() {
    for name in ALL {
        let before = entry(name).unwrap();
        let once = Some(rows(&["12.50"]));
        let settles = matches!(
            name,
            "recorded"
                | "reserved, lease run out"
                | "unknown"
                | "failed"
                | "failed, late"
                | "pruned failed"
        );
        let proof = proof(&covering(), &before, once);
        assert_eq!(proof.is_some(), settles, "{name}");
        let Some(proof) = proof else { continue };
        let (found, change) = settle(Some(&before), &proof, &covering(), now());
        assert_eq!(found, Finding::Agree, "{name}");
        if name == "pruned failed" {
            assert_eq!(change.entry, entry("pruned succeeded"));
            continue;
        }
        let receipt = whole_of(&change);
        assert_eq!(receipt.stored_state, State::Succeeded, "{name}");
        assert_eq!(receipt.attempt, 1, "{name}");
        assert_eq!(receipt.settled_by, Some(SettledBy::Reconciled), "{name}");
        assert_eq!(change.events.len(), 1);
        assert_eq!(change.events[0].kind, EventKind::Succeeded);
        let evidence = change.events[0].detail.as_deref();
        assert_eq!(evidence, Some("file charges.csv line 2"), "{name}");
    }
}

#[test]
fn what_was_applied_twice_is_not_settled() {
    for name in ALL {
        let twice = Some(rows(&["12.50", "12.50"]));
        assert_eq!(proof(&covering(), &entry(name).unwrap(), twice), None);
    }
}

#[test]
fn only_what_is_unknown_is_settled_as_failed_by_absence() {
    for name in ALL {
        let before = entry(name).unwrap();
        let settles = matches!(name, "reserved, lease run out" | "unknown");
        let proof = proof(&covering(), &before, None);
        assert_eq!(proof.is_some(), settles, "{name}");
        let Some(proof) = proof else { continue };
        let (found, change) = settle(Some(&before), &proof, &covering(), now());
        assert_eq!(found, Finding::Agree, "{name}");
        assert_eq!(whole_of(&change).stored_state, State::Failed, "{name}");
        assert_eq!(
            change.events[0].detail.as_deref(),
            Some(
                "absent from charges.csv, window 2027-01-15T08:00:00.000Z to 2027-01-16T08:00:00.000Z"
            )
        );
    }
}

#[test]
fn nothing_is_settled_that_nobody_asked_for() {
    let neither = Reconcile {
        settle: false,
        settle_absent: false,
        ..covering()
    };
    for name in ALL {
        let before = entry(name).unwrap();
        assert_eq!(proof(&neither, &before, Some(rows(&["1"]))), None);
        assert_eq!(proof(&neither, &before, None), None);
    }
    let absent_only = Reconcile {
        settle: false,
        ..covering()
    };
    let unknown = entry("unknown").unwrap();
    assert_eq!(proof(&absent_only, &unknown, Some(rows(&["1"]))), None);
    let applied_only = Reconcile {
        settle_absent: false,
        ..covering()
    };
    assert_eq!(proof(&applied_only, &unknown, None), None);
}

#[test]
fn of_a_later_attempt_the_one_that_was_looked_at_is_named() {
    let mut second = receipt(State::Unknown);
    second.attempt = 2;
    let before = whole(second);
    let proof = proof(&covering(), &before, None).unwrap();
    let (found, change) = settle(Some(&before), &proof, &covering(), now());
    assert_eq!(found, Finding::Agree);
    assert_eq!(whole_of(&change).attempt, 2);
}

/// What can have happened to an unknown receipt since it was looked at.
fn changed() -> Vec<(&'static str, Option<Entry>)> {
    let unknown = || receipt(State::Unknown);
    let with = |change: &dyn Fn(&mut Receipt)| {
        let mut receipt = unknown();
        change(&mut receipt);
        Some(whole(receipt))
    };
    vec![
        ("another attempt", with(&|receipt| receipt.attempt = 2)),
        (
            "another fingerprint",
            with(&|receipt| receipt.fingerprint = Fingerprint::parse("v2").unwrap()),
        ),
        (
            "changed again",
            with(&|receipt| receipt.updated_at = at(UPDATED + 1)),
        ),
        (
            "in flight again",
            with(&|receipt| receipt.stored_state = State::Reserved),
        ),
        (
            "failed",
            with(&|receipt| receipt.stored_state = State::Failed),
        ),
        (
            "succeeded",
            with(&|receipt| receipt.stored_state = State::Succeeded),
        ),
        ("pruned", Some(pruned(State::Failed))),
        ("forgotten", None),
    ]
}

#[test]
fn a_receipt_that_has_changed_is_not_settled_on_old_evidence() {
    let before = entry("unknown").unwrap();
    for evidence in [Some(rows(&["12.50"])), None] {
        let proof = proof(&covering(), &before, evidence.clone()).unwrap();
        for (what, now_it_is) in changed() {
            let (found, change) = settle(now_it_is.as_ref(), &proof, &covering(), now());
            assert!(change.is_none(), "{what}");
            let compared = compare(
                now_it_is.as_ref(),
                evidence.as_ref(),
                &covering().scope,
                now(),
            );
            assert_eq!(found, compared, "{what}");
        }
    }
}

#[test]
fn a_lease_that_runs_again_is_not_settled_either() {
    let before = entry("reserved, lease run out").unwrap();
    let proof = proof(&covering(), &before, Some(rows(&["12.50"]))).unwrap();
    let renewed = entry("reserved, lease running").unwrap();
    let (found, change) = settle(Some(&renewed), &proof, &covering(), now());
    assert_eq!((found, change.is_none()), (Finding::InFlight, true));
}

#[test]
fn what_a_clock_that_was_set_back_no_longer_proves_is_not_settled() {
    let before = entry("unknown").unwrap();
    let proof = proof(&covering(), &before, None).unwrap();
    let (found, change) = settle(Some(&before), &proof, &covering(), at(UNTIL));
    assert_eq!((found, change.is_none()), (Finding::Unproven, true));
}

#[test]
fn a_settled_receipt_whose_amount_differs_stays_in_drift() {
    let mut unknown = receipt(State::Unknown);
    unknown.amount = Some(Amount::parse("12.49", "EUR").unwrap());
    let before = whole(unknown);
    let proof = proof(&covering(), &before, Some(rows(&["12.50"]))).unwrap();
    let (found, change) = settle(Some(&before), &proof, &covering(), now());
    assert_eq!(found, Finding::Drift(Category::AmountDiffers));
    assert_eq!(whole_of(&change).stored_state, State::Succeeded);
}

#[test]
fn evidence_fits_however_long_the_name_is() {
    let request = Reconcile {
        name: format!("/{}/charges.csv", "ü".repeat(4_000)),
        ..covering()
    };
    let before = entry("unknown").unwrap();
    for evidence in [Some(rows(&["1"])), None] {
        let proof = proof(&request, &before, evidence).unwrap();
        let (_, change) = settle(Some(&before), &proof, &request, now());
        let detail = change.events[0].detail.clone().unwrap();
        assert!(detail.len() <= TEXT_BYTES_MAX);
        assert!(detail.contains("/charges.csv"), "{detail}");
    }
}
