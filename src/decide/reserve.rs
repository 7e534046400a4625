//! `reserve`: may the caller perform this now?

use super::{Change, Facts, conflict, dated, first_receipt};
use crate::receipt::{
    Entry, Event, EventKind, Fingerprint, Key, Pruned, Receipt, State, Timestamp,
};

/// What a caller may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Perform it: this is the first attempt.
    Execute,
    /// Perform it again: somebody said, on record, that this is safe.
    Retry,
    /// Somebody else is performing it.
    SkipInFlight,
    /// It has happened.
    SkipSucceeded,
    /// It did not happen, and no retry was asked for or allowed.
    SkipFailed,
    /// Nobody knows whether it happened.
    SkipUnknown,
    /// The key is bound to another content.
    Conflict,
}

impl Decision {
    /// Every decision.
    pub const ALL: [Decision; 7] = [
        Decision::Execute,
        Decision::Retry,
        Decision::SkipInFlight,
        Decision::SkipSucceeded,
        Decision::SkipFailed,
        Decision::SkipUnknown,
        Decision::Conflict,
    ];

    /// The decision's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Execute => "EXECUTE",
            Decision::Retry => "RETRY",
            Decision::SkipInFlight => "SKIP_IN_FLIGHT",
            Decision::SkipSucceeded => "SKIP_SUCCEEDED",
            Decision::SkipFailed => "SKIP_FAILED",
            Decision::SkipUnknown => "SKIP_UNKNOWN",
            Decision::Conflict => "CONFLICT",
        }
    }

    /// Whether the caller is to perform the effect: the only two decisions that say so.
    pub fn performs(self) -> bool {
        match self {
            Decision::Execute | Decision::Retry => true,
            Decision::SkipInFlight
            | Decision::SkipSucceeded
            | Decision::SkipFailed
            | Decision::SkipUnknown
            | Decision::Conflict => false,
        }
    }
}

/// A request to perform an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// The effect's name.
    pub key: Key,
    /// Its content.
    pub fingerprint: Fingerprint,
    /// The caller says that a failed effect may be performed again.
    pub allow_failed_retry: bool,
    /// The caller says that the provider remembers the key this long (milliseconds) and performs it once.
    pub retry_unknown_within_ms: Option<i64>,
    /// At this attempt no further one is given.
    pub max_attempts: Option<u32>,
    /// How long (milliseconds) until the attempt is settled or renewed.
    pub lease_ms: Option<i64>,
    /// What to keep on the receipt.
    pub facts: Facts,
}

impl Reserve {
    /// A request with nothing but key and fingerprint.
    pub fn new(key: Key, fingerprint: Fingerprint) -> Reserve {
        Reserve {
            key,
            fingerprint,
            allow_failed_retry: false,
            retry_unknown_within_ms: None,
            max_attempts: None,
            lease_ms: None,
            facts: Facts::default(),
        }
    }
}

/// The decision, and what the receipt is after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReserveAnswer {
    /// What the caller may do.
    pub decision: Decision,
    /// The state after the decision.
    pub state: State,
    /// The attempt after the decision.
    pub attempt: u32,
}

/// The rule of contract §4.
pub fn reserve(
    existing: Option<&Entry>,
    request: &Reserve,
    now: Timestamp,
) -> (ReserveAnswer, Change) {
    let Some(entry) = existing else {
        let receipt = first_receipt(&request.key, &request.fingerprint, &request.facts, now);
        return begin(receipt, Decision::Execute, request, now);
    };
    if !entry.matches(&request.fingerprint) {
        let change = conflict(entry, &request.fingerprint, &request.facts.owner);
        return (unchanged(entry, Decision::Conflict, now), change);
    }
    match entry {
        Entry::Pruned(pruned) => reserve_pruned(entry, *pruned, request, now),
        Entry::Whole(receipt) => reserve_whole(entry, receipt, request, now),
    }
}

fn reserve_whole(
    entry: &Entry,
    receipt: &Receipt,
    request: &Reserve,
    now: Timestamp,
) -> (ReserveAnswer, Change) {
    let may_begin_another = has_attempts_left(receipt.attempt, request.max_attempts);
    let decision = match receipt.state(now) {
        State::Recorded => Decision::Execute,
        State::Reserved => Decision::SkipInFlight,
        State::Succeeded => Decision::SkipSucceeded,
        State::Failed => {
            let retry = request.allow_failed_retry && !receipt.contested;
            if retry && may_begin_another {
                Decision::Retry
            } else {
                Decision::SkipFailed
            }
        }
        State::Unknown => {
            let retry = provider_still_remembers(receipt, request.retry_unknown_within_ms, now);
            if retry && may_begin_another {
                Decision::Retry
            } else {
                Decision::SkipUnknown
            }
        }
    };
    if decision.performs() {
        begin(receipt.clone(), decision, request, now)
    } else {
        (unchanged(entry, decision, now), Change::none())
    }
}

fn reserve_pruned(
    entry: &Entry,
    pruned: Pruned,
    request: &Reserve,
    now: Timestamp,
) -> (ReserveAnswer, Change) {
    let retry = pruned.state == State::Failed
        && request.allow_failed_retry
        && !pruned.contested
        && has_attempts_left(pruned.attempt, request.max_attempts);
    if retry {
        let mut receipt = first_receipt(&request.key, &request.fingerprint, &request.facts, now);
        receipt.attempt = pruned.attempt;
        return begin(receipt, Decision::Retry, request, now);
    }
    let decision = match pruned.state {
        State::Succeeded => Decision::SkipSucceeded,
        State::Failed => Decision::SkipFailed,
        State::Recorded | State::Reserved | State::Unknown => Decision::SkipUnknown,
    };
    (unchanged(entry, decision, now), Change::none())
}

fn has_attempts_left(attempt: u32, max_attempts: Option<u32>) -> bool {
    attempt < max_attempts.unwrap_or(u32::MAX)
}

/// Whether the first attempt is younger than the time the provider remembers a key. A clock that was set back must not
/// make it look younger: the receipt's own last change bounds the clock from below, and a first attempt that lies in
/// the future, or is not on record, proves nothing.
fn provider_still_remembers(receipt: &Receipt, within_ms: Option<i64>, now: Timestamp) -> bool {
    match (within_ms, receipt.first_reserved_at) {
        (Some(within_ms), Some(first)) if first <= now => {
            now.max(receipt.updated_at).ms_since(first) < within_ms
        }
        (_, _) => false,
    }
}

/// Hands the next attempt to the caller.
fn begin(
    mut receipt: Receipt,
    decision: Decision,
    request: &Reserve,
    now: Timestamp,
) -> (ReserveAnswer, Change) {
    // A prune keeps no times: what was retried after one has no first attempt on record.
    if receipt.attempt == 0 {
        receipt.first_reserved_at = Some(now);
    }
    receipt.stored_state = State::Reserved;
    receipt.attempt += 1;
    receipt.attempt_started_at = Some(now);
    receipt.updated_at = dated(&receipt, now);
    receipt.lease_expires_at = request.lease_ms.map(|lease_ms| now.plus_ms(lease_ms));
    receipt.settled_at = None;
    receipt.settled_by = None;
    receipt.contested = false;
    receipt.reason = None;
    request.facts.put_on(&mut receipt);
    let answer = ReserveAnswer {
        decision,
        state: State::Reserved,
        attempt: receipt.attempt,
    };
    let event = Event {
        kind: EventKind::Reserved,
        attempt: receipt.attempt,
        actor: request.facts.owner.clone(),
        detail: None,
    };
    (answer, Change::to(receipt, event))
}

fn unchanged(entry: &Entry, decision: Decision, now: Timestamp) -> ReserveAnswer {
    ReserveAnswer {
        decision,
        state: entry.state(now),
        attempt: entry.attempt(),
    }
}
