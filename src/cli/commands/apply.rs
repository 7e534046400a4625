//! `apply`: perform SQL on the ledger's own database, in the transaction that decides.

use super::super::args::ApplyArgs;
use super::super::content;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::Line;
use super::super::settings::Settings;
use super::{facts, open_to_decide};
use receipt_ledger::decide::Reserve;

pub(crate) fn run(
    args: ApplyArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let stdin_twice = args.sql == "-"
        && [&args.content.payload_file, &args.content.payload_json]
            .into_iter()
            .flatten()
            .any(|path| path == "-");
    if stdin_twice {
        return Err(Failure::new(
            "usage",
            "only one argument can be read from standard input",
        ));
    }
    let sql = content::sql(&args.sql)?;
    let request = Reserve {
        allow_failed_retry: args.allow_failed_retry,
        facts: facts(args.facts),
        ..Reserve::new(args.key, content::required_fingerprint(&args.content)?)
    };
    let mut ledger = open_to_decide(settings, output)?;
    let answer = ledger.apply(&request, &sql)?;
    let line = Line::decision(&request.key, answer.decision, answer.state, answer.attempt);
    output.lines(&[line])?;
    ledger.close()?;
    Ok(Exit::of_decision(answer.decision, None))
}
