//! The receipts that stand before a call, by the names the tables use.

use receipt_ledger::decide::{Change, Refusal};
use receipt_ledger::receipt::{
    Amount, Entry, Event, Fingerprint, FingerprintDigest, Key, Owner, Pruned, Receipt, ResultJson,
    RunId, SettledBy, State, Text, Timestamp,
};

pub(crate) const NOW: i64 = 1_800_000_000_000;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// When the first attempt of every receipt of the cast began.
pub(crate) const FIRST: i64 = NOW - HOUR;

/// Every receipt of the cast.
pub(crate) const BEFORE: [&str; 19] = [
    "nothing",
    "recorded",
    "reserved, no lease",
    "reserved, lease running",
    "reserved, lease run out",
    "reserved, no lease, late",
    "reserved, lease run out, late",
    "unknown",
    "unknown, late",
    "succeeded",
    "succeeded, result",
    "succeeded, late",
    "failed",
    "failed, late",
    "failed, reconciled",
    "failed, reconciled, late",
    "pruned succeeded",
    "pruned failed",
    "pruned failed, late",
];

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).unwrap()
}

pub(crate) fn key() -> Key {
    Key::parse("order:42").unwrap()
}

pub(crate) fn fingerprint(text: &str) -> Fingerprint {
    Fingerprint::parse(text).unwrap()
}

pub(crate) fn owner(text: &str) -> Owner {
    Owner::parse(text).unwrap()
}

pub(crate) fn result(text: &str) -> ResultJson {
    ResultJson::parse(text.as_bytes()).unwrap()
}

pub(crate) fn text(text: &str) -> Text {
    Text::parse(text).unwrap()
}

/// The fingerprint everything in the cast is bound to.
pub(crate) const SAME: &str = "send-v1";
/// The owner of everything in the cast.
pub(crate) const RIGHT: &str = "worker-1";
/// The result of `succeeded, result`.
pub(crate) const RESULT: &str = r#"{"id":"d_42"}"#;

/// The entry of that name at that attempt (`recorded` is at 0, whatever is asked).
pub(crate) fn before(name: &str, attempt: u32) -> Option<Entry> {
    if name == "nothing" {
        return None;
    }
    if let Some(rest) = name.strip_prefix("pruned ") {
        return Some(Entry::Pruned(Pruned {
            fingerprint: FingerprintDigest::of(&fingerprint(SAME)),
            state: State::parse(rest.split(',').next().unwrap()).unwrap(),
            attempt,
            contested: rest.ends_with(", late"),
        }));
    }
    let mut words = name.split(", ");
    let state = State::parse(words.next().unwrap()).unwrap();
    let mut receipt = Receipt {
        key: key(),
        fingerprint: fingerprint(SAME),
        stored_state: state,
        attempt,
        owner: Some(owner(RIGHT)),
        run: Some(RunId::parse("night-7").unwrap()),
        amount: Some(Amount::parse("12.50", "EUR").unwrap()),
        created_at: at(FIRST - HOUR),
        updated_at: at(NOW - 10 * MINUTE),
        first_reserved_at: Some(at(FIRST)),
        attempt_started_at: Some(at(NOW - 20 * MINUTE)),
        lease_expires_at: None,
        settled_at: None,
        settled_by: None,
        late_success: false,
        contested: false,
        reason: None,
        result: None,
    };
    if state == State::Recorded {
        receipt.attempt = 0;
        receipt.first_reserved_at = None;
        receipt.attempt_started_at = None;
    }
    if state == State::Failed || state == State::Unknown {
        receipt.reason = Some(text("what it said"));
    }
    if state.is_settled() {
        receipt.settled_at = Some(at(NOW - 10 * MINUTE));
        receipt.settled_by = Some(SettledBy::Caller);
    }
    for word in words {
        match word {
            "no lease" => {}
            "lease running" => receipt.lease_expires_at = Some(at(NOW + 1)),
            "lease run out" => receipt.lease_expires_at = Some(at(NOW)),
            "late" => {
                receipt.late_success = true;
                // Evidence that came after it has answered it.
                receipt.contested =
                    state == State::Failed && receipt.settled_by == Some(SettledBy::Caller);
            }
            "result" => receipt.result = Some(result(RESULT)),
            "reconciled" => receipt.settled_by = Some(SettledBy::Reconciled),
            other => panic!("no such word: {other}"),
        }
    }
    Some(Entry::Whole(Box::new(receipt)))
}

/// The state that the ledger tells of an entry of that name: contract §1.
pub(crate) fn told(name: &str) -> State {
    match name {
        "reserved, lease run out" | "reserved, lease run out, late" => State::Unknown,
        name => {
            let name = name.strip_prefix("pruned ").unwrap_or(name);
            State::parse(name.split(',').next().unwrap()).unwrap()
        }
    }
}

pub(crate) fn whole(change: &Change) -> &Receipt {
    match &change.entry {
        Some(Entry::Whole(receipt)) => receipt,
        other => panic!("not a whole receipt: {other:?}"),
    }
}

pub(crate) fn is_pruned(name: &str) -> bool {
    name.starts_with("pruned ")
}

/// The one event of a change.
pub(crate) fn event(change: &Change) -> &Event {
    assert_eq!(change.events.len(), 1, "{:?}", change.events);
    &change.events[0]
}

/// The refusal's code, as contract §3.5 names it.
pub(crate) fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotFound => "not-found",
        Refusal::StaleAttempt { .. } | Refusal::AttemptNeeded { .. } => "stale-attempt",
        Refusal::NotOwner { .. } => "not-owner",
        Refusal::InvalidTransition { .. } => "invalid-transition",
    }
}
