//! `succeed`, `fail`, `unknown` and `renew`: what came of an attempt.

use super::late::{late, late_kind, marked, marked_pruned};
use super::{Change, Refusal, dated};
use crate::receipt::{
    Entry, Event, EventKind, Key, Owner, Pruned, Receipt, ResultJson, SettledBy, State, Text,
    Timestamp,
};

/// What the caller says came of the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The effect happened.
    Succeeded {
        /// What it returned.
        result: Option<ResultJson>,
    },
    /// It is known that the effect did not happen.
    Failed {
        /// Why.
        reason: Option<Text>,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        reason: Option<Text>,
    },
}

/// The verb behind a settlement, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleVerb {
    /// `succeed`
    Succeed,
    /// `fail`
    Fail,
    /// `unknown`
    Unknown,
}

impl Settlement {
    /// The verb that says this.
    pub fn verb(&self) -> SettleVerb {
        match self {
            Settlement::Succeeded { .. } => SettleVerb::Succeed,
            Settlement::Failed { .. } => SettleVerb::Fail,
            Settlement::Unknown { .. } => SettleVerb::Unknown,
        }
    }
}

/// A settling call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The effect's name.
    pub key: Key,
    /// The attempt it speaks for; the current one if none is named.
    pub attempt: Option<u32>,
    /// Who speaks, as the caller names itself.
    pub owner: Option<Owner>,
    /// What came of it.
    pub settlement: Settlement,
}

/// A promise that an attempt goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renew {
    /// The effect's name.
    pub key: Key,
    /// The attempt it speaks for.
    pub attempt: u32,
    /// Who speaks.
    pub owner: Option<Owner>,
    /// How long from now (milliseconds) until it is settled or renewed.
    pub lease_ms: i64,
}

/// What came of a settling call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAnswer {
    /// It stands, now or from an earlier call that said the same.
    Settled {
        /// The state that stands.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
    /// It was refused.
    Refused(Refusal),
}

impl SettleAnswer {
    fn settled(receipt: &Receipt) -> SettleAnswer {
        SettleAnswer::Settled {
            state: receipt.stored_state,
            attempt: receipt.attempt,
        }
    }
}

/// The rule of contract §5 for `succeed`, `fail` and `unknown`.
pub fn settle(
    existing: Option<&Entry>,
    request: &Settle,
    now: Timestamp,
) -> (SettleAnswer, Change) {
    let entry = match fenced(existing, request.attempt, &request.owner) {
        Ok(entry) => entry,
        Err(refusal) => {
            let (kind, detail) = late_kind(&request.settlement);
            let change = late(existing, &refusal, kind, detail, &request.owner);
            return (SettleAnswer::Refused(refusal), change);
        }
    };
    let frees = request.settlement.verb() == SettleVerb::Fail;
    if frees && request.attempt.is_none() && entry.attempt() > 1 {
        let current = entry.attempt();
        return (
            SettleAnswer::Refused(Refusal::AttemptNeeded { current }),
            Change::none(),
        );
    }
    match entry {
        Entry::Pruned(pruned) => settle_pruned(*pruned, &request.settlement),
        Entry::Whole(receipt) => match &request.settlement {
            Settlement::Succeeded { result } => succeed(receipt, request, result.as_ref(), now),
            Settlement::Failed { reason } => fail(receipt, request, reason.as_ref(), now),
            Settlement::Unknown { reason } => declare(receipt, request, reason.as_ref(), now),
        },
    }
}

/// The rule of contract §5 for `renew`.
pub fn renew(existing: Option<&Entry>, request: &Renew, now: Timestamp) -> (SettleAnswer, Change) {
    let entry = match fenced(existing, Some(request.attempt), &request.owner) {
        Ok(entry) => entry,
        Err(refusal) => return (SettleAnswer::Refused(refusal), Change::none()),
    };
    let receipt = match entry {
        Entry::Whole(receipt) if receipt.stored_state == State::Reserved => receipt,
        Entry::Whole(_) | Entry::Pruned(_) => {
            return (SettleAnswer::Refused(invalid(entry, now)), Change::none());
        }
    };
    let ran_out = receipt.state(now) == State::Unknown;
    let mut renewed = Receipt::clone(receipt);
    renewed.updated_at = dated(receipt, now);
    renewed.lease_expires_at = Some(now.plus_ms(request.lease_ms));
    let answer = SettleAnswer::settled(&renewed);
    // A heartbeat changes no state and leaves no row; coming back from unknown does.
    let mut change = Change::to(
        renewed,
        event(EventKind::Renewed, receipt, &request.owner, None),
    );
    if !ran_out {
        change.events.clear();
    }
    (answer, change)
}

/// Finds the entry the call speaks of, or says why it may not speak: the attempt first, then the owner.
pub(super) fn fenced<'a>(
    existing: Option<&'a Entry>,
    attempt: Option<u32>,
    owner: &Option<Owner>,
) -> Result<&'a Entry, Refusal> {
    let entry = existing.ok_or(Refusal::NotFound)?;
    let current = entry.attempt();
    match attempt {
        Some(given) if given != current => return Err(Refusal::StaleAttempt { given, current }),
        Some(_) | None => {}
    }
    match entry {
        Entry::Whole(receipt) if owner.is_some() && *owner != receipt.owner => {
            Err(Refusal::NotOwner {
                owner: receipt.owner.clone(),
            })
        }
        Entry::Whole(_) | Entry::Pruned(_) => Ok(entry),
    }
}

/// The refusal of a state that does not lead where the call wants.
pub(super) fn invalid(entry: &Entry, now: Timestamp) -> Refusal {
    Refusal::InvalidTransition {
        state: entry.state(now),
        attempt: entry.attempt(),
        pruned: matches!(entry, Entry::Pruned(_)),
        other_result: false,
    }
}

fn invalid_whole(receipt: &Receipt, now: Timestamp) -> (SettleAnswer, Change) {
    let refusal = Refusal::InvalidTransition {
        state: receipt.state(now),
        attempt: receipt.attempt,
        pruned: false,
        other_result: receipt.stored_state == State::Succeeded,
    };
    (SettleAnswer::Refused(refusal), Change::none())
}

fn succeed(
    receipt: &Receipt,
    request: &Settle,
    result: Option<&ResultJson>,
    now: Timestamp,
) -> (SettleAnswer, Change) {
    match receipt.stored_state {
        State::Reserved | State::Unknown => {
            let settled = succeeded(receipt, SettledBy::Caller, result, now);
            let event = event(EventKind::Succeeded, receipt, &request.owner, None);
            (SettleAnswer::settled(&settled), Change::to(settled, event))
        }
        State::Succeeded if same_result(receipt, result) => {
            (SettleAnswer::settled(receipt), Change::none())
        }
        // Refused, but two callers now contradict each other about this attempt: the evidence is kept, and bars a retry.
        State::Failed => {
            let event = event(EventKind::LateSucceeded, receipt, &request.owner, None);
            let (refused, _) = invalid_whole(receipt, now);
            (refused, Change::to(marked(receipt), event))
        }
        State::Recorded | State::Succeeded => invalid_whole(receipt, now),
    }
}

fn fail(
    receipt: &Receipt,
    request: &Settle,
    reason: Option<&Text>,
    now: Timestamp,
) -> (SettleAnswer, Change) {
    match receipt.stored_state {
        // An older attempt said that it succeeded: that this one failed no longer proves that nothing happened.
        State::Reserved if receipt.late_success => declare(receipt, request, reason, now),
        State::Unknown if receipt.late_success => (SettleAnswer::settled(receipt), Change::none()),
        State::Reserved => {
            let settled = failed(receipt, SettledBy::Caller, reason, now);
            let event = event(EventKind::Failed, receipt, &request.owner, reason);
            (SettleAnswer::settled(&settled), Change::to(settled, event))
        }
        State::Failed => (SettleAnswer::settled(receipt), Change::none()),
        State::Recorded | State::Succeeded | State::Unknown => invalid_whole(receipt, now),
    }
}

fn declare(
    receipt: &Receipt,
    request: &Settle,
    reason: Option<&Text>,
    now: Timestamp,
) -> (SettleAnswer, Change) {
    match receipt.stored_state {
        State::Reserved => {
            let declared = Receipt {
                stored_state: State::Unknown,
                updated_at: dated(receipt, now),
                lease_expires_at: None,
                reason: reason.cloned(),
                ..receipt.clone()
            };
            let event = event(EventKind::Unknown, receipt, &request.owner, reason);
            (
                SettleAnswer::settled(&declared),
                Change::to(declared, event),
            )
        }
        State::Unknown => (SettleAnswer::settled(receipt), Change::none()),
        State::Recorded | State::Succeeded | State::Failed => invalid_whole(receipt, now),
    }
}

/// A pruned receipt takes only what it already says, and no result: it keeps none to compare with.
fn settle_pruned(pruned: Pruned, settlement: &Settlement) -> (SettleAnswer, Change) {
    let same = match settlement {
        Settlement::Succeeded { result } => pruned.state == State::Succeeded && result.is_none(),
        Settlement::Failed { .. } => pruned.state == State::Failed,
        Settlement::Unknown { .. } => false,
    };
    let Pruned { state, attempt, .. } = pruned;
    if same {
        (SettleAnswer::Settled { state, attempt }, Change::none())
    } else {
        let other_result = state == State::Succeeded;
        let refusal = Refusal::InvalidTransition {
            state,
            attempt,
            pruned: true,
            other_result,
        };
        let change = match settlement {
            Settlement::Succeeded { .. } => marked_pruned(pruned),
            Settlement::Failed { .. } | Settlement::Unknown { .. } => Change::none(),
        };
        (SettleAnswer::Refused(refusal), change)
    }
}

/// Whether saying it again changes nothing: no result, or the one on record.
pub(super) fn same_result(receipt: &Receipt, result: Option<&ResultJson>) -> bool {
    result.is_none() || result == receipt.result.as_ref()
}

pub(super) fn succeeded(
    receipt: &Receipt,
    by: SettledBy,
    result: Option<&ResultJson>,
    now: Timestamp,
) -> Receipt {
    Receipt {
        stored_state: State::Succeeded,
        updated_at: dated(receipt, now),
        lease_expires_at: None,
        settled_at: Some(now),
        settled_by: Some(by),
        contested: false,
        reason: None,
        result: result.cloned(),
        ..receipt.clone()
    }
}

pub(super) fn failed(
    receipt: &Receipt,
    by: SettledBy,
    reason: Option<&Text>,
    now: Timestamp,
) -> Receipt {
    Receipt {
        stored_state: State::Failed,
        updated_at: dated(receipt, now),
        lease_expires_at: None,
        settled_at: Some(now),
        settled_by: Some(by),
        contested: false,
        reason: reason.cloned(),
        ..receipt.clone()
    }
}

pub(super) fn event(
    kind: EventKind,
    receipt: &Receipt,
    actor: &Option<Owner>,
    detail: Option<&Text>,
) -> Event {
    let detail = detail.map(|text| text.as_str().to_owned());
    Event {
        kind,
        attempt: receipt.attempt,
        actor: actor.clone(),
        detail,
    }
}
