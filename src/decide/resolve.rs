//! `resolve`: somebody compared with the outside world and gives evidence.

use super::late::late;
use super::settle::{event, failed, fenced, invalid, same_result, succeeded};
use super::{Change, Facts, Refusal, conflict, first_receipt};
use crate::receipt::{
    Entry, EventKind, Fingerprint, Key, Owner, Pruned, Receipt, ResultJson, SettledBy, State, Text,
    Timestamp,
};

/// What the evidence shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The effect happened.
    Succeeded {
        /// What it returned.
        result: Option<ResultJson>,
    },
    /// The effect did not happen.
    Failed,
}

/// A resolving call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// The effect's name.
    pub key: Key,
    /// Its content; with it, an effect that was never on record can be put there as succeeded.
    pub fingerprint: Option<Fingerprint>,
    /// The attempt it speaks for.
    pub attempt: Option<u32>,
    /// The owner the receipt must have.
    pub owner: Option<Owner>,
    /// What the evidence shows.
    pub verdict: Verdict,
    /// The evidence.
    pub evidence: Text,
}

/// What came of a resolving call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveAnswer {
    /// It stands, now or from an earlier call that said the same.
    Resolved {
        /// The state that stands.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
    /// It was refused.
    Refused(Refusal),
    /// The key is bound to another content.
    Conflict {
        /// What it is.
        state: State,
        /// Its attempt.
        attempt: u32,
    },
}

impl ResolveAnswer {
    fn resolved(receipt: &Receipt) -> ResolveAnswer {
        ResolveAnswer::Resolved {
            state: receipt.stored_state,
            attempt: receipt.attempt,
        }
    }
}

/// The rule of contract §5 for `resolve`.
pub fn resolve(
    existing: Option<&Entry>,
    request: &Resolve,
    now: Timestamp,
) -> (ResolveAnswer, Change) {
    if let (Some(entry), Some(fingerprint)) = (existing, &request.fingerprint)
        && !entry.matches(fingerprint)
    {
        let answer = ResolveAnswer::Conflict {
            state: entry.state(now),
            attempt: entry.attempt(),
        };
        return (answer, conflict(entry, fingerprint, &request.owner));
    }
    if existing.is_none()
        && request.attempt.is_none()
        && let (Some(fingerprint), Verdict::Succeeded { .. }) =
            (&request.fingerprint, &request.verdict)
    {
        let facts = Facts {
            owner: request.owner.clone(),
            ..Facts::default()
        };
        return put(
            first_receipt(&request.key, fingerprint, &facts, now),
            request,
            now,
        );
    }
    let entry = match fenced(existing, request.attempt, &request.owner) {
        Ok(entry) => entry,
        Err(refusal) => {
            let change = match request.verdict {
                // Refused, but evidence of a success all the same.
                Verdict::Succeeded { .. } => {
                    let (kind, detail) = (EventKind::LateSucceeded, Some(&request.evidence));
                    late(existing, &refusal, kind, detail, &request.owner)
                }
                Verdict::Failed => Change::none(),
            };
            return (ResolveAnswer::Refused(refusal), change);
        }
    };
    let frees = request.verdict == Verdict::Failed;
    if frees && request.attempt.is_none() && entry.attempt() > 1 {
        let refusal = Refusal::AttemptNeeded {
            current: entry.attempt(),
        };
        return (ResolveAnswer::Refused(refusal), Change::none());
    }
    match entry {
        Entry::Whole(receipt) => resolve_whole(entry, receipt, request, now),
        Entry::Pruned(pruned) => resolve_pruned(entry, *pruned, request, now),
    }
}

fn resolve_whole(
    entry: &Entry,
    receipt: &Receipt,
    request: &Resolve,
    now: Timestamp,
) -> (ResolveAnswer, Change) {
    let changes = match (receipt.state(now), &request.verdict) {
        (State::Unknown | State::Recorded, _) => true,
        (State::Failed, Verdict::Succeeded { .. }) => true,
        // Evidence answers a late success, which alone would bar every retry.
        (State::Failed, Verdict::Failed) => receipt.contested,
        (State::Succeeded, Verdict::Succeeded { result }) => {
            if !same_result(receipt, result.as_ref()) {
                return refuse(entry, now);
            }
            false
        }
        (State::Succeeded, Verdict::Failed) | (State::Reserved, _) => return refuse(entry, now),
    };
    if changes {
        put(receipt.clone(), request, now)
    } else {
        (ResolveAnswer::resolved(receipt), Change::none())
    }
}

/// A pruned receipt has no fingerprint to become whole with unless the caller brings it; its digests can still take
/// the other state.
fn resolve_pruned(
    entry: &Entry,
    pruned: Pruned,
    request: &Resolve,
    now: Timestamp,
) -> (ResolveAnswer, Change) {
    let Pruned { state, attempt, .. } = pruned;
    let same = ResolveAnswer::Resolved { state, attempt };
    match (state, &request.verdict) {
        (State::Failed, Verdict::Succeeded { result }) => match &request.fingerprint {
            Some(fingerprint) => {
                let facts = Facts {
                    owner: request.owner.clone(),
                    ..Facts::default()
                };
                let mut receipt = first_receipt(&request.key, fingerprint, &facts, now);
                receipt.attempt = attempt;
                put(receipt, request, now)
            }
            None if result.is_some() => refuse(entry, now),
            None => {
                let resolved = Pruned {
                    state: State::Succeeded,
                    contested: false,
                    ..pruned
                };
                let answer = ResolveAnswer::Resolved {
                    state: State::Succeeded,
                    attempt,
                };
                let change = Change {
                    entry: Some(Entry::Pruned(resolved)),
                    ..Change::none()
                };
                (answer, change)
            }
        },
        (State::Succeeded, Verdict::Succeeded { result: None }) => (same, Change::none()),
        (State::Failed, Verdict::Failed) if pruned.contested => {
            let answered = Pruned {
                contested: false,
                ..pruned
            };
            (
                same,
                Change {
                    entry: Some(Entry::Pruned(answered)),
                    ..Change::none()
                },
            )
        }
        (State::Failed, Verdict::Failed) => (same, Change::none()),
        (_, _) => refuse(entry, now),
    }
}

/// Puts the verdict on record, for attempt 1 where there was none.
fn put(mut receipt: Receipt, request: &Resolve, now: Timestamp) -> (ResolveAnswer, Change) {
    receipt.attempt = receipt.attempt.max(1);
    let evidence = Some(&request.evidence);
    let (mut resolved, kind) = match &request.verdict {
        Verdict::Succeeded { result } => {
            let by = SettledBy::Reconciled;
            (
                succeeded(&receipt, by, result.as_ref(), now),
                EventKind::Succeeded,
            )
        }
        Verdict::Failed => (
            failed(&receipt, SettledBy::Reconciled, evidence, now),
            EventKind::Failed,
        ),
    };
    resolved.reason = evidence.cloned();
    let event = event(kind, &resolved, &request.owner, evidence);
    (
        ResolveAnswer::resolved(&resolved),
        Change::to(resolved, event),
    )
}

fn refuse(entry: &Entry, now: Timestamp) -> (ResolveAnswer, Change) {
    let mut refusal = invalid(entry, now);
    if let Refusal::InvalidTransition {
        state: State::Succeeded,
        other_result,
        ..
    } = &mut refusal
    {
        *other_result = true;
    }
    (ResolveAnswer::Refused(refusal), Change::none())
}
