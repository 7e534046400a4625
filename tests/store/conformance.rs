//! The suite: a function a promise, over any store. A factory opens another connection to the same, at first empty, place.

use receipt_ledger::decide::Change;
use receipt_ledger::receipt::{
    Amount, Entry, Event, EventKind, Fingerprint, Key, Owner, Receipt, ResultJson, RunId,
    SettledBy, State, Text, Timestamp,
};
use receipt_ledger::store::{Reading, Store};

/// Every promise by its name, for a store's own test to run.
pub(crate) fn all<S: Store + Send>(new_place: &dyn Fn() -> Box<dyn Fn() -> S + Sync>) {
    for promise in [
        nothing_is_stored_at_first,
        what_a_rule_wants_kept_is_what_the_next_rule_sees,
        every_fact_comes_back_as_it_was,
        a_rule_without_a_change_writes_nothing,
        rows_of_history_come_back_in_order_with_the_moment_of_the_store,
        a_conflict_is_kept_once_for_each_fingerprint,
        keys_do_not_touch_each_other,
        another_connection_sees_what_was_kept_at_once,
        a_rule_that_panics_keeps_nothing,
    ] {
        promise(&*new_place());
    }
}

pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn receipt(key: &Key) -> Receipt {
    let now = Timestamp::from_ms(1_800_000_000_000).unwrap();
    Receipt {
        key: key.clone(),
        fingerprint: Fingerprint::parse("send-v1").unwrap(),
        stored_state: State::Recorded,
        attempt: 0,
        owner: None,
        run: None,
        amount: None,
        created_at: now,
        updated_at: now,
        first_reserved_at: None,
        attempt_started_at: None,
        lease_expires_at: None,
        settled_at: None,
        settled_by: None,
        late_success: false,
        contested: false,
        reason: None,
        result: None,
    }
}

fn event(kind: EventKind, detail: Option<&str>) -> Event {
    Event {
        kind,
        attempt: 1,
        actor: None,
        detail: detail.map(str::to_owned),
    }
}

fn keep(receipt: &Receipt, events: Vec<Event>) -> Change {
    Change {
        entry: Some(Entry::Whole(Box::new(receipt.clone()))),
        events,
        ..Change::default()
    }
}

fn put<S: Store>(store: &mut S, change: Change, key: &Key) {
    store.update(key, &mut |_, _| change.clone()).unwrap();
}

fn read<S: Store>(store: &mut S, key: &Key) -> Reading {
    store.read(key, true).unwrap()
}

fn nothing_is_stored_at_first<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    let mut seen = Vec::new();
    store
        .update(&key("k"), &mut |existing, _| {
            seen.push(existing.cloned());
            Change::default()
        })
        .unwrap();
    assert_eq!(seen, [None]);
    let reading = read(&mut store, &key("k"));
    assert_eq!((reading.entry, reading.history), (None, Vec::new()));
}

fn what_a_rule_wants_kept_is_what_the_next_rule_sees<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    let mut store = open();
    let mut expected = receipt(&key("k"));
    put(
        &mut store,
        keep(&expected, vec![event(EventKind::Recorded, None)]),
        &key("k"),
    );
    for attempt in 1..=5 {
        let before = Some(Entry::Whole(Box::new(expected.clone())));
        expected.stored_state = State::Unknown;
        expected.attempt = attempt;
        let mut seen = None;
        store
            .update(&key("k"), &mut |existing, _| {
                seen = existing.cloned();
                keep(&expected, Vec::new())
            })
            .unwrap();
        assert_eq!(seen, before);
        assert_eq!(
            read(&mut store, &key("k")).entry,
            Some(Entry::Whole(Box::new(expected.clone())))
        );
    }
}

fn every_fact_comes_back_as_it_was<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    let moment = |ms| Timestamp::from_ms(ms).unwrap();
    let mut full = receipt(&key(&"k".repeat(255)));
    full.fingerprint = Fingerprint::parse("~".repeat(255)).unwrap();
    full.attempt = u32::MAX;
    full.owner =
        Some(Owner::parse("'; DROP TABLE receipt_ledger_receipt; --".replace(' ', "_")).unwrap());
    full.run = Some(RunId::parse("$(touch_x)").unwrap());
    full.amount = Some(Amount::parse("00042.10", "EUR").unwrap());
    full.created_at = moment(0);
    full.updated_at = moment(253_402_300_799_999);
    full.first_reserved_at = Some(moment(1));
    full.attempt_started_at = Some(moment(2));
    full.late_success = true;
    full.reason = Some(Text::parse("Größe\n\u{202e}\u{7f}\u{1f600}'\"").unwrap());
    let mut settled = full.clone();
    settled.stored_state = State::Succeeded;
    settled.settled_at = Some(moment(3));
    settled.settled_by = Some(SettledBy::Reconciled);
    let mut in_flight = full.clone();
    in_flight.stored_state = State::Reserved;
    in_flight.lease_expires_at = Some(moment(4));
    for result in [
        "null",
        "0",
        "false",
        r#""""#,
        r#"{"b":1e2,"a":[1.0,"\u0000"]}"#,
    ] {
        settled.result = Some(ResultJson::parse(result.as_bytes()).unwrap());
        put(&mut store, keep(&settled, Vec::new()), &full.key);
        assert_eq!(
            read(&mut store, &full.key).entry,
            Some(Entry::Whole(Box::new(settled.clone())))
        );
    }
    put(&mut store, keep(&in_flight, Vec::new()), &full.key);
    assert_eq!(
        read(&mut open(), &full.key).entry,
        Some(Entry::Whole(Box::new(in_flight)))
    );
}

fn a_rule_without_a_change_writes_nothing<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    let expected = receipt(&key("k"));
    put(
        &mut store,
        keep(&expected, vec![event(EventKind::Recorded, None)]),
        &key("k"),
    );
    let before = read(&mut store, &key("k"));
    for name in ["k", "another"] {
        put(&mut store, Change::default(), &key(name));
    }
    let after = read(&mut store, &key("k"));
    assert_eq!((after.entry, after.history), (before.entry, before.history));
    assert_eq!(read(&mut store, &key("another")).entry, None);
}

fn rows_of_history_come_back_in_order_with_the_moment_of_the_store<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    let mut store = open();
    let expected = receipt(&key("k"));
    let mut moments = Vec::new();
    for kind in EventKind::ALL {
        let mut at = None;
        store
            .update(&key("k"), &mut |_, now| {
                at = Some(now);
                keep(
                    &expected,
                    vec![event(kind, Some("why")), event(EventKind::Failed, None)],
                )
            })
            .unwrap();
        moments.extend([at.unwrap(); 2]);
    }
    let history = read(&mut store, &key("k")).history;
    let kinds: Vec<EventKind> = history.iter().map(|row| row.event.kind).collect();
    let expected: Vec<EventKind> = EventKind::ALL
        .into_iter()
        .flat_map(|kind| [kind, EventKind::Failed])
        .collect();
    assert_eq!(kinds, expected);
    assert_eq!(
        history.iter().map(|row| row.at).collect::<Vec<_>>(),
        moments
    );
    assert_eq!(
        store.read(&key("k"), false).unwrap().history,
        [],
        "only where it was asked for"
    );
}

fn a_conflict_is_kept_once_for_each_fingerprint<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    put(&mut store, keep(&receipt(&key("k")), Vec::new()), &key("k"));
    for other in ["send-v2", "send-v3", "send-v2", "send-v2", "send-v3"] {
        let change = Change {
            events: vec![event(EventKind::Conflict, Some(other))],
            ..Change::default()
        };
        put(&mut store, change, &key("k"));
    }
    let history = read(&mut store, &key("k")).history;
    let details: Vec<_> = history
        .iter()
        .map(|row| row.event.detail.as_deref().unwrap())
        .collect();
    assert_eq!(details, ["send-v2", "send-v3"]);
}

fn keys_do_not_touch_each_other<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    let names = ["k", "K", "k%", "k_", "k'", "k*", "[k]", "-k", "k0"];
    for name in names {
        let mut own = receipt(&key(name));
        own.owner = Some(Owner::parse(name).unwrap());
        put(
            &mut store,
            keep(&own, vec![event(EventKind::Recorded, Some(name))]),
            &key(name),
        );
    }
    for name in names {
        let reading = read(&mut store, &key(name));
        let Some(Entry::Whole(own)) = reading.entry else {
            panic!("{name}")
        };
        assert_eq!(
            (own.key.as_str(), own.owner.unwrap().as_str()),
            (name, name)
        );
        assert_eq!(reading.history.len(), 1, "{name}");
        assert_eq!(reading.history[0].event.detail.as_deref(), Some(name));
    }
}

fn another_connection_sees_what_was_kept_at_once<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let (mut one, mut other) = (open(), open());
    let mut expected = receipt(&key("k"));
    for attempt in 1..=3 {
        expected.stored_state = State::Unknown;
        expected.attempt = attempt;
        put(&mut one, keep(&expected, Vec::new()), &key("k"));
        assert_eq!(
            read(&mut other, &key("k")).entry,
            Some(Entry::Whole(Box::new(expected.clone())))
        );
        std::mem::swap(&mut one, &mut other);
    }
}

fn a_rule_that_panics_keeps_nothing<S: Store + Send>(open: &(dyn Fn() -> S + Sync)) {
    let mut store = open();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.update(&key("k"), &mut |_, _| {
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    }));
    assert!(panicked.is_err());
    drop(store);
    let mut store = open();
    assert_eq!(read(&mut store, &key("k")).entry, None);
    put(&mut store, keep(&receipt(&key("k")), Vec::new()), &key("k"));
}
