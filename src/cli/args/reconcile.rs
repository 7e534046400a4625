//! The arguments of `reconcile`.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueEnum};

use super::super::parse::{key, moment, not_empty, not_empty_text, word};
use receipt_ledger::receipt::{Key, Timestamp};

#[derive(Debug, Args)]
pub(crate) struct ReconcileArgs {
    /// The provider's export: a .csv, .jsonl or .ndjson file; '-' is standard input
    #[arg(long, value_name = "FILE", value_parser = not_empty())]
    pub(crate) provider: OsString,
    /// How the export is written, where its name does not say so: csv or jsonl
    #[arg(long, value_name = "FORMAT", value_parser = word::<ExportFormat>())]
    pub(crate) provider_format: Option<ExportFormat>,
    /// Look only at receipts of this time: from this moment (RFC 3339) on
    #[arg(long, value_name = "TIME", requires = "until", value_parser = moment())]
    pub(crate) since: Option<Timestamp>,
    /// Look only at receipts of this time: before this moment (RFC 3339)
    #[arg(long, value_name = "TIME", requires = "since", value_parser = moment())]
    pub(crate) until: Option<Timestamp>,
    /// The export holds everything from --since to --until: what it lacks was not applied
    #[arg(long, requires = "since")]
    pub(crate) complete: bool,
    /// Put on record as succeeded what the provider applied exactly once
    #[arg(long)]
    pub(crate) settle: bool,
    /// Put on record as failed what is unknown and the provider lacks
    #[arg(long, requires = "complete")]
    pub(crate) settle_absent: bool,
    /// Only keys that begin with this, taken literally
    #[arg(long, value_name = "PREFIX", value_parser = key())]
    pub(crate) prefix: Option<Key>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

/// What the export calls its columns.
#[derive(Debug, Args)]
pub(crate) struct ColumnArgs {
    /// The column with the receipt's key [default: key]
    #[arg(long, value_name = "NAME", value_parser = not_empty_text())]
    pub(crate) key_column: Option<String>,
    /// The column with the status [default: status, if it is there]
    #[arg(long, value_name = "NAME", value_parser = not_empty_text())]
    pub(crate) status_column: Option<String>,
    /// Statuses of rows that were applied, separated by commas [default: succeeded]
    #[arg(long, value_name = "STATUS", value_delimiter = ',', action = ArgAction::Append, value_parser = not_empty_text())]
    pub(crate) applied_status: Vec<String>,
    /// The column with the amount [default: amount, if it is there]
    #[arg(long, value_name = "NAME", value_parser = not_empty_text())]
    pub(crate) amount_column: Option<String>,
    /// The column with the currency [default: currency, if it is there]
    #[arg(long, value_name = "NAME", value_parser = not_empty_text())]
    pub(crate) currency_column: Option<String>,
    /// The column with the provider's own name for it [default: reference, if it is there]
    #[arg(long, value_name = "NAME", value_parser = not_empty_text())]
    pub(crate) reference_column: Option<String>,
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// CSV with a header row.
    Csv,
    /// JSON Lines.
    Jsonl,
}
