//! `show`: what the ledger holds for a key.

use super::super::args::ShowArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::refusal::{self, Verb};
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::open_to_read;
use receipt_ledger::decide::Refusal;
use receipt_ledger::receipt::Entry;

pub(crate) fn run(
    args: ShowArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut ledger = open_to_read(settings)?;
    let reading = ledger.show(&args.key, args.history)?;
    let line = match &reading.entry {
        None => return Err(refusal::told(&Refusal::NotFound, Verb::Succeed, &args.key)),
        Some(Entry::Whole(receipt)) => Line::receipt(receipt, reading.now),
        Some(Entry::Pruned(pruned)) => Line::default()
            .word("state", pruned.state.as_str())
            .fact("attempt", Value::Number(pruned.attempt.into()))
            .word("key", args.key.as_str())
            .fact("pruned", Value::Flag(true)),
    };
    let history = reading
        .history
        .iter()
        .map(|row| Line::history(&args.key, row));
    let lines: Vec<Line> = std::iter::once(line).chain(history).collect();
    output.lines(&lines)?;
    ledger.close()?;
    Ok(Exit::ANSWERED)
}
