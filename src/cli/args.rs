//! The arguments: names, help texts, groups. What they mean is elsewhere.

mod operate;
mod reconcile;

pub(crate) use operate::*;
pub(crate) use reconcile::*;

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::failed_exit::FailedExit;
use super::help;
use super::parse::{
    amount, currency, duration, evidence, failed_exit, fingerprint, key, longer_than_zero,
    longer_than_zero_ms, not_empty, owner, positive, run_id, skip_exit, word, zero_or_longer,
};
use receipt_ledger::receipt::{Fingerprint, Key, Owner, RunId, Text};

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

/// What the intent is bound to.
#[derive(Debug, Args)]
#[group(id = "content", multiple = false)]
pub(crate) struct Content {
    /// The fingerprint itself: visible ASCII, compared byte for byte
    #[arg(long, value_name = "TEXT", value_parser = fingerprint())]
    pub(crate) fingerprint: Option<Fingerprint>,
    /// Take the fingerprint from a file's bytes; '-' is standard input
    #[arg(long, value_name = "PATH", value_parser = not_empty())]
    pub(crate) payload_file: Option<OsString>,
    /// Take the fingerprint from a JSON value, however it is written; '-' is standard input
    #[arg(long, value_name = "PATH", value_parser = not_empty())]
    pub(crate) payload_json: Option<OsString>,
}

/// Facts kept on the receipt.
#[derive(Debug, Clone, Args)]
pub(crate) struct FactArgs {
    /// Who performs it, as you name yourself
    #[arg(long, value_name = "NAME", value_parser = owner())]
    pub(crate) owner: Option<Owner>,
    /// The run it belongs to
    #[arg(long, value_name = "ID", value_parser = run_id())]
    pub(crate) run: Option<RunId>,
    /// The money it moves, as an exact decimal
    #[arg(long, value_name = "DECIMAL", requires = "currency", allow_negative_numbers = true, value_parser = amount())]
    pub(crate) amount: Option<String>,
    /// The currency of --amount
    #[arg(long, value_name = "CODE", requires = "amount", value_parser = currency())]
    pub(crate) currency: Option<String>,
}

/// What decides whether the caller may perform the effect.
#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The effect's name, kept across retries
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    #[command(flatten)]
    pub(crate) content: Content,
    #[command(flatten)]
    pub(crate) terms: Terms,
    /// While somebody else is performing it, wait up to this long for the outcome
    #[arg(long, value_name = "DURATION", value_parser = zero_or_longer())]
    pub(crate) wait: Option<Duration>,
}

/// Under which terms another attempt is given.
#[derive(Debug, Args)]
pub(crate) struct Terms {
    /// Perform it again if it is known to have failed
    #[arg(long)]
    pub(crate) allow_failed_retry: bool,
    /// Perform it again if unknown and the first attempt is younger than this: as long as the provider remembers a key
    #[arg(long, value_name = "DURATION", value_parser = longer_than_zero_ms())]
    pub(crate) retry_unknown_within: Option<i64>,
    /// At this attempt give no further one
    #[arg(long, value_name = "N", value_parser = positive())]
    pub(crate) max_attempts: Option<u32>,
    /// Settled or renewed within this time, or else unknown
    #[arg(long, value_name = "DURATION", value_parser = longer_than_zero_ms())]
    pub(crate) lease: Option<i64>,
    #[command(flatten)]
    pub(crate) facts: FactArgs,
}

#[derive(Debug, Args)]
#[command(mut_group("content", |group| group.required(true)))]
pub(crate) struct ReserveArgs {
    #[command(flatten)]
    pub(crate) decide: DecideArgs,
    /// Exit with this code (1 to 255) on every skip, instead of 0
    #[arg(long, value_name = "N", value_parser = skip_exit())]
    pub(crate) skip_exit: Option<u8>,
}

#[derive(Debug, Args)]
#[command(mut_group("content", |group| group.required(true)))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) decide: DecideArgs,
    /// Exit with this code (0 to 255) instead of 75 where it is in flight, failed or unknown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8))]
    pub(crate) skip_exit: Option<u8>,
    #[command(flatten)]
    pub(crate) perform: PerformArgs,
}

#[derive(Debug, Args)]
#[command(mut_group("content", |group| group.required(true)))]
pub(crate) struct RecordArgs {
    /// The effect's name, kept across retries
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    #[command(flatten)]
    pub(crate) content: Content,
    /// Keep the payload's bytes (at most 16 MiB) for drain, until the effect has happened
    #[arg(long, conflicts_with = "fingerprint")]
    pub(crate) keep_payload: bool,
    #[command(flatten)]
    pub(crate) facts: FactArgs,
}

#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = false)]
pub(crate) struct Which {
    /// Only keys that begin with this, taken literally
    #[arg(long, value_name = "PREFIX", value_parser = key())]
    pub(crate) prefix: Option<Key>,
    /// Every key
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Take at most this many
    #[arg(long, value_name = "N", value_parser = positive())]
    pub(crate) limit: Option<u32>,
    #[command(flatten)]
    pub(crate) terms: Terms,
    #[command(flatten)]
    pub(crate) perform: PerformArgs,
}

#[derive(Debug, Args)]
#[command(mut_group("content", |group| group.required(true)))]
pub(crate) struct ApplyArgs {
    /// The effect's name, kept across retries
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    #[command(flatten)]
    pub(crate) content: Content,
    /// Perform it again if it is known to have failed
    #[arg(long)]
    pub(crate) allow_failed_retry: bool,
    /// The SQL that performs it, a file; '-' is standard input
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) sql: OsString,
    #[command(flatten)]
    pub(crate) facts: FactArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {}

/// How a command is performed, and what its end means.
#[derive(Debug, Args)]
pub(crate) struct PerformArgs {
    /// Exit codes that prove that nothing happened: a list such as 1,64-78, or any
    #[arg(long, value_name = "CODES", value_parser = failed_exit())]
    pub(crate) failed_exit: Option<FailedExit>,
    /// After this long TERM, 10 s later KILL; the outcome is then unknown
    #[arg(long, value_name = "DURATION", value_parser = longer_than_zero())]
    pub(crate) timeout: Option<Duration>,
    /// Keep the command's standard output (at most 1 MiB) and print it again where the effect has happened
    #[arg(long)]
    pub(crate) capture: bool,
    /// Print no decision where the command is started, or the exit is 0
    #[arg(long)]
    pub(crate) quiet: bool,
    /// The command and its arguments, behind --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// For which attempt a settling call speaks.
#[derive(Debug, Args)]
pub(crate) struct AttemptArgs {
    /// The effect's name
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    /// The attempt this speaks for, as reserve printed it; refused if it is not the current one
    #[arg(long, value_name = "N", value_parser = positive())]
    pub(crate) attempt: Option<u32>,
    /// Refuse unless this is the receipt's owner
    #[arg(long, value_name = "NAME", value_parser = owner())]
    pub(crate) owner: Option<Owner>,
}

/// What the effect returned.
#[derive(Debug, Args)]
#[group(id = "returned", multiple = false)]
pub(crate) struct ResultArgs {
    /// What the effect returned: one JSON value
    #[arg(long, value_name = "JSON", allow_hyphen_values = true, value_parser = not_empty())]
    pub(crate) result_json: Option<OsString>,
    /// What the effect returned: a file with one JSON value; '-' is standard input
    #[arg(long, value_name = "PATH", value_parser = not_empty())]
    pub(crate) result_file: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct SucceedArgs {
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FailArgs {
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    /// Why, in at most 4 KiB
    #[arg(long, value_name = "TEXT", value_parser = evidence())]
    pub(crate) reason: Option<Text>,
}

#[derive(Debug, Args)]
pub(crate) struct UnknownArgs {
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    /// Why, in at most 4 KiB
    #[arg(long, value_name = "TEXT", value_parser = evidence())]
    pub(crate) reason: Option<Text>,
}

#[derive(Debug, Args)]
pub(crate) struct RenewArgs {
    /// The effect's name
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    /// The attempt this speaks for, as reserve printed it
    #[arg(long, value_name = "N", value_parser = positive())]
    pub(crate) attempt: u32,
    /// Refuse unless this is the receipt's owner
    #[arg(long, value_name = "NAME", value_parser = owner())]
    pub(crate) owner: Option<Owner>,
    /// How long from now it goes on
    #[arg(long, value_name = "DURATION", value_parser = longer_than_zero_ms())]
    pub(crate) lease: i64,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    /// What the evidence shows: succeeded or failed
    #[arg(long = "as", value_name = "STATE", value_parser = word::<VerdictArg>())]
    pub(crate) verdict: VerdictArg,
    /// What shows it, in at most 4 KiB
    #[arg(long, value_name = "TEXT", value_parser = evidence())]
    pub(crate) evidence: Text,
    #[command(flatten)]
    pub(crate) content: Content,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// A receipt's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArg {
    /// The intent is on record.
    Recorded,
    /// In flight.
    Reserved,
    /// It happened.
    Succeeded,
    /// It is known not to have happened.
    Failed,
    /// Nobody knows.
    Unknown,
}

/// What evidence can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArg {
    /// It happened.
    Succeeded,
    /// It did not happen.
    Failed,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The effect's name
    #[arg(long, value_name = "KEY", value_parser = key())]
    pub(crate) key: Key,
    /// Print what happened to it, too, a line each
    #[arg(long)]
    pub(crate) history: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Only print the SQL that makes a database a ledger
    #[arg(long)]
    pub(crate) print_sql: bool,
}
