//! `list`: receipts, oldest first, as they come.

use std::ops::ControlFlow;

use super::super::args::{ListArgs, StateArg};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::Line;
use super::super::settings::Settings;
use super::super::table;
use super::open_to_read;
use receipt_ledger::receipt::State;
use receipt_ledger::store::Filter;

pub(crate) fn run(
    args: ListArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let filter = Filter {
        states: args.state.iter().map(|state| state_of(*state)).collect(),
        // A key is ASCII: what is not begins none.
        prefix: args
            .prefix
            .map(|prefix| prefix.to_string_lossy().into_owned()),
        run: args.run,
        unchanged_for_ms: args.older_than,
        limit: args.limit.map(u64::from),
    };
    let mut ledger = open_to_read(settings)?;
    let mut stream = output.stream();
    let (table, colours) = (output.is_for_people(), output.has_colours());
    if table {
        stream.raw(table::heading().as_bytes())?;
    }
    let mut broken = None;
    ledger.list(&filter, &mut |receipt, now| {
        let written = if table {
            stream.raw(table::receipt(&receipt, now, colours).as_bytes())
        } else {
            stream.line(&Line::receipt(&receipt, now))
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                broken = Some(failure);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(failure) = broken {
        return Err(failure);
    }
    stream.finish()?;
    ledger.close()?;
    Ok(Exit::ANSWERED)
}

fn state_of(state: StateArg) -> State {
    match state {
        StateArg::Recorded => State::Recorded,
        StateArg::Reserved => State::Reserved,
        StateArg::Succeeded => State::Succeeded,
        StateArg::Failed => State::Failed,
        StateArg::Unknown => State::Unknown,
    }
}
