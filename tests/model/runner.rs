//! Runs a sequence on a ledger and on the model, and compares answer, receipt and history after each step.

use fastrand::Rng;
use receipt_ledger::Ledger;
use receipt_ledger::receipt::{Entry, Key};
use receipt_ledger::store::Store;

use crate::asking::{ask, receipt};
use crate::hand::Hand;
use crate::life::Row;
use crate::model::Model;
use crate::operations::{Speaks, Step, draw};

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
        if let Step::MoveClock(ms) = step {
            hand.move_to((hand.ms() + ms).clamp(0, LATEST));
        } else if let Step::PastEveryLease = step {
            hand.move_to(past_every_lease(&model, hand.ms()));
        } else if let Step::Reopen = step {
            drop(ledger.take());
            ledger = Some(Ledger::new(open()));
        } else if let Err(difference) =
            one(ledger.as_mut().unwrap(), &mut model, &step, hand.ms(), seed)
        {
            panic!(
                "seed {seed}: {difference}\nrun again: RECEIPT_LEDGER_MODEL_SEED={seed}\n{}",
                done.join("\n")
            );
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
    let reading = ledger.show(&name, true).unwrap();
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
