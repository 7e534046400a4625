//! The arguments of who asks whether an effect may be performed, now or later.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use super::super::failed_exit::FailedExit;
use super::super::parse::{
    amount, currency, failed_exit, fingerprint, key, longer_than_zero, longer_than_zero_ms,
    not_empty, owner, positive, run_id, skip_exit, zero_or_longer,
};
use receipt_ledger::receipt::{Fingerprint, Key, Owner, RunId};

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
