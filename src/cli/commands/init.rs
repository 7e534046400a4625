//! `init`: create the ledger.

use super::super::args::InitArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::{create, creation_sql};

pub(crate) fn run(
    args: InitArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if args.print_sql {
        output.raw(creation_sql(settings)?.as_bytes())?;
        return Ok(Exit::ANSWERED);
    }
    let (created, name) = create(settings)?;
    if created {
        output.note(&format!("created ledger {name}"));
    }
    output.lines(&[Line::default().fact("created", Value::Flag(created))])?;
    Ok(Exit::ANSWERED)
}
