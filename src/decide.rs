//! THE RULES: pure functions from what the ledger holds, what is asked and the ledger's clock to an answer and a change.
//!
//! No I/O, no clock, no randomness and no store is touched here, so a store may run a rule again after a lost race.
//! A fingerprint is compared before anything else: who comes with another content learns nothing of the first.

mod apply;
mod conclude;
mod late;
mod record;
mod reserve;
mod resolve;
mod settle;

pub use apply::apply;
pub use conclude::{ConcludeAnswer, conclude};
pub use record::{PAYLOAD_BYTES_MAX, Record, RecordAnswer, record};
pub use reserve::{Decision, Reserve, ReserveAnswer, reserve};
pub use resolve::{Resolve, ResolveAnswer, Verdict, resolve};
pub use settle::{Renew, Settle, SettleAnswer, SettleVerb, Settlement, renew, settle};

use std::sync::Arc;

use crate::receipt::{
    Amount, Entry, Event, EventKind, Fingerprint, Key, Owner, Receipt, RunId, State, Timestamp,
};

/// What a rule wants kept. Neither a new entry nor an event: nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// The key's new entry, if it changes.
    pub entry: Option<Entry>,
    /// Rows to append to the key's history, in the same transaction.
    pub events: Vec<Event>,
    /// The payload to keep with a new receipt.
    pub payload: Option<Arc<[u8]>>,
}

impl Change {
    fn none() -> Change {
        Change::default()
    }

    fn to(receipt: Receipt, event: Event) -> Change {
        Change {
            entry: Some(Entry::Whole(Box::new(receipt))),
            events: vec![event],
            payload: None,
        }
    }

    fn note(event: Event) -> Change {
        Change {
            events: vec![event],
            ..Change::none()
        }
    }

    /// Whether there is nothing to write.
    pub fn is_none(&self) -> bool {
        self.entry.is_none() && self.events.is_empty()
    }
}

/// Facts a caller may put on a receipt; none of them takes part in a decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Who asks.
    pub owner: Option<Owner>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The money it moves.
    pub amount: Option<Amount>,
}

impl Facts {
    /// Puts what was given on the receipt; what was not given stays.
    fn put_on(&self, receipt: &mut Receipt) {
        let Facts { owner, run, amount } = self.clone();
        receipt.owner = owner.or(receipt.owner.take());
        receipt.run = run.or(receipt.run.take());
        receipt.amount = amount.or(receipt.amount.take());
    }
}

/// Why a settling call was refused. A refusal changes no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The ledger holds nothing for the key.
    NotFound,
    /// The call speaks for another attempt than the current one.
    StaleAttempt {
        /// The attempt it named.
        given: u32,
        /// The current one.
        current: u32,
    },
    /// What frees a key must say which attempt it speaks for, once there were two.
    AttemptNeeded {
        /// The current attempt.
        current: u32,
    },
    /// The call names another owner than the receipt's.
    NotOwner {
        /// The receipt's owner.
        owner: Option<Owner>,
    },
    /// The state does not lead where the call wants.
    InvalidTransition {
        /// What the receipt is.
        state: State,
        /// Its attempt.
        attempt: u32,
        /// Whether the receipt is reduced to digests.
        pruned: bool,
        /// Whether it stands succeeded with another result than the one given.
        other_result: bool,
    },
}

/// The receipt of an intent that nobody has performed yet.
fn first_receipt(key: &Key, fingerprint: &Fingerprint, facts: &Facts, now: Timestamp) -> Receipt {
    let mut receipt = Receipt {
        key: key.clone(),
        fingerprint: fingerprint.clone(),
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
    };
    facts.put_on(&mut receipt);
    receipt
}

/// The moment to which a change is dated. A clock that was set back dates none before the receipt's last one: otherwise
/// its first attempt would look younger than it is.
fn dated(receipt: &Receipt, now: Timestamp) -> Timestamp {
    now.max(receipt.updated_at)
}

/// The row that tells of a caller with another fingerprint; a pruned receipt has no history to append it to.
fn conflict(entry: &Entry, fingerprint: &Fingerprint, actor: &Option<Owner>) -> Change {
    match entry {
        Entry::Whole(receipt) => Change::note(Event {
            kind: EventKind::Conflict,
            attempt: receipt.attempt,
            actor: actor.clone(),
            detail: Some(fingerprint.to_string()),
        }),
        Entry::Pruned(_) => Change::none(),
    }
}
