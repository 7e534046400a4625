//! `completions` and `man`: what the arguments say of themselves.

use clap::CommandFactory;
use clap_mangen::Man;

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
    let mut page = Vec::new();
    match &args.command {
        None => render(&Man::new(command.after_help(help::CHAPTER)), &mut page),
        Some(name) => {
            let found = command
                .get_subcommands()
                .find(|sub| name == sub.get_name())
                .cloned();
            let sub = found.ok_or_else(|| {
                Failure::new("usage", "there is no such command")
                    .hint("see 'receipt-ledger --help'")
            })?;
            render(&Man::new(sub), &mut page);
        }
    }
    output.raw(&page)?;
    Ok(Exit::ANSWERED)
}

fn render(man: &Man, page: &mut Vec<u8>) {
    man.render(page).expect("writing into memory does not fail");
}
