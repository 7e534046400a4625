//! `show`: what the ledger holds for a key.

use super::super::args::ShowArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::refusal::{self, Verb};
use super::super::render::Line;
use super::super::settings::Settings;
use super::open_to_read;
use receipt_ledger::decide::Refusal;

pub(crate) fn run(
    args: ShowArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut ledger = open_to_read(settings)?;
    let reading = ledger.show(&args.key, args.history)?;
    let Some(line) = Line::entry(&args.key, &reading) else {
        return Err(refusal::told(&Refusal::NotFound, Verb::Succeed, &args.key));
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
