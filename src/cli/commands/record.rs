//! `record`: put an intent on record, to be performed later.

use super::super::args::RecordArgs;
use super::super::content;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::Line;
use super::super::settings::Settings;
use super::{facts, open_to_decide};
use receipt_ledger::decide::{Decision, Record, RecordAnswer};
use receipt_ledger::receipt::{Key, State};

pub(crate) fn run(
    args: RecordArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (fingerprint, payload) = if args.keep_payload {
        let (fingerprint, payload) = content::payload(&args.content)?;
        (fingerprint, Some(payload))
    } else {
        (content::required_fingerprint(&args.content)?, None)
    };
    let request = Record {
        key: args.key,
        fingerprint,
        facts: facts(args.facts),
        payload,
    };
    let mut ledger = open_to_decide(settings, output)?;
    let answer = ledger.record(&request)?;
    let (line, exit) = told(&answer, &request.key);
    output.lines(&[line])?;
    ledger.close()?;
    Ok(exit)
}

/// The answer as a line, and how it ends.
pub(crate) fn told(answer: &RecordAnswer, key: &Key) -> (Line, Exit) {
    match *answer {
        RecordAnswer::Created => (
            Line::recorded(key, true, State::Recorded, 0),
            Exit::ANSWERED,
        ),
        RecordAnswer::Exists { state, attempt } => {
            (Line::recorded(key, false, state, attempt), Exit::ANSWERED)
        }
        RecordAnswer::Conflict { state, attempt } => (
            Line::decision(key, Decision::Conflict, state, attempt),
            Exit::CONFLICT,
        ),
    }
}
