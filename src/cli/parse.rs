//! From an argument's text to its value, and from clap's refusals to ours.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{
    OsStringValueParser, RangedU64ValueParser, StringValueParser, TypedValueParser,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::exit::Exit;
use super::failed_exit::FailedExit;
use super::failure::Failure;
use super::output::Output;
use receipt_ledger::receipt::{
    Amount, DurationError, Fingerprint, Key, Owner, RunId, Text, duration_ms,
};

pub(crate) fn key() -> impl TypedValueParser<Value = Key> {
    OsStringValueParser::new().try_map(|given| Key::parse(given.as_bytes()))
}

pub(crate) fn fingerprint() -> impl TypedValueParser<Value = Fingerprint> {
    OsStringValueParser::new().try_map(|given| Fingerprint::parse(given.as_bytes()))
}

pub(crate) fn owner() -> impl TypedValueParser<Value = Owner> {
    OsStringValueParser::new().try_map(|given| Owner::parse(given.as_bytes()))
}

pub(crate) fn run_id() -> impl TypedValueParser<Value = RunId> {
    OsStringValueParser::new().try_map(|given| RunId::parse(given.as_bytes()))
}

pub(crate) fn amount() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().try_map(|given| Amount::check_value(&given).map(|()| given))
}

pub(crate) fn currency() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().try_map(|given| Amount::check_currency(&given).map(|()| given))
}

pub(crate) fn evidence() -> impl TypedValueParser<Value = Text> {
    StringValueParser::new().try_map(|given| Text::parse(&given))
}

/// A path or a text that is checked later, but never an empty one: an unset shell variable must not pass.
pub(crate) fn not_empty() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|given| {
        if given.is_empty() {
            Err("is empty")
        } else {
            Ok(given)
        }
    })
}

pub(crate) fn duration() -> impl TypedValueParser<Value = Duration> {
    StringValueParser::new().try_map(|given| duration_ms(&given).map(from_ms))
}

pub(crate) fn zero_or_longer() -> impl TypedValueParser<Value = Duration> {
    duration()
}

pub(crate) fn longer_than_zero_ms() -> impl TypedValueParser<Value = i64> {
    StringValueParser::new().try_map(|given| match duration_ms(&given) {
        Ok(0) => Err(DurationError::Zero),
        other => other,
    })
}

pub(crate) fn longer_than_zero() -> impl TypedValueParser<Value = Duration> {
    longer_than_zero_ms().map(from_ms)
}

pub(crate) fn failed_exit() -> impl TypedValueParser<Value = FailedExit> {
    StringValueParser::new().try_map(|given| FailedExit::parse(&given))
}

/// One of the words of a closed list.
pub(crate) fn word<T: ValueEnum + Clone + Send + Sync + 'static>()
-> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(|given| word_of(&given))
}

/// The value that a word stands for.
pub(crate) fn word_of<T: ValueEnum>(given: &OsStr) -> Result<T, String> {
    let value = given
        .to_str()
        .and_then(|word| T::from_str(word, false).ok());
    value.ok_or_else(|| {
        let values = T::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        let words: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        format!("must be one of {}", words.join(", "))
    })
}

/// Milliseconds that were read from a duration, and so are not negative.
pub(crate) fn from_ms(ms: i64) -> Duration {
    Duration::from_millis(ms.unsigned_abs())
}

pub(crate) fn positive() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(u32::MAX))
}

pub(crate) fn skip_exit() -> RangedU64ValueParser<u8> {
    RangedU64ValueParser::new().range(1..=255)
}

/// Answers what clap did not take for a command: help and version are answers, the rest are errors.
pub(crate) fn not_a_command(error: &clap::Error, output: &mut Output) -> Result<Exit, Failure> {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        output.raw(error.render().to_string().as_bytes())?;
        Ok(Exit::ANSWERED)
    } else if matches!(kind, ErrorKind::ValueValidation | ErrorKind::InvalidUtf8) {
        Err(invalid_value(error))
    } else {
        Err(usage(error))
    }
}

fn flag(error: &clap::Error) -> &str {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.as_str(),
        Some(ContextValue::Strings(arguments)) => arguments.first().map_or("", String::as_str),
        Some(_) | None => "",
    };
    // `--key <KEY>`: the name alone.
    argument
        .split(' ')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("an argument")
}

/// The value itself stays out of the message: it may be a secret, or a terminal's control sequence.
fn invalid_value(error: &clap::Error) -> Failure {
    let why = match error.source() {
        Some(source) => source.to_string(),
        None => "is not UTF-8".to_owned(),
    };
    Failure::new("invalid-input", format!("{}: {why}", flag(error)))
}

fn usage(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new("usage", "a command is needed").hint("see 'receipt-ledger --help'");
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let message: Vec<&str> = first.lines().map(str::trim).collect();
    let message = message.join(" ");
    let message = message
        .strip_prefix("error: ")
        .unwrap_or(&message)
        .to_owned();
    let hint = text
        .lines()
        .map(str::trim)
        .find_map(|line| line.strip_prefix("tip: "))
        .unwrap_or("see 'receipt-ledger --help', or --help behind the command")
        .to_owned();
    Failure::new("usage", message).hint(hint)
}
