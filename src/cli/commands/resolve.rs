//! `resolve`: settle by evidence what nobody knew.

use super::super::args::{AttemptArgs, ResolveArgs, VerdictArg};
use super::super::content;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::refusal::{self, Verb};
use super::super::render::Line;
use super::super::settings::Settings;
use super::open_to_settle;
use receipt_ledger::decide::{Decision, Resolve, ResolveAnswer, Verdict};
use receipt_ledger::receipt::{Key, ResultJson};

pub(crate) fn run(
    args: ResolveArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    content::refuse_two_readers(&args.content, &args.result)?;
    let result = content::result(&args.result)?;
    let (verdict, verb) = verdict(args.verdict, result)?;
    let fingerprint = content::fingerprint(&args.content)?;
    let AttemptArgs {
        key,
        attempt,
        owner,
    } = args.attempt;
    let evidence = args.evidence;
    let request = Resolve {
        key,
        fingerprint,
        attempt,
        owner,
        verdict,
        evidence,
    };
    let mut ledger = open_to_settle(settings)?;
    let answer = ledger.resolve(&request)?;
    let told = told(&answer, verb, &request.key).and_then(|(line, exit)| {
        output.lines(&[line])?;
        Ok(exit)
    });
    ledger.close()?;
    told
}

fn verdict(as_: VerdictArg, result: Option<ResultJson>) -> Result<(Verdict, Verb), Failure> {
    match as_ {
        VerdictArg::Succeeded => Ok((Verdict::Succeeded { result }, Verb::ResolveSucceeded)),
        VerdictArg::Failed if result.is_some() => Err(Failure::new(
            "usage",
            "what did not happen has no result: --as failed takes none",
        )),
        VerdictArg::Failed => Ok((Verdict::Failed, Verb::ResolveFailed)),
    }
}

/// The answer as a line and how it ends, or why it was refused.
pub(crate) fn told(answer: &ResolveAnswer, verb: Verb, key: &Key) -> Result<(Line, Exit), Failure> {
    match answer {
        ResolveAnswer::Resolved { state, attempt } => {
            Ok((Line::standing(key, *state, *attempt), Exit::ANSWERED))
        }
        ResolveAnswer::Conflict { state, attempt } => Ok((
            Line::decision(key, Decision::Conflict, *state, *attempt),
            Exit::CONFLICT,
        )),
        ResolveAnswer::Refused(refusal) => Err(refusal::told(refusal, verb, key)),
    }
}
