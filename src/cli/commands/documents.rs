//! `completions` and `man`: what the arguments say of themselves.

mod page;

use clap::CommandFactory;

use super::super::args::{Cli, CompletionsArgs, ManArgs};
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::help;
use super::super::output::Output;

const NAME: &str = "receipt-ledger";

pub(crate) fn completions(args: CompletionsArgs, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    output.raw(&script)?;
    Ok(Exit::ANSWERED)
}

pub(crate) fn man(args: ManArgs, output: &mut Output) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let page = match &args.command {
        None => page::of_all(&command, help::CHAPTER),
        Some(name) => {
            let found = command.get_subcommands().find(|sub| name == sub.get_name());
            let sub = found.ok_or_else(|| {
                Failure::new("usage", "there is no such command")
                    .hint("see 'receipt-ledger --help'")
            })?;
            page::of_one(sub)
        }
    };
    output.raw(&page.expect("writing into memory does not fail"))?;
    Ok(Exit::ANSWERED)
}
