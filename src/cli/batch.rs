//! Groups of request lines to groups of answer lines.

mod input;
mod request;

pub(crate) use input::Input;

use self::request::{Parsed, parse};
use super::commands::{record, resolve, settle};
use super::exit::Exit;
use super::failure::Failure;
use super::open::OpenLedger;
use super::refusal::{self, Verb};
use super::render::{self, Line, Value};
use receipt_ledger::Error;
use receipt_ledger::decide::{Refusal, ReserveAnswer, SettleVerb, Verdict};
use receipt_ledger::ledger::{Answer, Request};
use receipt_ledger::receipt::Key;

/// The answers to one group, to be written now that they are durable.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) errors: bool,
    pub(crate) conflicts: bool,
}

/// One line of input: its text, or why it is not one.
pub(crate) type RequestLine = Result<Vec<u8>, Failure>;

/// An answer's line and how a call with it alone would end, or why there is none.
type Told = Result<(Line, Exit), Failure>;

/// Decides a group in one transaction.
pub(crate) fn answer(group: &[RequestLine], ledger: &mut OpenLedger) -> Answered {
    let mut requests = Vec::with_capacity(group.len());
    let mut places = Vec::with_capacity(group.len());
    for line in group {
        let Parsed { id, request } = match line {
            Ok(text) => parse(text),
            Err(failure) => Parsed {
                id: None,
                request: Err(failure.clone()),
            },
        };
        places.push((id, request.map(|request| requests.push(request))));
    }
    let outcome = if requests.is_empty() {
        Ok(Vec::new())
    } else {
        ledger.batch(&requests)
    };
    let mut answers = tell(&requests, outcome, ledger).into_iter();
    let mut answered = Answered::default();
    for (id, place) in places {
        let line = match place {
            Ok(()) => answers
                .next()
                .expect("every request that was asked has its answer"),
            Err(failure) => Err(failure),
        };
        answered.add(id, line);
    }
    answered
}

fn tell(
    requests: &[Request],
    outcome: Result<Vec<Result<Answer, Error>>, Error>,
    ledger: &mut OpenLedger,
) -> Vec<Told> {
    // Where nothing can be written a conflict is still one. Where nothing can be read either, to ask for every line would
    // have each of them wait for as long as the first.
    let mut readable = true;
    let mut in_spite_of = |request, error: &Error| {
        let conflict = match readable {
            true => ledger.conflict_in(request, error),
            false => Ok(None),
        };
        readable &= conflict.is_ok();
        match conflict {
            Ok(Some(answer)) => told(request, &answer),
            Ok(None) | Err(_) => Err(Failure::from(error)),
        }
    };
    match outcome {
        Ok(answers) => {
            let answered = requests.iter().zip(answers);
            answered
                .map(|(request, answer)| match answer {
                    Ok(answer) => told(request, &answer),
                    Err(error) => in_spite_of(request, &error),
                })
                .collect()
        }
        Err(error) => {
            let all = requests.iter();
            all.map(|request| in_spite_of(request, &error)).collect()
        }
    }
}

impl Answered {
    fn add(&mut self, id: Option<String>, told: Told) {
        let line = match told {
            Ok((line, exit)) => {
                self.conflicts |= exit == Exit::CONFLICT;
                line
            }
            Err(failure) => {
                self.errors = true;
                Line::failure(&failure)
            }
        };
        let line = match id {
            Some(id) => line.led_by("id", Value::Json(id)),
            None => line,
        };
        render::json(&line, &mut self.bytes);
    }
}

fn told(request: &Request, answer: &Answer) -> Told {
    let key = key(request);
    match answer {
        Answer::Reserve(ReserveAnswer {
            decision,
            state,
            attempt,
        }) => {
            let line = Line::decision(key, *decision, *state, *attempt);
            Ok((line, Exit::of_decision(*decision, None)))
        }
        Answer::Record(answer) => Ok(record::told(answer, key)),
        Answer::Settle(answer) | Answer::Renew(answer) => settle::told(answer, verb(request), key),
        Answer::Resolve(answer) => resolve::told(answer, verb(request), key),
        Answer::Show(reading) => {
            let line = Line::entry(key, reading)
                .ok_or_else(|| refusal::told(&Refusal::NotFound, Verb::Succeed, key))?;
            let line = if matches!(request, Request::Show(_, true)) {
                let history = reading.history.iter().map(|row| Line::history(key, row));
                line.fact("history", Value::Lines(history.collect()))
            } else {
                line
            };
            Ok((line, Exit::ANSWERED))
        }
    }
}

fn key(request: &Request) -> &Key {
    match request {
        Request::Reserve(request) => &request.key,
        Request::Record(request) => &request.key,
        Request::Settle(request) => &request.key,
        Request::Renew(request) => &request.key,
        Request::Resolve(request) => &request.key,
        Request::Show(key, _) => key,
    }
}

fn verb(request: &Request) -> Verb {
    match request {
        Request::Settle(request) => match request.settlement.verb() {
            SettleVerb::Succeed => Verb::Succeed,
            SettleVerb::Fail => Verb::Fail,
            SettleVerb::Unknown => Verb::Unknown,
        },
        Request::Resolve(request) => match request.verdict {
            Verdict::Succeeded { .. } => Verb::ResolveSucceeded,
            Verdict::Failed => Verb::ResolveFailed,
        },
        Request::Renew(_) | Request::Reserve(_) | Request::Record(_) | Request::Show(..) => {
            Verb::Renew
        }
    }
}
