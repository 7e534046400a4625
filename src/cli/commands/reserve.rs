//! `reserve`: ask whether the effect may be performed now.

use super::super::args::{DecideArgs, ReserveArgs};
use super::super::content;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::Line;
use super::super::settings::Settings;
use super::{facts, open_to_decide};
use receipt_ledger::decide::Reserve;
use receipt_ledger::ledger::Waiting;

pub(crate) fn run(
    args: ReserveArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wait = args.decide.wait;
    let request = request(args.decide)?;
    let mut ledger = open_to_decide(settings, output)?;
    let answer = match wait {
        None => ledger.reserve(&request)?,
        Some(wait) => ledger.reserve_waiting(&request, wait, &mut |pause| {
            std::thread::sleep(pause);
            Waiting::GoOn
        })?,
    };
    let line = Line::decision(&request.key, answer.decision, answer.state, answer.attempt);
    output.lines(&[line])?;
    ledger.close()?;
    Ok(Exit::of_decision(answer.decision, args.skip_exit))
}

/// The request that the arguments make. Payloads are read here, before any ledger is opened or created.
pub(crate) fn request(args: DecideArgs) -> Result<Reserve, Failure> {
    let fingerprint = content::required_fingerprint(&args.content)?;
    let terms = args.terms;
    Ok(Reserve {
        key: args.key,
        fingerprint,
        allow_failed_retry: terms.allow_failed_retry,
        retry_unknown_within_ms: terms.retry_unknown_within,
        max_attempts: terms.max_attempts,
        lease_ms: terms.lease,
        facts: facts(terms.facts),
    })
}
