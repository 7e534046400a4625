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
    output.raw(&with_one_name(script))?;
    Ok(Exit::ANSWERED)
}

/// clap_complete's script for bash calls a program whose name has a hyphen by two names inside, and then finds no option
/// of any command. The others do not have the second name.
fn with_one_name(script: Vec<u8>) -> Vec<u8> {
    let second = format!("{}__subcmd__", NAME.replace('-', "__subcmd__"));
    let first = format!("{}__subcmd__", NAME.replace('-', "__"));
    String::from_utf8_lossy(&script)
        .replace(&second, &first)
        .into_bytes()
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
