//! `Ledger::reconcile` on a real store: what changes under its hands, and when it is told to stop.

use std::ops::ControlFlow;

use receipt_ledger::Ledger;
use receipt_ledger::decide::{Renew, Reserve, Settle, Settlement};
use receipt_ledger::receipt::{Fingerprint, Key, State};
use receipt_ledger::reconcile::provider::{ColumnNames, Format, Reading};
use receipt_ledger::reconcile::{Category, Export, Reconcile, ReconcileAnswer, Report, Scope};
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};

struct Folder(tempfile::TempDir);

impl Folder {
    fn ledger(&self) -> Ledger<SqliteStore> {
        let path = self.0.path().join("receipts.db");
        Ledger::new(SqliteStore::open(OpenOptions::new(path)).unwrap())
    }
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn reserve(ledger: &mut Ledger<SqliteStore>, text: &str) {
    let request = Reserve {
        lease_ms: Some(1),
        ..Reserve::new(key(text), Fingerprint::parse("v1").unwrap())
    };
    assert!(ledger.reserve(&request).unwrap().decision.performs());
    while ledger
        .show(&key(text), false)
        .unwrap()
        .entry
        .unwrap()
        .state(ledger.show(&key(text), false).unwrap().now)
        != State::Unknown
    {
        std::thread::yield_now();
    }
}

fn export(keys: &str) -> Export {
    let text = format!("key\n{keys}");
    let reading = Reading::new(ColumnNames::default(), Vec::new());
    reading.read(Format::Csv, text.as_bytes()).unwrap()
}

fn settling() -> Reconcile {
    Reconcile {
        name: "charges.csv".into(),
        settle: true,
        ..Reconcile::default()
    }
}

fn state(ledger: &mut Ledger<SqliteStore>, text: &str) -> State {
    let reading = ledger.show(&key(text), false).unwrap();
    reading.entry.unwrap().state(reading.now)
}

fn compared(answer: ReconcileAnswer) -> Report {
    match answer {
        ReconcileAnswer::Compared(report) => report,
        ReconcileAnswer::WindowNotOver => panic!("there is no window"),
    }
}

#[test]
fn what_changes_between_the_look_and_the_settling_is_left_alone() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let mut ledger = folder.ledger();
    for name in ["renewed", "declared", "failed", "untouched"] {
        reserve(&mut ledger, name);
    }
    let mut rival = folder.ledger();
    let mut drifts = Vec::new();
    let rows = "renewed\ndeclared\nfailed\nuntouched\nunrecorded\n";
    let answer = ledger.reconcile(&settling(), export(rows), &mut |drift| {
        // The first drift that is handed out is the key that no receipt is there for: all receipts have been seen.
        if drift.category == Category::Unrecorded {
            let renew = Renew {
                key: key("renewed"),
                attempt: 1,
                owner: None,
                lease_ms: 3_600_000,
            };
            rival.renew(&renew).unwrap();
            for (name, settlement) in [
                ("declared", Settlement::Unknown { reason: None }),
                ("failed", Settlement::Failed { reason: None }),
            ] {
                let settle = Settle {
                    key: key(name),
                    attempt: Some(1),
                    owner: None,
                    settlement,
                };
                rival.settle(&settle).unwrap();
            }
        }
        drifts.push((drift.category, drift.key.to_string(), drift.state));
        ControlFlow::Continue(())
    });
    let report = compared(answer.unwrap());
    assert_eq!((report.agree, report.in_flight, report.drift), (1, 1, 3));
    let of = |name: &str| drifts.iter().find(|(_, key, _)| key == name).cloned();
    let applied = Category::AppliedNotRecorded;
    assert_eq!(
        of("declared"),
        Some((applied, "declared".into(), Some(State::Unknown)))
    );
    assert_eq!(
        of("failed"),
        Some((applied, "failed".into(), Some(State::Failed)))
    );
    assert_eq!(state(&mut ledger, "renewed"), State::Reserved);
    assert_eq!(state(&mut ledger, "declared"), State::Unknown);
    assert_eq!(state(&mut ledger, "failed"), State::Failed);
    assert_eq!(state(&mut ledger, "untouched"), State::Succeeded);
    let report = ledger
        .reconcile(
            &settling(),
            export(rows),
            &mut |_| ControlFlow::Continue(()),
        )
        .map(compared)
        .unwrap();
    assert_eq!((report.agree, report.in_flight, report.drift), (3, 1, 1));
}

#[test]
fn after_a_break_nothing_more_is_settled() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let mut ledger = folder.ledger();
    reserve(&mut ledger, "a");
    let mut told = 0;
    let answer = ledger.reconcile(&settling(), export("a\nb\nc\n"), &mut |_| {
        told += 1;
        ControlFlow::Break(())
    });
    assert_eq!((compared(answer.unwrap()).drift, told), (1, 1));
    assert_eq!(state(&mut ledger, "a"), State::Unknown);
}

#[test]
fn a_window_that_is_not_over_is_refused_only_where_it_is_to_prove_absence() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let mut ledger = folder.ledger();
    reserve(&mut ledger, "a");
    let far = receipt_ledger::receipt::Timestamp::parse("9999-01-01T00:00:00Z").unwrap();
    let mut request = settling();
    request.scope = Scope {
        window: Some(receipt_ledger::reconcile::Window {
            since: receipt_ledger::receipt::Timestamp::from_ms(0).unwrap(),
            until: far,
        }),
        complete: true,
    };
    let mut never = |_| panic!("nothing is compared");
    let answer = ledger.reconcile(&request, export("a\nb\n"), &mut never);
    assert_eq!(answer.unwrap(), ReconcileAnswer::WindowNotOver);
    assert_eq!(state(&mut ledger, "a"), State::Unknown);
    request.scope.complete = false;
    let answer = ledger.reconcile(&request, export("a\n"), &mut |_| ControlFlow::Continue(()));
    assert_eq!(compared(answer.unwrap()).agree, 1);
}
