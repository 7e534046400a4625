//! `batch`: JSON Lines in, JSON Lines out.

use super::super::batch::{self, Input};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::settings::Settings;
use super::open_to_decide;

pub(crate) fn run(settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let mut ledger = open_to_decide(settings, output)?;
    let mut input = Input::stdin();
    let (mut errors, mut conflicts) = (false, false);
    while let Some(group) = input.next_group()? {
        let answered = batch::answer(&group, &mut ledger);
        errors |= answered.errors;
        conflicts |= answered.conflicts;
        output.raw(&answered.bytes)?;
    }
    ledger.close()?;
    Ok(Exit::of_batch(errors, conflicts))
}
