//! The options of every command: flag before environment, neither ever empty.

use std::env;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::args::{Format, Globals};
use super::failure::Failure;
use super::parse::{from_ms, word_of};
use receipt_ledger::receipt::duration_ms;

pub(crate) const DB: &str = "RECEIPT_LEDGER_DB";
const FORMAT: &str = "RECEIPT_LEDGER_FORMAT";
const BUSY_TIMEOUT: &str = "RECEIPT_LEDGER_BUSY_TIMEOUT";
const NO_CREATE: &str = "RECEIPT_LEDGER_NO_CREATE";

/// Which ledger, and how to speak.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) db: Option<OsString>,
    /// Whether a flag named the ledger, not the environment.
    pub(crate) db_by_flag: bool,
    pub(crate) format: Format,
    pub(crate) busy_timeout: Option<Duration>,
    pub(crate) no_create: bool,
}

impl Settings {
    /// Joins what stood before the command, behind it, and in the environment.
    pub(crate) fn gather(before: Globals, behind: Globals) -> Result<Settings, Failure> {
        let format = once("--format", before.format, behind.format)?;
        let db = once("--db", before.db, behind.db)?;
        let busy_timeout = once("--busy-timeout", before.busy_timeout, behind.busy_timeout)?;
        if before.no_create && behind.no_create {
            return Err(twice("--no-create"));
        }
        let format = match format {
            Some(format) => format,
            None => variable(FORMAT, word_of)?.unwrap_or(Format::Text),
        };
        let db_by_flag = db.is_some();
        let db = match db {
            Some(db) => Some(db),
            None => variable(DB, |value| Ok(value.to_owned()))?,
        };
        let busy_timeout = match busy_timeout {
            Some(busy_timeout) => Some(busy_timeout),
            None => variable(BUSY_TIMEOUT, busy_timeout_word)?,
        };
        let no_create = before.no_create
            || behind.no_create
            || variable(NO_CREATE, |value| {
                if value == "1" {
                    Ok(true)
                } else {
                    Err("must be 1 where it is set".into())
                }
            })?
            .unwrap_or(false);
        Ok(Settings {
            db,
            db_by_flag,
            format,
            busy_timeout,
            no_create,
        })
    }

    /// The ledger that was named. There is no default: cron, sudo and containers would each find another one.
    pub(crate) fn db(&self) -> Result<&OsStr, Failure> {
        self.db.as_deref().ok_or_else(|| {
            Failure::new("usage", "no ledger was named")
                .hint("name one with --db PATH or in RECEIPT_LEDGER_DB; there is no default")
        })
    }
}

/// How an error is to be written before the arguments are understood.
pub(crate) fn format_before_parsing(args: &[OsString]) -> Format {
    let own = args.split(|arg| arg == "--").next().unwrap_or_default();
    let flag = own
        .iter()
        .zip(own.iter().skip(1))
        .any(|(name, value)| name == "--format" && value == "json")
        || own.iter().any(|arg| arg == "--format=json");
    let named = own
        .iter()
        .any(|arg| arg.to_string_lossy().starts_with("--format"));
    let variable = !named && env::var_os(FORMAT).is_some_and(|value| value == "json");
    if flag || variable {
        Format::Json
    } else {
        Format::Text
    }
}

fn once<T>(flag: &str, before: Option<T>, behind: Option<T>) -> Result<Option<T>, Failure> {
    match (before, behind) {
        (Some(_), Some(_)) => Err(twice(flag)),
        (before, behind) => Ok(before.or(behind)),
    }
}

fn twice(flag: &str) -> Failure {
    Failure::new("usage", format!("{flag} was given twice"))
}

fn variable<T>(
    name: &str,
    parse: impl Fn(&OsStr) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let Some(value) = env::var_os(name) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Err(
            Failure::new("invalid-input", format!("{name} is set but empty"))
                .hint("unset it, or give it a value"),
        );
    }
    let parsed = parse(&value);
    parsed
        .map(Some)
        .map_err(|why| Failure::new("invalid-input", format!("{name}: {why}")))
}

fn busy_timeout_word(value: &OsStr) -> Result<Duration, String> {
    let text = value.to_str().ok_or_else(|| "is not UTF-8".to_owned())?;
    duration_ms(text)
        .map(from_ms)
        .map_err(|error| error.to_string())
}
