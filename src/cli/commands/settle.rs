//! `succeed`, `fail`, `unknown`: say what came of an attempt.

use super::super::args::{AttemptArgs, FailArgs, SucceedArgs, UnknownArgs};
use super::super::content;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::refusal::{self, Verb};
use super::super::render::Line;
use super::super::settings::Settings;
use super::open_to_settle;
use receipt_ledger::decide::{Settle, SettleAnswer, Settlement};
use receipt_ledger::receipt::Key;

pub(crate) fn succeed(
    args: SucceedArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let result = content::result(&args.result)?;
    run(
        args.attempt,
        Settlement::Succeeded { result },
        Verb::Succeed,
        settings,
        output,
    )
}

pub(crate) fn fail(
    args: FailArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let settlement = Settlement::Failed {
        reason: args.reason,
    };
    run(args.attempt, settlement, Verb::Fail, settings, output)
}

pub(crate) fn unknown(
    args: UnknownArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let settlement = Settlement::Unknown {
        reason: args.reason,
    };
    run(args.attempt, settlement, Verb::Unknown, settings, output)
}

fn run(
    args: AttemptArgs,
    settlement: Settlement,
    verb: Verb,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let AttemptArgs {
        key,
        attempt,
        owner,
    } = args;
    let request = Settle {
        key,
        attempt,
        owner,
        settlement,
    };
    let mut ledger = open_to_settle(settings)?;
    let answer = ledger.settle(&request)?;
    let told = tell(&answer, verb, &request.key, output);
    ledger.close()?;
    told
}

/// Prints what stands, or says why not.
pub(super) fn tell(
    answer: &SettleAnswer,
    verb: Verb,
    key: &Key,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (line, exit) = told(answer, verb, key)?;
    output.lines(&[line])?;
    Ok(exit)
}

/// The answer as a line and how it ends, or why it was refused.
pub(crate) fn told(answer: &SettleAnswer, verb: Verb, key: &Key) -> Result<(Line, Exit), Failure> {
    match answer {
        SettleAnswer::Settled { state, attempt } => {
            Ok((Line::standing(key, *state, *attempt), Exit::ANSWERED))
        }
        SettleAnswer::Refused(refusal) => Err(refusal::told(refusal, verb, key)),
    }
}
