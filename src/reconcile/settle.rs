//! Putting on record what an export proves, one key at a time.

use super::{Category, Finding, Reconcile, Rows, compare};
use crate::decide::{Change, Resolve, ResolveAnswer, Verdict, resolve};
use crate::receipt::{Entry, FingerprintDigest, Key, State, TEXT_BYTES_MAX, Text, Timestamp};

/// What was looked at: a receipt that has changed since is not settled on what was found before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    attempt: u32,
    fingerprint: FingerprintDigest,
    stored_state: State,
    /// Not on record for a pruned receipt.
    updated_at: Option<Timestamp>,
}

impl Seen {
    /// Remembers an entry.
    pub fn of(entry: &Entry) -> Seen {
        match entry {
            Entry::Whole(receipt) => Seen {
                attempt: receipt.attempt,
                fingerprint: FingerprintDigest::of(&receipt.fingerprint),
                stored_state: receipt.stored_state,
                updated_at: Some(receipt.updated_at),
            },
            Entry::Pruned(pruned) => Seen {
                attempt: pruned.attempt,
                fingerprint: pruned.fingerprint,
                stored_state: pruned.state,
                updated_at: None,
            },
        }
    }
}

/// What an export proves of one key that is in drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The key.
    pub key: Key,
    /// Its entry when it was looked at.
    pub seen: Seen,
    /// The drift that was found.
    pub category: Category,
    /// The provider's rows for it.
    pub rows: Option<Rows>,
}

impl Proof {
    /// The proof that lies in a finding, if the request says to settle by it.
    pub fn of(
        request: &Reconcile,
        finding: Finding,
        key: &Key,
        entry: Option<&Entry>,
        rows: &mut Option<Rows>,
    ) -> Option<Proof> {
        let category = match finding {
            Finding::Drift(category @ Category::AppliedNotRecorded) if request.settle => category,
            Finding::Drift(category @ Category::NotApplied) if request.settle_absent => category,
            Finding::Drift(_)
            | Finding::Agree
            | Finding::InFlight
            | Finding::Unproven
            | Finding::Outside => return None,
        };
        Some(Proof {
            key: key.clone(),
            seen: Seen::of(entry?),
            category,
            rows: rows.take(),
        })
    }

    fn resolve(&self, request: &Reconcile) -> Option<Resolve> {
        let name = shortened(&request.name);
        let (verdict, evidence) = match (self.category, &self.rows, request.scope.window) {
            (Category::AppliedNotRecorded, Some(rows), _) => {
                let line = rows.applied.first()?.line;
                let evidence = format!("file {name} line {line}");
                (Verdict::Succeeded { result: None }, evidence)
            }
            (Category::NotApplied, None, Some(window)) => {
                let (since, until) = (window.since, window.until);
                let evidence = format!("absent from {name}, window {since} to {until}");
                (Verdict::Failed, evidence)
            }
            (_, _, _) => return None,
        };
        Some(Resolve {
            key: self.key.clone(),
            fingerprint: None,
            attempt: Some(self.seen.attempt),
            owner: None,
            verdict,
            evidence: Text::parse(&evidence).ok()?,
        })
    }
}

/// The rule: settles what was looked at if it is still that, and still in the same drift; leaves alone what is not.
/// What is then found, and what to keep.
pub fn settle(
    existing: Option<&Entry>,
    proof: &Proof,
    request: &Reconcile,
    now: Timestamp,
) -> (Finding, Change) {
    let rows = proof.rows.as_ref();
    let found = compare(existing, rows, &request.scope, now);
    let unchanged = existing.map(Seen::of) == Some(proof.seen);
    let resolving = proof.resolve(request);
    let Some(resolving) =
        resolving.filter(|_| unchanged && found == Finding::Drift(proof.category))
    else {
        return (found, Change::default());
    };
    let (answer, change) = resolve(existing, &resolving, now);
    match answer {
        ResolveAnswer::Resolved { .. } if proof.rows.is_none() => (Finding::Agree, change),
        // Now that it has succeeded, the amounts are compared.
        ResolveAnswer::Resolved { .. } => {
            let resolved = change.entry.as_ref().or(existing);
            (compare(resolved, rows, &request.scope, now), change)
        }
        ResolveAnswer::Refused(_) | ResolveAnswer::Conflict { .. } => (found, change),
    }
}

/// As much of a long name as leaves room for the rest of the evidence: its end, which tells files apart.
fn shortened(name: &str) -> String {
    let room = TEXT_BYTES_MAX / 2;
    if name.len() <= room {
        return name.to_owned();
    }
    let begin = (name.len() - room..).find(|&at| name.is_char_boundary(at));
    format!("…{}", &name[begin.unwrap_or(name.len())..])
}
