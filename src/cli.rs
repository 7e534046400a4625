//! The command line: arguments in, one answer out, one exit code.
//!
//! Nothing is decided here. A command turns its arguments into one call of the ledger and the answer into a reply;
//! printing happens in `output` alone.

mod args;
mod batch;
mod commands;
mod content;
mod exit;
mod failed_exit;
mod failure;
mod heartbeat;
mod help;
mod open;
mod output;
mod parse;
mod perform;
mod progress;
mod refusal;
mod render;
mod settings;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::exit::Exit;
use self::failure::Failure;
use self::output::Output;
use self::settings::Settings;

/// Runs the command line to its exit code.
pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut output = Output::new(settings::format_before_parsing(&args));
    let exit = match answer(&args, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.failure(&failure);
            failure.exit()
        }
    };
    exit.into()
}

fn answer(args: &[OsString], output: &mut Output) -> Result<Exit, Failure> {
    outlive_file_size_limit()?;
    let cli = match args::parse(args) {
        Ok(cli) => cli,
        Err(error) => return parse::not_a_command(&error, output),
    };
    let (inner, command) = cli.command.split();
    let settings = Settings::gather(cli.globals, inner)?;
    output.set_format(settings.format);
    commands::answer(command, &settings, output)
}

/// A file that may not grow further is an error to be told, not a reason to die: the signal is taken and dropped.
fn outlive_file_size_limit() -> Result<(), Failure> {
    let taken = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, taken)
        .map(|_| ())
        .map_err(|source| Failure::io("cannot take over the file-size signal", &source))
}
