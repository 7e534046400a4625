//! The arguments: names, help texts, groups. What they mean is elsewhere.

mod decide;
mod operate;
mod reconcile;
mod settle;

pub(crate) use decide::*;
pub(crate) use operate::*;
pub(crate) use reconcile::*;
pub(crate) use settle::*;

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::help;
use super::parse::{duration, not_empty, word};

/// Stands in front of an irreversible effect and answers durably: may I perform this now?
#[derive(Debug, Parser)]
#[command(name = "receipt-ledger", version = help::version(), disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the command line.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = help::grouped(Cli::command());
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Options of every command; they may stand before or after the command's name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Globals {
    /// The ledger: a file's path [env: RECEIPT_LEDGER_DB]
    #[arg(long, value_name = "PATH", value_parser = not_empty())]
    pub(crate) db: Option<OsString>,
    /// How answers and errors are written: text or json [env: RECEIPT_LEDGER_FORMAT]
    #[arg(long, value_name = "FORMAT", value_parser = word::<Format>())]
    pub(crate) format: Option<Format>,
    /// How long to wait for others' locks [default: 5s, settling 60s; env: RECEIPT_LEDGER_BUSY_TIMEOUT]
    #[arg(long, value_name = "DURATION", value_parser = duration())]
    pub(crate) busy_timeout: Option<Duration>,
    /// Fail if the ledger does not exist yet [env: RECEIPT_LEDGER_NO_CREATE=1]
    #[arg(long)]
    pub(crate) no_create: bool,
}

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// `name=value` words.
    Text,
    /// One JSON object a line.
    Json,
}

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ident),)*) => {
        /// What is asked.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $name(WithGlobals<$args>),)*
        }

        /// What is asked, without the options of every command.
        #[derive(Debug)]
        pub(crate) enum Asked {
            $($name($args),)*
        }

        impl Command {
            /// Takes the options of every command apart from the command's own.
            pub(crate) fn split(self) -> (Globals, Asked) {
                match self {
                    $(Command::$name(WithGlobals { args, globals }) => (globals, Asked::$name(args)),)*
                }
            }
        }
    };
}

/// A command's own arguments and the options of every command.
#[derive(Debug)]
pub(crate) struct WithGlobals<A> {
    args: A,
    globals: Globals,
}

/// By hand, so that only the command that was chosen has its arguments built: a call asks for one and ends.
impl<A: Args> Args for WithGlobals<A> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.defer(|command| {
            // The structs of arguments bring texts of their own; the command's stays.
            let about = command.get_about().cloned().unwrap_or_default();
            Globals::augment_args(A::augment_args(command)).about(about)
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<A: Args> FromArgMatches for WithGlobals<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(WithGlobals {
            args: A::from_arg_matches(matches)?,
            globals: Globals::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.args.update_from_arg_matches(matches)?;
        self.globals.update_from_arg_matches(matches)
    }
}

commands! {
    /// Ask whether the effect may be performed now
    #[command(after_help = help::RESERVE)]
    Reserve(ReserveArgs),
    /// Perform a command under a receipt: once, unless somebody says that again is safe
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Put an intent on record, to be performed later
    #[command(after_help = help::RECORD)]
    Record(RecordArgs),
    /// Perform what is on record and was never performed
    #[command(after_help = help::DRAIN)]
    Drain(DrainArgs),
    /// Perform SQL on the ledger's own database, in the transaction that decides
    #[command(after_help = help::APPLY)]
    Apply(ApplyArgs),
    /// Answer JSON Lines with JSON Lines
    #[command(after_help = help::BATCH)]
    Batch(BatchArgs),
    /// Say that the effect happened
    #[command(after_help = help::SUCCEED)]
    Succeed(SucceedArgs),
    /// Say that the effect is known not to have happened
    #[command(after_help = help::FAIL)]
    Fail(FailArgs),
    /// Say that nobody knows whether the effect happened
    #[command(after_help = help::UNKNOWN)]
    Unknown(UnknownArgs),
    /// Promise that the attempt goes on
    #[command(after_help = help::RENEW)]
    Renew(RenewArgs),
    /// Settle by evidence what nobody knew
    #[command(after_help = help::RESOLVE)]
    Resolve(ResolveArgs),
    /// Show what the ledger holds for a key
    #[command(after_help = help::SHOW)]
    Show(ShowArgs),
    /// List receipts, oldest first
    #[command(after_help = help::LIST)]
    List(ListArgs),
    /// The ledger in figures
    #[command(after_help = help::STATS)]
    Stats(StatsArgs),
    /// Compare with what the provider says it did
    #[command(after_help = help::RECONCILE)]
    Reconcile(ReconcileArgs),
    /// Reduce old settled receipts to digests that still answer
    #[command(after_help = help::PRUNE)]
    Prune(PruneArgs),
    /// Copy the ledger while others use it
    #[command(after_help = help::BACKUP)]
    Backup(BackupArgs),
    /// Put a copy in the ledger's place, or in use
    #[command(after_help = help::RESTORE)]
    Restore(RestoreArgs),
    /// Write the whole ledger as JSON Lines
    #[command(after_help = help::EXPORT)]
    Export(ExportArgs),
    /// Take an export in
    #[command(after_help = help::IMPORT)]
    Import(ImportArgs),
    /// Check the ledger and every receipt in it
    #[command(after_help = help::VERIFY)]
    Verify(VerifyArgs),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(after_help = help::MAN)]
    Man(ManArgs),
    /// Create the ledger
    #[command(after_help = help::INIT)]
    Init(InitArgs),
}
