//! The arguments of who looks at a ledger and looks after it.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::super::parse::{key, not_empty, positive, run_id, word, zero_or_longer_ms};
use receipt_ledger::receipt::{Key, RunId};

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

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only this state (recorded, reserved, succeeded, failed, unknown); may be given several times
    #[arg(long, value_name = "STATE", value_parser = word::<StateArg>(), action = clap::ArgAction::Append)]
    pub(crate) state: Vec<StateArg>,
    /// Only keys that begin with this, taken literally
    #[arg(long, value_name = "PREFIX", value_parser = not_empty())]
    pub(crate) prefix: Option<OsString>,
    /// Only this run
    #[arg(long, value_name = "ID", value_parser = run_id())]
    pub(crate) run: Option<RunId>,
    /// Only what has not changed for so long
    #[arg(long, value_name = "DURATION", value_parser = zero_or_longer_ms())]
    pub(crate) older_than: Option<i64>,
    /// At most this many
    #[arg(long, value_name = "N", value_parser = positive())]
    pub(crate) limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Write the figures to this file, too, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) prometheus: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only what was settled at least so long ago
    #[arg(long, value_name = "DURATION", value_parser = zero_or_longer_ms(), required_unless_present = "pruned")]
    pub(crate) older_than: Option<i64>,
    /// Only this state (succeeded, failed); may be given twice
    #[arg(long, value_name = "STATE", value_parser = word::<SettledArg>(), action = clap::ArgAction::Append)]
    pub(crate) state: Vec<SettledArg>,
    /// Only count
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delete them whole, which makes their keys executable again
    #[arg(long)]
    pub(crate) forget: bool,
    /// With --forget: delete what earlier prunes left
    #[arg(long, requires = "forget", conflicts_with_all = ["older_than", "state"])]
    pub(crate) pruned: bool,
}

/// A settled state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SettledArg {
    /// It happened.
    Succeeded,
    /// It is known not to have happened.
    Failed,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Where the copy goes; nothing may be there
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) to: OsString,
}

#[derive(Debug, Args)]
#[group(id = "how", required = true, multiple = false)]
pub(crate) struct RestoreArgs {
    /// Put this copy in the ledger's place
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) from: Option<OsString>,
    /// Put a restored copy in use: decisions taken after the copy may be missing
    #[arg(long)]
    pub(crate) accept_gap: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Where it goes, instead of standard output; nothing may be there
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) to: Option<OsString>,
    /// From now on this ledger decides nothing: its receipts move
    #[arg(long)]
    pub(crate) retire: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// An export; '-' is standard input
    #[arg(value_name = "FILE", value_parser = not_empty())]
    pub(crate) file: OsString,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", value_parser = word::<Shell>())]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The page of this command, instead of the main one
    #[arg(value_name = "COMMAND", value_parser = not_empty())]
    pub(crate) command: Option<OsString>,
}
