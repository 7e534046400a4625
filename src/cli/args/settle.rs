//! The arguments of who says what came of an effect.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use super::super::parse::{evidence, key, longer_than_zero_ms, not_empty, owner, positive, word};
use super::Content;
use receipt_ledger::receipt::{Key, Owner, Text};

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

/// What evidence can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArg {
    /// It happened.
    Succeeded,
    /// It did not happen.
    Failed,
}
