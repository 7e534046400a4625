//! Many steps in one transaction: their keys are read, or locked, together, the rules run in order over what was read,
//! and what they want kept is written together.

use std::collections::HashSet;

use super::alone;
use super::array::Array;
use super::commit::Proof;
use super::error::Trouble;
use super::fresh::{self, Numbering};
use super::items::{Digests, Items, Written};
use super::meta::{self, Head};
use super::patience::Patience;
use super::receipts::{self, RIVAL_WAIT, find, lock};
use super::session::{Session, token};
use super::value::Value;
use super::wire::{Answer, ServerError, Statement};
use super::writes::Writes;
use crate::error::Error;
use crate::receipt::Timestamp;
use crate::store::Step;

/// Which conflicts are known, and the whole history where it is asked for.
const DETAILS: &str = "\
SELECT history.* FROM unnest($1::bigint[]) AS wanted (id) CROSS JOIN LATERAL ( \
    SELECT receipt, at_ms, event, attempt, actor, detail FROM receipt_ledger.history \
    WHERE receipt = wanted.id AND (event = 'conflict' OR receipt = ANY($2::bigint[])) \
    ORDER BY sequence) AS history";

/// So many keys are worth a guess that all of them are new; for fewer, to look them up costs next to nothing.
const GUESSED_MIN: usize = 100;

/// Takes the steps. A step that cannot be read fails alone; where the server refuses to write one, all are taken again,
/// one at a time. Where the last group was all new receipts (`only_new`), so may this one be: it is then written without a
/// look first, and looked up only if the server knows one of its keys.
pub(super) fn group(
    session: &mut Session,
    patience: Patience,
    steps: &mut [Step<'_>],
    only_new: &mut bool,
) -> Result<Vec<Result<(), Error>>, Trouble> {
    if let [Step::Update(key, rule)] = steps {
        let done = receipts::update(session, patience, key, rule);
        return one(session, done);
    }
    match take_together(session, patience, steps, only_new) {
        Ok(done) => Ok(done
            .into_iter()
            .map(|done| done.map_err(|trouble| told(session, trouble)))
            .collect()),
        // Somebody holds one of them: then all is read again, the clock, too.
        Err(Trouble::Server(error)) if error.code == "55P03" && !patience.is_over() => {
            Err(Trouble::Rival)
        }
        // Something in one of them: only taken one at a time do they tell which.
        Err(Trouble::Server(error)) if is_of_a_value(&error) => {
            session.connected(patience)?;
            alone::group(session, patience, steps)
        }
        Err(trouble) => Err(trouble),
    }
}

/// A group of one.
fn one(session: &Session, done: Result<(), Trouble>) -> Result<Vec<Result<(), Error>>, Trouble> {
    match done {
        Ok(()) => Ok(vec![Ok(())]),
        Err(Trouble::Server(error)) if !is_of_a_value(&error) => Err(Trouble::Server(error)),
        Err(trouble @ (Trouble::Server(_) | Trouble::Impossible(_))) => {
            Ok(vec![Err(told(session, trouble))])
        }
        Err(trouble) => Err(trouble),
    }
}

fn told(session: &Session, trouble: Trouble) -> Error {
    trouble.told("write to", session.name(), session.busy_timeout())
}

/// Whether the server refused a value, or what the values amount to.
fn is_of_a_value(error: &ServerError) -> bool {
    error.code.starts_with("22") || error.code.starts_with("23")
}

fn take_together(
    session: &mut Session,
    patience: Patience,
    steps: &mut [Step<'_>],
    only_new: &mut bool,
) -> Result<Vec<Result<(), Trouble>>, Trouble> {
    let digests = Digests::of(steps);
    let guess = std::mem::take(only_new) && digests.once.len() >= GUESSED_MIN;
    let taken = if guess {
        match take_as_new(session, patience, &digests, steps) {
            // Somebody has one of them, or is about to: that is looked up.
            Err(Trouble::Rival) => {
                session.connected(patience)?;
                None
            }
            taken => taken?,
        }
    } else {
        None
    };
    let (done, all_new) = match taken {
        Some(taken) => taken,
        None => look_and_take(session, patience, &digests, steps)?,
    };
    *only_new = all_new;
    Ok(done)
}

/// What came of each step, and whether every key was new and has a receipt now.
type Taken = (Vec<Result<(), Trouble>>, bool);

/// Takes the steps as if nothing were stored for any of their keys. The server refuses that where something is; where they
/// leave a key without a new receipt, nobody would refuse it, and there is no answer.
fn take_as_new(
    session: &mut Session,
    patience: Patience,
    digests: &Digests,
    steps: &mut [Step<'_>],
) -> Result<Option<Taken>, Trouble> {
    let begin = Session::entering(patience.at_most(RIVAL_WAIT), None);
    let numbering = Numbering::of(digests.once.len());
    let (head, numbers) = fresh::number(session, patience, begin, numbering)?;
    let mut items = Items::new(digests);
    let done = items.take(digests, steps, session.now(&head));
    if !items.are_all_fresh() {
        session.roll_back(patience);
        return Ok(None);
    }
    let written = items.written().into_iter();
    let fresh: Vec<_> = written
        .filter_map(|written| match written {
            Written::Fresh(receipt) => Some(receipt),
            Written::Changed(..) => None,
        })
        .collect();
    let token = token()?;
    fresh::put_in_place(session, patience, &token, &fresh, &numbers)?;
    let proof = fresh.first().map(|fresh| Proof {
        digest: *fresh.digest,
        token: &token,
    });
    session.commit(Vec::new(), proof, patience)?;
    Ok(Some((done, true)))
}

/// Looks, takes the steps, and writes what has changed: under the locks of what is there, by a clock read behind them.
fn look_and_take(
    session: &mut Session,
    patience: Patience,
    digests: &Digests,
    steps: &mut [Step<'_>],
) -> Result<Taken, Trouble> {
    let array = receipts::digests(&digests.once);
    let asked = [find(&array), Statement::new(meta::HEAD)];
    // A receipt that is shown with its history is shown as both were at one moment.
    let shows = steps
        .iter()
        .any(|step| matches!(step, Step::Read(_, true, _)));
    if shows {
        session.ask(&Session::viewing(patience), patience)?;
    }
    let answers = session.look(&asked, patience)?;
    let head = Head::of(&answers[1], session)?;
    head.decides(session)?;
    let mut now = session.now(&head);
    let (mut items, mut done) = take(session, patience, digests, steps, &answers[0], now)?;
    if shows {
        session.roll_back(patience);
    }
    if !items.change() {
        if decides_something(steps) {
            receipts::stand_by(session, patience, &head, &digests.once)?;
        }
        return Ok((done, false));
    }
    let mut begin = Session::entering(patience.at_most(RIVAL_WAIT), Some(&head));
    if items.change_what_is_there() {
        let mut statements = Session::entering(patience, Some(&head));
        statements.extend([lock(&array), Statement::new(meta::HEAD)]);
        let mut answers = session.ask_for_locks(&statements, patience)?;
        let answers = answers.split_off(answers.len() - 2);
        let head = Head::of(&answers[1], session)?;
        head.decides(session)?;
        head.commit_counts(session)?;
        now = session.now(&head);
        (items, done) = take(session, patience, digests, steps, &answers[0], now)?;
        if !items.change() {
            receipts::leave(session, patience, &head)?;
            return Ok((done, false));
        }
        begin = Vec::new();
    }
    write(session, patience, begin, &items, now)?;
    Ok((done, items.are_all_fresh()))
}

fn decides_something(steps: &[Step<'_>]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Update(..)))
}

/// Runs the steps over what is stored for their keys. History is read, and the steps run again, only where one of them
/// asks for it: to show it, or because a conflict may be known already.
fn take(
    session: &mut Session,
    patience: Patience,
    digests: &Digests,
    steps: &mut [Step<'_>],
    stored: &Answer,
    now: Timestamp,
) -> Result<(Items, Vec<Result<(), Trouble>>), Trouble> {
    let mut items = Items::of(digests, stored)?;
    let done = items.take(digests, steps, now);
    let (asked, shown) = items.in_question(digests, steps);
    if asked.is_empty() {
        return Ok((items, done));
    }
    let array = |ids: HashSet<i64>| ids.into_iter().map(Value::Number).collect::<Array>();
    let details = Statement::new(DETAILS)
        .with(array(asked))
        .with(array(shown));
    let answers = session.look(&[details], patience)?;
    let mut items = Items::of(digests, stored)?;
    items.add_details(&answers[0])?;
    let done = items.take(digests, steps, now);
    Ok((items, done))
}

/// Writes what has changed and commits it, in a transaction that these statements begin if it was not begun.
fn write(
    session: &mut Session,
    patience: Patience,
    begin: Vec<Statement<'_>>,
    items: &Items,
    now: Timestamp,
) -> Result<(), Trouble> {
    let token = token()?;
    let mut writes = Writes::new(&token);
    let (mut fresh, mut numbering, mut digests) = (Vec::new(), Numbering::default(), Vec::new());
    for written in items.written() {
        match written {
            Written::Fresh(receipt) => {
                digests.push(*receipt.digest);
                numbering.add();
                fresh.push(receipt);
            }
            Written::Changed(digest, stored, change) => {
                digests.push(*digest);
                writes.add(digest, Some(stored), &change, now);
                if let Some(again) = writes.take_again() {
                    numbering.renumber(again);
                }
            }
        }
    }
    let mut statements = Vec::new();
    if fresh.is_empty() {
        statements = numbering.statements();
    } else {
        let (_, numbers) = fresh::number(session, patience, begin, numbering)?;
        fresh::put_in_place(session, patience, &token, &fresh, &numbers)?;
    }
    statements.extend(writes.statements());
    let proof = digests.first().map(|digest| Proof {
        digest: *digest,
        token: &token,
    });
    session.commit(statements, proof, patience)?;
    Ok(())
}
