//! `prune`: old settled receipts become digests that still answer.

use super::super::args::{PruneArgs, SettledArg};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::progress;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{OpenLedger, open_to_change, open_to_read};
use receipt_ledger::receipt::State;
use receipt_ledger::store::{Prune, Pruned};

pub(crate) fn run(
    args: PruneArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut ledger = if args.dry_run {
        open_to_read(settings)?
    } else {
        open_to_change(settings, output)?
    };
    let Pruned { pruned, kept_live } = prune(&args, &mut ledger)?;
    let line = Line::default()
        .fact("pruned", Value::Number(pruned))
        .fact("kept_live", Value::Number(kept_live));
    output.lines(&[line])?;
    ledger.close()?;
    Ok(Exit::ANSWERED)
}

fn prune(args: &PruneArgs, ledger: &mut OpenLedger) -> Result<Pruned, Failure> {
    let Some(older_than_ms) = args.older_than else {
        let pruned = ledger.forget_pruned(args.dry_run)?;
        return Ok(Pruned {
            pruned,
            kept_live: 0,
        });
    };
    let named = |state: SettledArg| args.state.is_empty() || args.state.contains(&state);
    let mut states = Vec::new();
    if named(SettledArg::Succeeded) {
        states.push(State::Succeeded);
    }
    if named(SettledArg::Failed) {
        states.push(State::Failed);
    }
    let prune = Prune {
        older_than_ms,
        states,
        forget: args.forget,
        dry_run: args.dry_run,
    };
    let progress = progress::counting("pruned");
    let pruned = ledger.prune(&prune, &mut |done| progress.set_position(done.pruned));
    progress.finish_and_clear();
    Ok(pruned?)
}
