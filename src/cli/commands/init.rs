//! `init`: create the ledger.

use super::super::args::InitArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{BUSY_TIMEOUT, options};
use receipt_ledger::store::sqlite::{SqliteStore, creation_sql};

pub(crate) fn run(
    args: InitArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if args.print_sql {
        output.raw(creation_sql().as_bytes())?;
        return Ok(Exit::ANSWERED);
    }
    let (created, path) = SqliteStore::init(options(settings, BUSY_TIMEOUT)?)?;
    if created {
        output.note(&format!("created ledger {}", path.display()));
    }
    output.lines(&[Line::default().fact("created", Value::Flag(created))])?;
    Ok(Exit::ANSWERED)
}
