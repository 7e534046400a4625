//! Runs a sequence on a ledger and on the model, and compares answer, receipt and history after each step.

use fastrand::Rng;
use receipt_ledger::Ledger;
use receipt_ledger::decide::{
    Facts, Record, RecordAnswer, Refusal, Renew, Reserve, Resolve, ResolveAnswer, Settle,
    SettleAnswer, Settlement, Verdict,
};
use receipt_ledger::receipt::{
    Amount, Entry, Fingerprint, Key, Owner, Receipt, ResultJson, RunId, SettledBy, State, Text,
    Timestamp,
};
use receipt_ledger::store::{Store, WithHistory};

use crate::hand::Hand;
use crate::model::{Life, Model, Row, Said, fingerprint};
use crate::operations::{self, Speaks, Step, draw};

const KEYS: usize = 3;
/// Where the clock starts in each sequence, and the range it is kept in.
const START: i64 = 1_800_000_000_000;
const LATEST: i64 = 200_000_000_000_000;

/// Runs the sequence of this seed. Panics with the seed and the steps at the first difference.
pub(crate) fn check<S: Store>(open: &mut dyn FnMut() -> S, hand: &Hand, seed: u64, calls: usize) {
    let mut rng = Rng::with_seed(seed);
    let mut model = Model::default();
    let mut ledger = Some(Ledger::new(open()));
    let mut done = Vec::new();
    hand.move_to(START);
    for _ in 0..calls {
        let step = draw(&mut rng, KEYS);
        done.push(format!("{:>15} {step:?}", hand.ms()));
        match step {
            Step::MoveClock(ms) => hand.move_to((hand.ms() + ms).clamp(0, LATEST)),
            Step::PastEveryLease => hand.move_to(past_every_lease(&model, hand.ms())),
            Step::Reopen => {
                drop(ledger.take());
                ledger = Some(Ledger::new(open()));
            }
            step => {
                let ledger = ledger.as_mut().unwrap();
                if let Err(difference) = one(ledger, &mut model, &step, hand.ms(), seed) {
                    panic!(
                        "seed {seed}: {difference}\nrun again: RECEIPT_LEDGER_MODEL_SEED={seed}\n{}",
                        done.join("\n")
                    );
                }
            }
        }
    }
}

fn past_every_lease(model: &Model, now: i64) -> i64 {
    let ends = model.lives.values().filter_map(|life| life.promised_until);
    ends.fold(now, i64::max).min(LATEST)
}

fn one<S: Store>(
    ledger: &mut Ledger<S>,
    model: &mut Model,
    step: &Step,
    now: i64,
    seed: u64,
) -> Result<(), String> {
    let (key, speaks) = of(step);
    let current = i64::from(model.attempt(key));
    let attempt = match speaks {
        Speaks::OfNone => None,
        Speaks::Current => Some(current),
        Speaks::Off(by) => Some(current + by),
    };
    // Attempts are counted from 1 where one is named; a renewal always names one.
    let needed = matches!(step, Step::Renew { .. });
    let attempt = attempt
        .or(needed.then_some(current))
        .map(|attempt| u32::try_from(attempt.max(1)).unwrap());
    let expected = {
        let mut answer = model.answer(step, attempt, now);
        if let (Step::Fail { reason, .. } | Step::Unknown { reason, .. }, "stale-attempt") =
            (step, answer.as_str())
        {
            fill_in(model, key, attempt, *reason);
        }
        answer.truncate(answer.trim_end().len());
        answer
    };
    let name = Key::parse(format!("seed-{seed}:{key}")).unwrap();
    let answer = ask(ledger, step, name.clone(), attempt);
    if answer != expected {
        return Err(format!(
            "the ledger answers {answer:?}, the model {expected:?}"
        ));
    }
    let reading = ledger.show(&name, WithHistory::Yes).unwrap();
    let entry = model
        .lives
        .get(&key)
        .map(|life| Entry::Whole(Box::new(receipt(life, name))));
    if reading.entry != entry {
        return Err(format!(
            "the ledger holds {:#?}, the model {entry:#?}",
            reading.entry
        ));
    }
    let told: Vec<Row> = reading
        .history
        .iter()
        .map(|row| {
            let event = &row.event;
            let actor = event
                .actor
                .as_ref()
                .map(|owner| owner.as_str().as_bytes()[6] - b'0');
            (
                row.at.as_ms(),
                event.kind.as_str(),
                event.attempt,
                actor,
                event.detail.clone(),
            )
        })
        .collect();
    let rows = model
        .lives
        .get(&key)
        .map(|life| life.history.clone())
        .unwrap_or_default();
    if told != rows {
        return Err(format!(
            "the ledger's history is {told:#?}, the model's {rows:#?}"
        ));
    }
    Ok(())
}

/// A late failure's row holds its reason.
fn fill_in(model: &mut Model, key: usize, attempt: Option<u32>, reason: Option<&str>) {
    let Some(life) = model.lives.get_mut(&key) else {
        return;
    };
    if attempt.is_some_and(|attempt| attempt < life.attempts) {
        life.history.last_mut().unwrap().4 = reason.map(str::to_owned);
    }
}

fn of(step: &Step) -> (usize, Speaks) {
    match step {
        Step::Reserve { key, .. } | Step::Record { key, .. } => (*key, Speaks::OfNone),
        Step::Succeed { key, attempt, .. }
        | Step::Fail { key, attempt, .. }
        | Step::Unknown { key, attempt, .. }
        | Step::Renew { key, attempt, .. }
        | Step::Resolve { key, attempt, .. } => (*key, *attempt),
        Step::MoveClock(_) | Step::PastEveryLease | Step::Reopen => unreachable!(),
    }
}

fn bound_to(content: u8) -> Fingerprint {
    Fingerprint::parse(fingerprint(content)).unwrap()
}

fn named(owner: Option<u8>) -> Option<Owner> {
    owner.map(|owner| Owner::parse(format!("owner-{owner}")).unwrap())
}

fn run(run: Option<u8>) -> Option<RunId> {
    run.map(|run| RunId::parse(format!("run-{run}")).unwrap())
}

fn money(amount: Option<(&str, &str)>) -> Option<Amount> {
    amount.map(|(value, currency)| Amount::parse(value, currency).unwrap())
}

fn json(result: Option<&str>) -> Option<ResultJson> {
    result.map(|result| ResultJson::parse(result.as_bytes()).unwrap())
}

fn words(text: Option<&str>) -> Option<Text> {
    text.map(|text| Text::parse(text).unwrap())
}

fn facts(facts: &operations::Facts) -> Facts {
    Facts {
        owner: named(facts.owner),
        run: run(facts.run),
        amount: money(facts.amount),
    }
}

/// Asks the ledger, and puts the answer into the model's words.
fn ask<S: Store>(ledger: &mut Ledger<S>, step: &Step, key: Key, attempt: Option<u32>) -> String {
    let standing = |state: State, attempt: u32| format!("state={state} attempt={attempt}");
    let settlement = match step {
        Step::Reserve {
            content,
            allow_failed_retry,
            within,
            max_attempts,
            lease,
            facts: given,
            ..
        } => {
            let mut request = Reserve::new(key, bound_to(*content));
            request.allow_failed_retry = *allow_failed_retry;
            request.retry_unknown_within_ms = *within;
            request.max_attempts = *max_attempts;
            request.lease_ms = *lease;
            request.facts = facts(given);
            let answer = ledger.reserve(&request).unwrap();
            return format!(
                "decision={} {}",
                answer.decision.as_str(),
                standing(answer.state, answer.attempt)
            );
        }
        Step::Record {
            content,
            facts: given,
            ..
        } => {
            let request = Record {
                key,
                fingerprint: bound_to(*content),
                facts: facts(given),
                payload: None,
            };
            return match ledger.record(&request).unwrap() {
                RecordAnswer::Created => "created=true state=recorded attempt=0".to_owned(),
                RecordAnswer::Exists { state, attempt } => {
                    format!("created=false {}", standing(state, attempt))
                }
                RecordAnswer::Conflict { state, attempt } => {
                    format!("decision=CONFLICT {}", standing(state, attempt))
                }
            };
        }
        Step::Renew { owner, lease, .. } => {
            let request = Renew {
                key,
                attempt: attempt.unwrap(),
                owner: named(*owner),
                lease_ms: *lease,
            };
            return settled(ledger.renew(&request).unwrap());
        }
        Step::Resolve {
            content,
            owner,
            succeeded,
            result,
            ..
        } => {
            let verdict = if *succeeded {
                Verdict::Succeeded {
                    result: json(*result),
                }
            } else {
                Verdict::Failed
            };
            let request = Resolve {
                key,
                fingerprint: content.map(bound_to),
                attempt,
                owner: named(*owner),
                verdict,
                evidence: Text::parse("seen in the provider's export").unwrap(),
            };
            return match ledger.resolve(&request).unwrap() {
                ResolveAnswer::Resolved { state, attempt } => standing(state, attempt),
                ResolveAnswer::Refused(refusal) => refused(&refusal),
                ResolveAnswer::Conflict { state, attempt } => {
                    format!("decision=CONFLICT {}", standing(state, attempt))
                }
            };
        }
        Step::Succeed { owner, result, .. } => (
            owner,
            Settlement::Succeeded {
                result: json(*result),
            },
        ),
        Step::Fail { owner, reason, .. } => (
            owner,
            Settlement::Failed {
                reason: words(*reason),
            },
        ),
        Step::Unknown { owner, reason, .. } => (
            owner,
            Settlement::Unknown {
                reason: words(*reason),
            },
        ),
        Step::MoveClock(_) | Step::PastEveryLease | Step::Reopen => unreachable!(),
    };
    let (owner, settlement) = settlement;
    settled(
        ledger
            .settle(&Settle {
                key,
                attempt,
                owner: named(*owner),
                settlement,
            })
            .unwrap(),
    )
}

fn settled(answer: SettleAnswer) -> String {
    match answer {
        SettleAnswer::Settled { state, attempt } => format!("state={state} attempt={attempt}"),
        SettleAnswer::Refused(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotFound => "not-found".to_owned(),
        Refusal::StaleAttempt { .. } | Refusal::AttemptNeeded { .. } => "stale-attempt".to_owned(),
        Refusal::NotOwner { .. } => "not-owner".to_owned(),
        Refusal::InvalidTransition { state, .. } => format!("invalid-transition {state}"),
    }
}

/// The receipt that the model's knowledge amounts to.
fn receipt(life: &Life, key: Key) -> Receipt {
    let at = |ms: i64| Timestamp::from_ms(ms).unwrap();
    let by = if life.by_evidence {
        SettledBy::Reconciled
    } else {
        SettledBy::Caller
    };
    Receipt {
        key,
        fingerprint: bound_to(life.content),
        stored_state: match life.said {
            Said::NothingYet if life.attempts == 0 => State::Recorded,
            Said::NothingYet => State::Reserved,
            Said::Happened => State::Succeeded,
            Said::DidNotHappen => State::Failed,
            Said::NobodyKnows => State::Unknown,
        },
        attempt: life.attempts,
        owner: named(life.owner),
        run: run(life.run),
        amount: money(life.amount),
        created_at: at(life.born),
        updated_at: at(life.changed),
        first_reserved_at: life.first_began.map(at),
        attempt_started_at: life.began.map(at),
        lease_expires_at: life.promised_until.map(at),
        settled_at: life.settled.map(at),
        settled_by: life.settled.map(|_| by),
        late_success: life.contradicted,
        reason: words(life.words),
        result: json(life.result),
    }
}
