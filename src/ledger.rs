//! The verbs: each joins one rule to one store transaction.

mod batch;
mod reconcile;

pub use batch::{Answer, Request};
pub use reconcile::EachDrift;

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::decide::{
    self, Change, ConcludeAnswer, Decision, Record, RecordAnswer, Renew, Reserve, ReserveAnswer,
    Resolve, ResolveAnswer, Settle, SettleAnswer,
};
use crate::error::Error;
use crate::export::{self, Counts};
use crate::receipt::{Entry, Fingerprint, Key, Receipt, State, Timestamp};
use crate::store::{
    Filter, Imported, Pending, PendingIntent, Portable, Prune, Pruned, Reading, Source, Standing,
    Stats, Store,
};
use crate::verify;

/// Longest pause between two looks at a receipt that somebody else is performing.
const LOOK_EVERY_MAX: Duration = Duration::from_millis(100);
/// First pause; it doubles up to [`LOOK_EVERY_MAX`].
const LOOK_EVERY_MIN: Duration = Duration::from_millis(5);

/// A ledger over a store.
///
/// Every method answers only after the answer is durable. After an `Err` the effect must not be performed.
#[derive(Debug)]
pub struct Ledger<S> {
    store: S,
}

impl<S: Store> Ledger<S> {
    /// A ledger over this store.
    pub fn new(store: S) -> Ledger<S> {
        Ledger { store }
    }

    /// The store underneath.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Gives the store back.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Closes the store: what is at rest is then whole.
    ///
    /// # Errors
    /// [`Error`]; every answer given still stands.
    pub fn close(self) -> Result<(), Error> {
        Box::new(self.store).close()
    }

    /// Decides whether the caller may perform the effect now (contract §4).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer. A conflict that cannot be written down is still answered as one.
    pub fn reserve(&mut self, request: &Reserve) -> Result<ReserveAnswer, Error> {
        let rule = |existing: Option<&Entry>, now| decide::reserve(existing, request, now);
        match self.decide(&request.key, rule) {
            Ok(answer) => Ok(answer),
            Err(error) => self.conflict(&request.key, &request.fingerprint, error),
        }
    }

    /// As [`Ledger::reserve`], but while somebody else is performing the effect waits up to `wait` for that to change.
    /// Holds no transaction while it waits. `stop` is asked between looks; once it says true the wait is over.
    ///
    /// # Errors
    /// As [`Ledger::reserve`].
    pub fn reserve_waiting(
        &mut self,
        request: &Reserve,
        wait: Duration,
        pause: &mut dyn FnMut(Duration) -> Waiting,
    ) -> Result<ReserveAnswer, Error> {
        let began = Instant::now();
        let mut look_every = LOOK_EVERY_MIN;
        loop {
            let answer = self.reserve(request)?;
            if answer.decision != Decision::SkipInFlight {
                return Ok(answer);
            }
            loop {
                let left = wait.saturating_sub(began.elapsed());
                if left.is_zero() || pause(look_every.min(left)) == Waiting::Stop {
                    return Ok(answer);
                }
                look_every = (look_every * 2).min(LOOK_EVERY_MAX);
                let reading = self.store.read(&request.key, false)?;
                let state = reading.entry.as_ref().map(|entry| entry.state(reading.now));
                if state != Some(State::Reserved) {
                    break;
                }
            }
        }
    }

    /// Puts an intent on record without performing it (contract §7.1).
    ///
    /// # Errors
    /// As [`Ledger::reserve`].
    pub fn record(&mut self, request: &Record) -> Result<RecordAnswer, Error> {
        let rule = |existing: Option<&Entry>, now| decide::record(existing, request, now);
        match self.decide(&request.key, rule) {
            Ok(answer) => Ok(answer),
            Err(error) => self
                .conflict_all_the_same(&request.key, &request.fingerprint, error)
                .map(|(state, attempt)| RecordAnswer::Conflict { state, attempt }),
        }
    }

    /// Says what came of an attempt (contract §5).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer; saying the same again later changes nothing.
    pub fn settle(&mut self, request: &Settle) -> Result<SettleAnswer, Error> {
        self.decide(&request.key, |existing, now| {
            decide::settle(existing, request, now)
        })
    }

    /// Says what came of a command that was started under an attempt; what it has settled itself stands (contract §6.7).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer.
    pub fn conclude(&mut self, outcome: &Settle) -> Result<ConcludeAnswer, Error> {
        self.decide(&outcome.key, |existing, now| {
            decide::conclude(existing, outcome, now)
        })
    }

    /// Promises that an attempt goes on (contract §5).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer.
    pub fn renew(&mut self, request: &Renew) -> Result<SettleAnswer, Error> {
        self.decide(&request.key, |existing, now| {
            decide::renew(existing, request, now)
        })
    }

    /// Settles by evidence what nobody knew (contract §5).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot answer.
    pub fn resolve(&mut self, request: &Resolve) -> Result<ResolveAnswer, Error> {
        let rule = |existing: Option<&Entry>, now| decide::resolve(existing, request, now);
        match (self.decide(&request.key, rule), &request.fingerprint) {
            (Err(error), Some(fingerprint)) => self
                .conflict_all_the_same(&request.key, fingerprint, error)
                .map(|(state, attempt)| ResolveAnswer::Conflict { state, attempt }),
            (answer, _) => answer,
        }
    }

    /// Decides as [`Ledger::reserve`], and performs the effect in the same transaction: SQL on the ledger's own database
    /// (contract §7.3).
    ///
    /// # Errors
    /// As [`Ledger::reserve`], and [`Error::Sql`] when the statements were refused or failed; nothing is then kept.
    pub fn apply(&mut self, request: &Reserve, sql: &str) -> Result<ReserveAnswer, Error> {
        let mut answer = None;
        let applied = self.store.apply(
            &request.key,
            &mut |existing, now| {
                let (given, change) = decide::apply(existing, request, now);
                answer = Some(given);
                change
            },
            sql,
        );
        match applied {
            Ok(()) => Ok(answer.expect("a store that says Ok has run the rule")),
            Err(error) => self.conflict(&request.key, &request.fingerprint, error),
        }
    }

    /// Answers many requests, in order, in one transaction that is synced once. A request that fails is undone alone.
    ///
    /// # Errors
    /// [`Error`] when nothing was kept: then none of the requests has an answer.
    pub fn batch(&mut self, requests: &[Request]) -> Result<Vec<Result<Answer, Error>>, Error> {
        batch::answer(&mut self.store, requests)
    }

    /// The answer to a request of a batch that could not be decided, if it is a conflict all the same: that needs no
    /// write to be true (contract §5.5).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot even be read.
    pub fn conflict_in(
        &mut self,
        request: &Request,
        error: &Error,
    ) -> Result<Option<Answer>, Error> {
        let Some((key, fingerprint)) = request.content() else {
            return Ok(None);
        };
        let behind = self.conflict_behind(key, fingerprint, error)?;
        Ok(behind.and_then(|(state, attempt)| request.conflict(state, attempt)))
    }

    /// The oldest intent that waits to be performed (contract §7.2).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn next_pending(&mut self, pending: &Pending) -> Result<Option<PendingIntent>, Error> {
        self.store.next_pending(pending)
    }

    /// The payload kept for a key (contract §7.1).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn payload(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        self.store.payload(key)
    }

    /// Hands out whole receipts, oldest first, with the ledger's clock (contract §8.2).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn list(
        &mut self,
        filter: &Filter,
        each: &mut dyn FnMut(Receipt, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.store.scan(filter, each)
    }

    /// The ledger in figures (contract §8.3).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn stats(&mut self) -> Result<Stats, Error> {
        self.store.stats()
    }

    /// Reduces settled receipts to digests that still answer, or deletes them whole (contract §9.1).
    ///
    /// # Errors
    /// [`Error`]; what was done so far is done.
    pub fn prune(
        &mut self,
        prune: &Prune,
        progress: &mut dyn FnMut(&Pruned),
    ) -> Result<Pruned, Error> {
        self.store.prune(prune, progress)
    }

    /// Deletes what earlier prunes left, which makes those keys executable again (contract §9.1).
    ///
    /// # Errors
    /// [`Error`]; what was done so far is done.
    pub fn forget_pruned(&mut self, dry_run: bool) -> Result<u64, Error> {
        self.store.forget_pruned(dry_run)
    }

    /// Writes everything as JSON Lines (contract §9.4). The outer error is the ledger's, the inner one the writer's.
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn export(&mut self, out: &mut dyn io::Write) -> Result<io::Result<Counts>, Error> {
        export::write(&mut self.store, out)
    }

    /// Takes an export in, all of it or nothing (contract §9.4). With `mark`, a ledger that thereby changes is a copy.
    ///
    /// # Errors
    /// [`Error`]; nothing was then changed.
    pub fn import(&mut self, source: &mut dyn Source, mark: bool) -> Result<Imported, Error> {
        self.store.import(source, mark)
    }

    /// Whether the ledger decides (contract §9.3).
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn standing(&mut self) -> Result<Standing, Error> {
        self.store.standing()
    }

    /// Changes whether the ledger decides, if it stands as `from`; returns how it stands now.
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be written.
    pub fn stand(&mut self, from: Standing, to: Standing) -> Result<Standing, Error> {
        self.store.stand(from, to)
    }

    /// Looks for everything that breaks an invariant, in the store and in each receipt; tells each finding, with the key
    /// it is about. Returns how many whole receipts were looked at.
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read at all.
    pub fn verify(&mut self, found: &mut dyn FnMut(Option<&Key>, &str)) -> Result<u64, Error> {
        let damaged = self.store.damage(&mut |finding| found(None, &finding));
        told_as_finding(damaged, found)?;
        let mut receipts = 0;
        let read = self.store.export(&mut |item| {
            if let Portable::Receipt {
                receipt, history, ..
            } = item
            {
                receipts += 1;
                for finding in verify::findings(&receipt, &history) {
                    found(Some(&receipt.key), &finding);
                }
            }
            ControlFlow::Continue(())
        });
        told_as_finding(read, found)?;
        Ok(receipts)
    }

    /// What the ledger holds for a key, with its history if that is asked for.
    ///
    /// # Errors
    /// [`Error`] when the ledger cannot be read.
    pub fn show(&mut self, key: &Key, with_history: bool) -> Result<Reading, Error> {
        self.store.read(key, with_history)
    }

    fn decide<A>(
        &mut self,
        key: &Key,
        rule: impl Fn(Option<&Entry>, Timestamp) -> (A, Change),
    ) -> Result<A, Error> {
        let mut answer = None;
        self.store.update(key, &mut |existing, now| {
            let (given, change) = rule(existing, now);
            answer = Some(given);
            change
        })?;
        Ok(answer.expect("a store that says Ok has run the rule"))
    }

    fn conflict(
        &mut self,
        key: &Key,
        fingerprint: &Fingerprint,
        error: Error,
    ) -> Result<ReserveAnswer, Error> {
        let (state, attempt) = self.conflict_all_the_same(key, fingerprint, error)?;
        Ok(ReserveAnswer {
            decision: Decision::Conflict,
            state,
            attempt,
        })
    }

    /// A conflict needs no write to be true: where the ledger can still be read, it is told.
    fn conflict_all_the_same(
        &mut self,
        key: &Key,
        fingerprint: &Fingerprint,
        error: Error,
    ) -> Result<(State, u32), Error> {
        match self.conflict_behind(key, fingerprint, &error) {
            Ok(Some(conflict)) => Ok(conflict),
            Ok(None) | Err(_) => Err(error),
        }
    }

    /// What stands under the key, if that is bound to another content and the error only kept it from being written.
    fn conflict_behind(
        &mut self,
        key: &Key,
        fingerprint: &Fingerprint,
        error: &Error,
    ) -> Result<Option<(State, u32)>, Error> {
        // Locks and failing writes do not hide it; a copy or a retired ledger has nothing to say, and one that could not be
        // reached would only be waited for again.
        if !matches!(
            error,
            Error::Busy { .. } | Error::Io { .. } | Error::Uncertain { .. }
        ) {
            return Ok(None);
        }
        let Reading { entry, now, .. } = self.store.read(key, false)?;
        let other = entry.filter(|entry| !entry.matches(fingerprint));
        Ok(other.map(|entry| (entry.state(now), entry.attempt())))
    }
}

/// Damage that ends the reading is a finding, too.
fn told_as_finding(
    looked: Result<(), Error>,
    found: &mut dyn FnMut(Option<&Key>, &str),
) -> Result<(), Error> {
    match looked {
        Err(Error::Corrupt { found: finding, .. }) => {
            found(None, &finding);
            Ok(())
        }
        looked => looked,
    }
}

/// Whether to go on waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Look again.
    GoOn,
    /// Answer with what is there.
    Stop,
}
