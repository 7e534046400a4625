//! Receipts, rows and windows by name.

use receipt_ledger::receipt::{
    Amount, Entry, Fingerprint, FingerprintDigest, Key, Pruned, Receipt, SettledBy, State,
    Timestamp,
};
use receipt_ledger::reconcile::{Row, Rows, Scope, Window};

pub(crate) const HOUR: i64 = 3_600_000;
/// The window, and a moment a day behind it.
pub(crate) const SINCE: i64 = 1_800_000_000_000;
pub(crate) const UNTIL: i64 = SINCE + 24 * HOUR;
pub(crate) const NOW: i64 = UNTIL + 24 * HOUR;
/// The life of every receipt of the cast, well inside the window, and where its lease ends if it ran out.
pub(crate) const CREATED: i64 = SINCE + HOUR;
pub(crate) const FIRST: i64 = SINCE + 2 * HOUR;
pub(crate) const UPDATED: i64 = SINCE + 3 * HOUR;
pub(crate) const LEASE_END: i64 = SINCE + 4 * HOUR;

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).unwrap()
}

pub(crate) fn now() -> Timestamp {
    at(NOW)
}

pub(crate) fn key() -> Key {
    Key::parse("order:42").unwrap()
}

pub(crate) fn receipt(state: State) -> Receipt {
    let recorded = state == State::Recorded;
    Receipt {
        key: key(),
        fingerprint: Fingerprint::parse("v1").unwrap(),
        stored_state: state,
        attempt: u32::from(!recorded),
        owner: None,
        run: None,
        amount: Some(Amount::parse("12.50", "EUR").unwrap()),
        created_at: at(CREATED),
        updated_at: at(UPDATED),
        first_reserved_at: (!recorded).then(|| at(FIRST)),
        attempt_started_at: (!recorded).then(|| at(FIRST)),
        lease_expires_at: None,
        settled_at: state.is_settled().then(|| at(UPDATED)),
        settled_by: state.is_settled().then_some(SettledBy::Caller),
        late_success: false,
        contested: false,
        reason: None,
        result: None,
    }
}

pub(crate) fn whole(receipt: Receipt) -> Entry {
    Entry::Whole(Box::new(receipt))
}

pub(crate) fn pruned(state: State) -> Entry {
    Entry::Pruned(Pruned {
        fingerprint: FingerprintDigest::of(&Fingerprint::parse("v1").unwrap()),
        state,
        attempt: 1,
        contested: false,
    })
}

/// The entry of that name.
pub(crate) fn entry(name: &str) -> Option<Entry> {
    if let Some(state) = name.strip_prefix("pruned ") {
        return Some(pruned(State::parse(state).unwrap()));
    }
    let reserved = |lease_end: Option<i64>| {
        let mut reserved = receipt(State::Reserved);
        reserved.lease_expires_at = lease_end.map(at);
        Some(whole(reserved))
    };
    match name {
        "nothing" => None,
        "reserved, no lease" => reserved(None),
        "reserved, lease running" => reserved(Some(NOW + 1)),
        "reserved, lease run out" => reserved(Some(LEASE_END)),
        "failed, late" => {
            let mut failed = receipt(State::Failed);
            failed.late_success = true;
            failed.contested = true;
            Some(whole(failed))
        }
        state => Some(whole(receipt(State::parse(state).unwrap()))),
    }
}

pub(crate) fn row(line: u64, amount: &str, currency: &str) -> Row {
    let given = |text: &str| (!text.is_empty()).then(|| text.into());
    Row {
        line,
        amount: given(amount),
        currency: given(currency),
        reference: None,
    }
}

/// Applied rows with these amounts, in EUR.
pub(crate) fn rows(amounts: &[&str]) -> Rows {
    let applied = amounts.iter().enumerate();
    let applied = applied.map(|(index, amount)| row(index as u64 + 2, amount, "EUR"));
    Rows {
        applied: applied.collect(),
    }
}

pub(crate) fn window(since: i64, until: i64) -> Scope {
    Scope {
        window: Some(Window {
            since: at(since),
            until: at(until),
        }),
        complete: false,
    }
}

pub(crate) fn complete(since: i64, until: i64) -> Scope {
    Scope {
        complete: true,
        ..window(since, until)
    }
}
