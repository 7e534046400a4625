//! Answers to bytes: `name=value` words that are safe shell assignments, or JSON. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::failure::Failure;
use receipt_ledger::decide::Decision;
use receipt_ledger::receipt::{Entry, HistoryRow, Key, Receipt, ResultJson, State, Timestamp};
use receipt_ledger::store::Reading;

/// One answer: its facts in order.
#[derive(Debug, Default)]
pub(crate) struct Line {
    facts: Vec<Fact>,
}

#[derive(Debug)]
struct Fact {
    name: Cow<'static, str>,
    value: Value,
    json_only: bool,
}

/// A fact's value.
#[derive(Debug)]
pub(crate) enum Value {
    /// Nothing is known: `name=`, `null`.
    Absent,
    /// Text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Compact JSON, embedded as it is.
    Json(String),
    /// Answers, as a JSON array.
    Lines(Vec<Line>),
}

impl<T: ToString> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Absent, |value| Value::Text(value.to_string()))
    }
}

/// How many facts a receipt has: a list of a million makes room for them once each.
const RECEIPT_FACTS: usize = 14;
/// Room for a usual answer.
const LINE_BYTES: usize = 384;

impl Line {
    /// Adds a fact.
    pub(crate) fn fact(mut self, name: impl Into<Cow<'static, str>>, value: Value) -> Line {
        self.facts.push(Fact {
            name: name.into(),
            value,
            json_only: false,
        });
        self
    }

    /// Adds a fact that only JSON tells.
    pub(crate) fn in_json(mut self, name: &'static str, value: Value) -> Line {
        self.facts.push(Fact {
            name: name.into(),
            value,
            json_only: true,
        });
        self
    }

    /// Adds a word.
    pub(crate) fn word(self, name: &'static str, word: &str) -> Line {
        self.fact(name, Value::Text(word.to_owned()))
    }

    /// `state=… attempt=…`
    pub(crate) fn standing(key: &Key, state: State, attempt: u32) -> Line {
        Line::default()
            .in_json("key", Value::Text(key.to_string()))
            .word("state", state.as_str())
            .fact("attempt", Value::Number(attempt.into()))
    }

    /// `decision=… state=… attempt=…`
    pub(crate) fn decision(key: &Key, decision: Decision, state: State, attempt: u32) -> Line {
        Line::default()
            .in_json("key", Value::Text(key.to_string()))
            .word("decision", decision.as_str())
            .word("state", state.as_str())
            .fact("attempt", Value::Number(attempt.into()))
            .in_json("next", Value::Text(next(decision).to_owned()))
    }

    /// A receipt, every name always.
    pub(crate) fn receipt(receipt: &Receipt, now: Timestamp) -> Line {
        let amount = receipt.amount.as_ref();
        let facts = Vec::with_capacity(RECEIPT_FACTS);
        Line { facts }
            .word("state", receipt.state(now).as_str())
            .fact("attempt", Value::Number(receipt.attempt.into()))
            .word("key", receipt.key.as_str())
            .word("fingerprint", receipt.fingerprint.as_str())
            .fact("owner", receipt.owner.as_ref().into())
            .fact("run", receipt.run.as_ref().into())
            .fact("amount", amount.map(|amount| amount.value()).into())
            .fact("currency", amount.map(|amount| amount.currency()).into())
            .fact("created_at", Some(receipt.created_at).into())
            .fact("updated_at", Some(receipt.updated_at).into())
            .fact("lease_expires_at", receipt.lease_expires_at.into())
            .fact(
                "settled_by",
                receipt.settled_by.map(|by| by.as_str()).into(),
            )
            .fact(
                "reason",
                receipt.reason.as_ref().map(|reason| reason.as_str()).into(),
            )
            .fact(
                "result",
                receipt.result.as_ref().map_or(Value::Absent, result),
            )
    }

    /// What the ledger holds for a key, if it holds anything.
    pub(crate) fn entry(key: &Key, reading: &Reading) -> Option<Line> {
        match reading.entry.as_ref()? {
            Entry::Whole(receipt) => Some(Line::receipt(receipt, reading.now)),
            Entry::Pruned(pruned) => Some(
                Line::default()
                    .word("state", pruned.state.as_str())
                    .fact("attempt", Value::Number(pruned.attempt.into()))
                    .word("key", key.as_str())
                    .fact("pruned", Value::Flag(true)),
            ),
        }
    }

    /// `created=…` and what stands.
    pub(crate) fn recorded(key: &Key, created: bool, state: State, attempt: u32) -> Line {
        Line::default()
            .in_json("key", Value::Text(key.to_string()))
            .fact("created", Value::Flag(created))
            .word("state", state.as_str())
            .fact("attempt", Value::Number(attempt.into()))
    }

    /// Puts a fact before all others.
    pub(crate) fn led_by(mut self, name: &'static str, value: Value) -> Line {
        self.facts.insert(
            0,
            Fact {
                name: name.into(),
                value,
                json_only: true,
            },
        );
        self
    }

    /// Why there is no answer, as an object.
    pub(crate) fn failure(failure: &Failure) -> Line {
        Line::default().in_json("error", Value::Json(error_object(failure)))
    }

    /// One row of a receipt's history.
    pub(crate) fn history(key: &Key, row: &HistoryRow) -> Line {
        Line::default()
            .in_json("key", Value::Text(key.to_string()))
            .fact("at", Some(row.at).into())
            .word("event", row.event.kind.as_str())
            .fact("attempt", Value::Number(row.event.attempt.into()))
            .fact("actor", row.event.actor.as_ref().into())
            .fact("detail", row.event.detail.as_ref().into())
    }
}

fn result(result: &ResultJson) -> Value {
    Value::Json(result.as_str().to_owned())
}

/// What the caller does with a decision.
fn next(decision: Decision) -> &'static str {
    match decision {
        Decision::Execute | Decision::Retry => "perform",
        Decision::SkipInFlight => "wait",
        Decision::SkipSucceeded => "done",
        Decision::SkipFailed => "retry-explicitly",
        Decision::SkipUnknown => "reconcile",
        Decision::Conflict => "stop",
    }
}

/// Writes `name=value` words and a newline.
pub(crate) fn text(line: &Line, out: &mut Vec<u8>) {
    let mut text = String::with_capacity(LINE_BYTES);
    for fact in line.facts.iter().filter(|fact| !fact.json_only) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&fact.name);
        text.push('=');
        match &fact.value {
            Value::Absent => {}
            Value::Text(value) => quote(value, &mut text),
            Value::Json(value) => quote(value, &mut text),
            Value::Lines(lines) => quote(&json_array(lines), &mut text),
            Value::Number(value) => push(&mut text, value),
            Value::Flag(value) => push(&mut text, value),
        }
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

/// Writes one JSON object and a newline.
pub(crate) fn json(line: &Line, out: &mut Vec<u8>) {
    let mut text = String::from("{");
    for fact in &line.facts {
        if text.len() > 1 {
            text.push(',');
        }
        json_string(&fact.name, &mut text);
        text.push(':');
        match &fact.value {
            Value::Absent => text.push_str("null"),
            Value::Text(value) => json_string(value, &mut text),
            Value::Json(value) => escape_controls(value, &mut text),
            Value::Lines(lines) => text.push_str(&json_array(lines)),
            Value::Number(value) => push(&mut text, value),
            Value::Flag(value) => push(&mut text, value),
        }
    }
    text.push_str("}\n");
    out.extend_from_slice(text.as_bytes());
}

fn json_array(lines: &[Line]) -> String {
    let objects = lines.iter().map(|line| {
        let mut bytes = Vec::new();
        json(line, &mut bytes);
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    });
    format!("[{}]", objects.collect::<Vec<_>>().join(","))
}

fn push(text: &mut String, value: &dyn std::fmt::Display) {
    // Writing into a String does not fail.
    let _ = write!(text, "{value}");
}

/// The bytes that mean nothing but themselves to a shell.
const PLAIN: [bool; 256] = {
    let (letters, others) = (
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"_.:/@%+,-",
    );
    let mut plain = [false; 256];
    let mut at = 0;
    while at < letters.len() {
        plain[letters[at] as usize] = true;
        at += 1;
    }
    at = 0;
    while at < others.len() {
        plain[others[at] as usize] = true;
        at += 1;
    }
    plain
};

/// Quotes a value the POSIX way wherever a shell could see more in it than text.
pub(crate) fn quote(value: &str, out: &mut String) {
    if value.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        out.push_str(value);
        return;
    }
    out.push('\'');
    let mut shown = String::with_capacity(value.len());
    escape_controls(value, &mut shown);
    out.push_str(&shown.replace('\'', r"'\''"));
    out.push('\'');
}

/// A character that a terminal may act on instead of showing it.
fn is_control(c: char) -> bool {
    let turns_text_around = matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns_text_around || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Writes control characters as JSON escapes, everything else as it is.
fn escape_controls(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_control(c) => push(out, &format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}

/// A text for people with its control characters escaped.
pub(crate) fn without_controls(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    escape_controls(value, &mut shown);
    shown
}

fn json_string(value: &str, out: &mut String) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        out.push('"');
        out.push_str(value);
        out.push('"');
        return;
    }
    // serde_json escapes what JSON demands; what a terminal could act on is left, and escaped the same way.
    let quoted = serde_json::Value::from(value).to_string();
    escape_controls(&quoted, out);
}

/// `error[CODE]: message`, and a hint line where one helps.
pub(crate) fn failure_text(failure: &Failure) -> String {
    let mut text = format!(
        "error[{}]: {}\n",
        failure.code,
        without_controls(&failure.message)
    );
    if let Some(hint) = &failure.hint {
        push(
            &mut text,
            &format_args!("hint: {}\n", without_controls(hint)),
        );
    }
    text
}

/// The error as one JSON object.
pub(crate) fn failure_json(failure: &Failure) -> String {
    let mut bytes = Vec::new();
    json(&Line::failure(failure), &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn error_object(failure: &Failure) -> String {
    let mut bytes = Vec::new();
    let facts = Line::default()
        .word("code", failure.code)
        .word("message", &failure.message)
        .fact("hint", failure.hint.as_ref().into());
    json(&facts, &mut bytes);
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}
