//! Many requests in one transaction.

use crate::decide::{
    self, Change, Decision, Record, RecordAnswer, Renew, Reserve, ReserveAnswer, Resolve,
    ResolveAnswer, Settle, SettleAnswer,
};
use crate::error::Error;
use crate::receipt::{Entry, Fingerprint, Key, State, Timestamp};
use crate::store::{Reading, Step, Store};

/// One request of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// May I perform this now?
    Reserve(Reserve),
    /// An intent for later.
    Record(Record),
    /// What came of an attempt.
    Settle(Settle),
    /// An attempt goes on.
    Renew(Renew),
    /// What evidence shows.
    Resolve(Resolve),
    /// What the ledger holds.
    Show(Key, bool),
}

impl Request {
    /// The key, and the fingerprint that the request comes with.
    pub(super) fn content(&self) -> Option<(&Key, &Fingerprint)> {
        match self {
            Request::Reserve(request) => Some((&request.key, &request.fingerprint)),
            Request::Record(request) => Some((&request.key, &request.fingerprint)),
            Request::Resolve(request) => Some((&request.key, request.fingerprint.as_ref()?)),
            Request::Settle(_) | Request::Renew(_) | Request::Show(..) => None,
        }
    }

    /// The answer that its key is bound to another content.
    pub(super) fn conflict(&self, state: State, attempt: u32) -> Option<Answer> {
        match self {
            Request::Reserve(_) => Some(Answer::Reserve(ReserveAnswer {
                decision: Decision::Conflict,
                state,
                attempt,
            })),
            Request::Record(_) => Some(Answer::Record(RecordAnswer::Conflict { state, attempt })),
            Request::Resolve(_) => {
                Some(Answer::Resolve(ResolveAnswer::Conflict { state, attempt }))
            }
            Request::Settle(_) | Request::Renew(_) | Request::Show(..) => None,
        }
    }
}

/// The answer to a request of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Request::Reserve`].
    Reserve(ReserveAnswer),
    /// To [`Request::Record`].
    Record(RecordAnswer),
    /// To [`Request::Settle`].
    Settle(SettleAnswer),
    /// To [`Request::Renew`].
    Renew(SettleAnswer),
    /// To [`Request::Resolve`].
    Resolve(ResolveAnswer),
    /// To [`Request::Show`].
    Show(Reading),
}

type BoxedRule<'a> = Box<dyn FnMut(Option<&Entry>, Timestamp) -> Change + 'a>;

/// What a request leaves its answer in.
enum Slot<'a> {
    Rule(&'a Key, BoxedRule<'a>),
    Read(&'a Key, bool, Option<Reading>),
}

pub(super) fn answer<S: Store>(
    store: &mut S,
    requests: &[Request],
) -> Result<Vec<Result<Answer, Error>>, Error> {
    let mut answers: Vec<Option<Answer>> = requests.iter().map(|_| None).collect();
    let mut slots: Vec<Slot<'_>> = requests
        .iter()
        .zip(&mut answers)
        .map(|(request, answer)| slot(request, answer))
        .collect();
    let mut steps: Vec<Step<'_>> = slots.iter_mut().map(step).collect();
    let done = store.group(&mut steps)?;
    drop(steps);
    let readings: Vec<Option<Reading>> = slots
        .into_iter()
        .map(|slot| match slot {
            Slot::Rule(..) => None,
            Slot::Read(_, _, reading) => reading,
        })
        .collect();
    let answered = done.into_iter().zip(answers.into_iter().zip(readings));
    Ok(answered
        .map(|(done, (answer, reading))| {
            done.map(|()| {
                let answer = answer.or(reading.map(Answer::Show));
                answer.expect("a store that says Ok has taken the step")
            })
        })
        .collect())
}

fn slot<'a>(request: &'a Request, answer: &'a mut Option<Answer>) -> Slot<'a> {
    match request {
        Request::Reserve(request) => Slot::Rule(
            &request.key,
            rule(answer, Answer::Reserve, move |existing, now| {
                decide::reserve(existing, request, now)
            }),
        ),
        Request::Record(request) => Slot::Rule(
            &request.key,
            rule(answer, Answer::Record, move |existing, now| {
                decide::record(existing, request, now)
            }),
        ),
        Request::Settle(request) => Slot::Rule(
            &request.key,
            rule(answer, Answer::Settle, move |existing, now| {
                decide::settle(existing, request, now)
            }),
        ),
        Request::Renew(request) => Slot::Rule(
            &request.key,
            rule(answer, Answer::Renew, move |existing, now| {
                decide::renew(existing, request, now)
            }),
        ),
        Request::Resolve(request) => Slot::Rule(
            &request.key,
            rule(answer, Answer::Resolve, move |existing, now| {
                decide::resolve(existing, request, now)
            }),
        ),
        Request::Show(key, with_history) => Slot::Read(key, *with_history, None),
    }
}

fn rule<'a, A>(
    answer: &'a mut Option<Answer>,
    wrap: impl Fn(A) -> Answer + 'a,
    decide: impl Fn(Option<&Entry>, Timestamp) -> (A, Change) + 'a,
) -> BoxedRule<'a> {
    Box::new(move |existing, now| {
        let (given, change) = decide(existing, now);
        *answer = Some(wrap(given));
        change
    })
}

fn step<'s>(slot: &'s mut Slot<'_>) -> Step<'s> {
    match slot {
        Slot::Rule(key, rule) => Step::Update(key, &mut **rule),
        Slot::Read(key, with_history, reading) => Step::Read(key, *with_history, reading),
    }
}
