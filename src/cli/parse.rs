//! From an argument's text to its value, and from clap's refusals to ours.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::exit::Exit;
use super::failed_exit::FailedExit;
use super::failure::Failure;
use super::output::Output;
use receipt_ledger::receipt::{
    Amount, DurationError, Fingerprint, Key, Owner, RunId, Text, Timestamp, duration_ms,
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
    text(|given| Amount::check_value(given).map(|()| given.to_owned()))
}

pub(crate) fn currency() -> impl TypedValueParser<Value = String> {
    text(|given| Amount::check_currency(given).map(|()| given.to_owned()))
}

pub(crate) fn evidence() -> impl TypedValueParser<Value = Text> {
    text(Text::parse)
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

/// A text that is never empty.
pub(crate) fn not_empty_text() -> impl TypedValueParser<Value = String> {
    text(|given| {
        if given.is_empty() {
            Err("is empty")
        } else {
            Ok(given.to_owned())
        }
    })
}

/// A moment as RFC 3339 writes it, in UTC or with an offset.
pub(crate) fn moment() -> impl TypedValueParser<Value = Timestamp> {
    text(|given| {
        let why = "is not a moment such as 2026-11-30T00:00:00Z or 2026-11-30T00:00:00+01:00";
        Timestamp::parse_with_offset(given).ok_or(why)
    })
}

pub(crate) fn duration() -> impl TypedValueParser<Value = Duration> {
    text(|given| duration_ms(given).map(from_ms))
}

pub(crate) fn zero_or_longer() -> impl TypedValueParser<Value = Duration> {
    duration()
}

pub(crate) fn zero_or_longer_ms() -> impl TypedValueParser<Value = i64> {
    text(duration_ms)
}

pub(crate) fn longer_than_zero_ms() -> impl TypedValueParser<Value = i64> {
    text(|given| match duration_ms(given) {
        Ok(0) => Err(DurationError::Zero),
        other => other,
    })
}

/// Text, of which it is known that it is UTF-8 before it is parsed; clap's own parser would not name the flag.
fn text<T, E>(
    parse: impl Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    OsStringValueParser::new().try_map(move |given| match given.to_str() {
        Some(given) => parse(given).map_err(Into::into),
        None => Err(Box::from("is not UTF-8")),
    })
}

pub(crate) fn longer_than_zero() -> impl TypedValueParser<Value = Duration> {
    longer_than_zero_ms().map(from_ms)
}

pub(crate) fn failed_exit() -> impl TypedValueParser<Value = FailedExit> {
    text(FailedExit::parse)
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

pub(crate) fn positive() -> impl TypedValueParser<Value = u32> {
    text(|given| whole(given, u32::MAX))
}

pub(crate) fn skip_exit() -> impl TypedValueParser<Value = u8> {
    text(|given| whole(given, u8::MAX))
}

/// A number from 1 to `most`, in digits alone.
fn whole<T: TryFrom<u32> + Into<u32>>(given: &str, most: T) -> Result<T, String> {
    let most = most.into();
    let digits = given.bytes().all(|byte| byte.is_ascii_digit());
    let number = given
        .parse()
        .ok()
        .filter(|number| digits && (1..=most).contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("must be a whole number from 1 to {most}"))
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
    // A word that belongs to no flag may be a piece of a payload, a result or a reason: it is not repeated.
    if error.kind() == ErrorKind::UnknownArgument && !flag(error).starts_with('-') {
        return Failure::new("usage", "there is an argument that belongs to no flag")
            .hint("quote a value that holds spaces; see --help behind the command");
    }
    if error.kind() == ErrorKind::TooManyValues {
        return Failure::new("usage", format!("{} takes no value", flag(error)));
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
