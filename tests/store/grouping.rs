//! What a store keeps besides one step for one key: steps together, payloads, and the order of what waits.

use receipt_ledger::decide::{self, Change, Facts, Record};
use receipt_ledger::receipt::{Entry, Fingerprint, Key, State};
use receipt_ledger::store::{Pending, PendingKind, Step, Store};

use crate::conformance::key;

/// Every promise of this file, on a new place each.
pub(crate) fn all<S: Store + Send>(new_place: &dyn Fn() -> Box<dyn Fn() -> S + Sync>) {
    for promise in [
        steps_see_what_those_before_them_changed_and_are_kept_together,
        a_step_that_fails_is_undone_alone,
        a_payload_is_kept_as_given_until_its_receipt_has_succeeded,
        what_waits_comes_oldest_first_and_a_prefix_is_literal,
    ] {
        promise(&*new_place());
    }
}

fn recorded(key: &Key, payload: Option<&[u8]>) -> impl FnMut(Option<&Entry>) -> Change {
    let request = Record {
        key: key.clone(),
        fingerprint: Fingerprint::parse("send-v1").unwrap(),
        facts: Facts::default(),
        payload: payload.map(Into::into),
    };
    move |existing| {
        let now = receipt_ledger::receipt::Timestamp::from_ms(1_800_000_000_000).unwrap();
        decide::record(existing, &request, now).1
    }
}

fn record<S: Store>(store: &mut S, name: &str, payload: Option<&[u8]>) {
    let key = key(name);
    let mut rule = recorded(&key, payload);
    store
        .update(&key, &mut |existing, _| rule(existing))
        .unwrap();
}

/// A change that no store may keep: succeeded, but never settled.
fn impossible(existing: Option<&Entry>) -> Change {
    let Some(Entry::Whole(receipt)) = existing else {
        panic!("{existing:?}")
    };
    let mut receipt = receipt.clone();
    receipt.stored_state = State::Succeeded;
    Change {
        entry: Some(Entry::Whole(receipt)),
        ..Change::default()
    }
}

fn steps_see_what_those_before_them_changed_and_are_kept_together<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    let mut store = open();
    let (one, other) = (key("one"), key("other"));
    let (mut record_one, mut record_other) = (recorded(&one, None), recorded(&other, None));
    let mut seen = Vec::new();
    let mut reading = None;
    let done = store
        .group(&mut [
            Step::Update(&one, &mut |existing, _| record_one(existing)),
            Step::Update(&one, &mut |existing, _| {
                seen.push(existing.is_some());
                Change::default()
            }),
            Step::Read(&one, true, &mut reading),
            Step::Update(&other, &mut |existing, _| record_other(existing)),
        ])
        .unwrap();
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(done.len(), 4);
    assert_eq!(seen, [true]);
    assert_eq!(reading.unwrap().history.len(), 1);
    let mut another = open();
    for name in [&one, &other] {
        assert!(another.read(name, false).unwrap().entry.is_some());
    }
    assert_eq!(store.group(&mut []).unwrap().len(), 0);
}

fn a_step_that_fails_is_undone_alone<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    record(&mut store, "bad", None);
    let (before, bad, after) = (key("before"), key("bad"), key("after"));
    let (mut record_before, mut record_after) = (recorded(&before, None), recorded(&after, None));
    let was = store.read(&bad, true).unwrap();
    let done = store
        .group(&mut [
            Step::Update(&before, &mut |existing, _| record_before(existing)),
            Step::Update(&bad, &mut |existing, _| impossible(existing)),
            Step::Update(&after, &mut |existing, _| record_after(existing)),
        ])
        .unwrap();
    let kept: Vec<bool> = done.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false, true], "{done:?}");
    let is = store.read(&bad, true).unwrap();
    assert_eq!((is.entry, is.history), (was.entry, was.history));
    for name in [&before, &after] {
        assert!(store.read(name, false).unwrap().entry.is_some());
    }
    assert!(
        store
            .update(&bad, &mut |existing, _| impossible(existing))
            .is_err(),
        "nor is it kept by itself"
    );
}

fn a_payload_is_kept_as_given_until_its_receipt_has_succeeded<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    let mut store = open();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    record(&mut store, "full", Some(&bytes));
    record(&mut store, "empty", Some(b""));
    record(&mut store, "none", None);
    assert_eq!(
        store.payload(&key("full")).unwrap().as_deref(),
        Some(&bytes[..])
    );
    assert_eq!(
        store.payload(&key("empty")).unwrap().as_deref(),
        Some(&b""[..])
    );
    assert_eq!(store.payload(&key("none")).unwrap(), None);
    assert_eq!(store.payload(&key("nothing")).unwrap(), None);
    store
        .update(&key("full"), &mut |existing, now| {
            let request = decide::Reserve::new(key("full"), Fingerprint::parse("send-v1").unwrap());
            decide::apply(existing, &request, now).1
        })
        .unwrap();
    assert_eq!(open().payload(&key("full")).unwrap(), None);
    assert_eq!(
        open().payload(&key("empty")).unwrap().as_deref(),
        Some(&b""[..])
    );
}

fn what_waits_comes_oldest_first_and_a_prefix_is_literal<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    let mut store = open();
    let names = ["b%1", "b", "a%2", "b_3", "B%", "b%0"];
    for name in names {
        record(&mut store, name, None);
    }
    let mut waiting = |prefix: Option<&str>| {
        let mut pending = Pending {
            prefix: prefix.map(str::to_owned),
            which: PendingKind::Recorded,
            after: None,
        };
        let mut found = Vec::new();
        while let Some(intent) = store.next_pending(&pending).unwrap() {
            found.push(intent.key.as_str().to_owned());
            pending.after = Some(intent.cursor);
        }
        found
    };
    assert_eq!(waiting(None), names);
    assert_eq!(waiting(Some("b")), ["b%1", "b", "b_3", "b%0"]);
    assert_eq!(waiting(Some("b%")), ["b%1", "b%0"]);
    assert_eq!(waiting(Some("b_")), ["b_3"]);
    assert_eq!(waiting(Some("c")), [""; 0]);
}
