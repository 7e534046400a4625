//! `backup` and `restore`: copies of a ledger, which decide nothing until somebody says so.

use std::path::Path;

use super::super::args::{BackupArgs, RestoreArgs};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::Line;
use super::super::settings::Settings;
use super::move_::refuse_own_files;
use super::{file, open_to_change};
use receipt_ledger::store::sqlite::SqliteStore;
use receipt_ledger::store::{Standing, Store};

pub(crate) fn backup(
    args: BackupArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut store = SqliteStore::open_to_read(file(settings)?)?;
    refuse_own_files(&store.name(), Path::new(&args.to))?;
    store.backup(Path::new(&args.to))?;
    store.close()?;
    let path = std::path::absolute(&args.to).unwrap_or_else(|_| args.to.clone().into());
    output.lines(&[Line::default().word("backup", &path.display().to_string())])?;
    Ok(Exit::ANSWERED)
}

pub(crate) fn restore(
    args: RestoreArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let standing = match &args.from {
        Some(from) => {
            let options = file(settings)?;
            SqliteStore::restore(Path::new(from), &options.path, options.busy_timeout)?;
            Standing::Copy
        }
        None => accept_gap(settings, output)?,
    };
    output.lines(&[Line::default().word("standing", standing.as_str())])?;
    Ok(Exit::ANSWERED)
}

fn accept_gap(settings: &Settings, output: &mut Output) -> Result<Standing, Failure> {
    let mut ledger = open_to_change(settings, output)?;
    let before = ledger.standing()?;
    let standing = ledger.stand(Standing::Copy, Standing::InUse)?;
    ledger.close()?;
    if before == Standing::Copy && standing == Standing::InUse {
        return Ok(standing);
    }
    let message = match before {
        Standing::InUse | Standing::Copy => "the ledger is in use: there is no gap to accept",
        Standing::Retired => "the ledger is retired: its receipts have moved to another one",
    };
    Err(Failure::new("invalid-transition", message))
}
