//! `drain`: an outbox worker. Performs what is on record and was never performed, one receipt at a time.

use std::collections::HashSet;

use indicatif::ProgressBar;

use super::super::args::{DrainArgs, Terms};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::perform::{self, Performance, Performed};
use super::super::progress;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{OpenLedger, facts, open_to_change, run};
use receipt_ledger::child::{Input, LookUpError, Supervisor, look_up};
use receipt_ledger::decide::{Facts, Reserve};
use receipt_ledger::receipt::State;
use receipt_ledger::store::{Cursor, Pending, PendingIntent, PendingKind};

pub(crate) fn run(
    args: DrainArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut supervisor = run::supervisor()?;
    let program = args.perform.command.first().map(|program| look_up(program));
    if let Some(Err(error)) = program {
        return Err(cannot_start(&error));
    }
    let mut ledger = open_to_change(settings, output)?;
    // Where nothing is on record nobody else would say it.
    ledger
        .standing()?
        .refuse_idle(ledger.store().name().display().to_string())?;
    let mut drain = Drain::new(&args, settings, *output);
    let ended = drain.all(&mut ledger, &mut supervisor);
    drain.progress.finish_and_clear();
    output.lines(&[drain.counts.line()])?;
    run::close_after(ledger, *output);
    match ended? {
        Some(exit) => Ok(exit),
        None => Ok(Exit::of_drain(
            drain.counts.succeeded == drain.counts.drained,
        )),
    }
}

fn cannot_start(error: &LookUpError) -> Failure {
    Failure::new(
        "usage",
        format!("the command cannot be started, nothing was taken: {error}"),
    )
}

#[derive(Debug, Default)]
struct Counts {
    drained: u64,
    succeeded: u64,
    failed: u64,
    unknown: u64,
}

impl Counts {
    fn line(&self) -> Line {
        Line::default()
            .fact("drained", Value::Number(self.drained))
            .fact("succeeded", Value::Number(self.succeeded))
            .fact("failed", Value::Number(self.failed))
            .fact("unknown", Value::Number(self.unknown))
    }

    fn add(&mut self, state: Option<State>) {
        self.drained += 1;
        match state {
            Some(State::Succeeded) => self.succeeded += 1,
            Some(State::Failed) => self.failed += 1,
            Some(State::Unknown) => self.unknown += 1,
            // What could not be recorded is unknown once the lease has run out.
            Some(State::Recorded | State::Reserved) | None => self.unknown += 1,
        }
    }
}

struct Drain<'a> {
    args: &'a DrainArgs,
    settings: &'a Settings,
    output: Output,
    facts: Facts,
    counts: Counts,
    /// What was taken as recorded: if it failed, it is not taken a second time.
    taken: HashSet<Cursor>,
    progress: ProgressBar,
}

impl<'a> Drain<'a> {
    fn new(args: &'a DrainArgs, settings: &'a Settings, output: Output) -> Drain<'a> {
        let facts = facts(args.terms.facts.clone());
        let counts = Counts::default();
        Drain {
            args,
            settings,
            output,
            facts,
            counts,
            taken: HashSet::new(),
            progress: progress::counting("performed"),
        }
    }

    /// Takes one intent after the other. An exit ends it early.
    fn all(
        &mut self,
        ledger: &mut OpenLedger,
        supervisor: &mut Supervisor,
    ) -> Result<Option<Exit>, Failure> {
        let kinds = if self.args.terms.allow_failed_retry {
            &[PendingKind::Recorded, PendingKind::FailedWithPayload][..]
        } else {
            &[PendingKind::Recorded][..]
        };
        for &which in kinds {
            let prefix = self.args.which.prefix.as_ref().map(ToString::to_string);
            let mut pending = Pending {
                prefix,
                which,
                after: None,
            };
            while self.counts.drained < self.args.limit.map_or(u64::MAX, u64::from) {
                if let Some(signal) = supervisor.pending() {
                    return Ok(Some(Exit::of_signal(signal)));
                }
                let Some(intent) = ledger.next_pending(&pending)? else {
                    break;
                };
                pending.after = Some(intent.cursor);
                if !self.taken.insert(intent.cursor) {
                    continue;
                }
                if let Some(exit) = self.one(intent, which, ledger, supervisor)? {
                    return Ok(Some(exit));
                }
            }
        }
        Ok(None)
    }

    fn one(
        &mut self,
        intent: PendingIntent,
        which: PendingKind,
        ledger: &mut OpenLedger,
        supervisor: &mut Supervisor,
    ) -> Result<Option<Exit>, Failure> {
        let request = request(intent, which, &self.args.terms, self.facts.clone());
        // The payload goes with success: read before the decision, it is there if the decision is to perform.
        let payload = ledger.payload(&request.key)?;
        let answer = ledger.reserve(&request)?;
        if !answer.decision.performs() {
            return Ok(None);
        }
        if !self.args.perform.quiet {
            let line = Line::decision(&request.key, answer.decision, answer.state, answer.attempt);
            self.progress.suspend(|| self.output.line_aside(&line));
        }
        let performance = Performance {
            args: &self.args.perform,
            settings: self.settings,
            output: self.output,
            stdin: payload.map_or(Input::Empty, Input::Bytes),
        };
        let Performed {
            state,
            started,
            passed_on,
            signal,
            ..
        } = perform::perform(performance, &request, answer.attempt, ledger, supervisor)?;
        self.counts.add(state);
        self.progress.inc(1);
        Ok(if state.is_none() {
            Some(Exit::NO_ANSWER)
        } else if let Some(signal) = signal {
            Some(Exit::of_signal(signal))
        } else if !started || !passed_on {
            Some(Exit::NO_ANSWER)
        } else {
            None
        })
    }
}

/// What was found recorded and is not any more is somebody else's by now, also if that has failed.
fn request(intent: PendingIntent, which: PendingKind, terms: &Terms, facts: Facts) -> Reserve {
    Reserve {
        allow_failed_retry: which == PendingKind::FailedWithPayload,
        max_attempts: terms.max_attempts,
        lease_ms: Some(terms.lease.unwrap_or(run::LEASE_MS)),
        facts,
        ..Reserve::new(intent.key, intent.fingerprint)
    }
}
