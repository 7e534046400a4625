//! Lines to a ledger.

use std::fmt;
use std::io::{self, BufRead, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{Counts, Header, HistoryLine, Line, PrunedLine, ReceiptLine, VERSION};
use crate::receipt::{
    Amount, Event, EventKind, Fingerprint, FingerprintDigest, HistoryRow, Key, KeyDigest, Owner,
    Pruned, Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};
use crate::store::{Abandon, Portable, Source};
use crate::verify;

/// Longest line, in bytes: the longest payload in base64, the longest result, and a long history.
const LINE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Why an export was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ImportRefusal {
    /// It is not what an export writes.
    #[error("line {line} {what}")]
    Invalid {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// It ends before its last line: a copy that was not finished.
    #[error("it is torn: it ends after line {line}, without the last line that counts the others")]
    Torn {
        /// The last line there is.
        line: u64,
    },
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads an export.
pub struct ExportReader<R> {
    lines: R,
    line: u64,
    retired: bool,
    counted: Counts,
    ended: bool,
    refusal: Option<ImportRefusal>,
}

impl<R> fmt::Debug for ExportReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportReader")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl<R: BufRead> ExportReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`ImportRefusal`] when this is no export.
    pub fn new(lines: R) -> Result<ExportReader<R>, ImportRefusal> {
        let counted = Counts::default();
        let mut reader = ExportReader {
            lines,
            line: 0,
            retired: false,
            counted,
            ended: false,
            refusal: None,
        };
        let first = reader.read_line()?;
        match serde_json::from_slice(&first) {
            Ok(Line::ReceiptLedgerExport(Header {
                version: VERSION,
                retired,
            })) => {
                reader.retired = retired;
                Ok(reader)
            }
            Ok(Line::ReceiptLedgerExport(Header { version, .. })) => Err(reader.invalid(format!(
                "is of version {version} of the format, which is not known here"
            ))),
            Ok(Line::Receipt(_) | Line::Pruned(_) | Line::End(_)) | Err(_) => {
                Err(reader.invalid("is not the header of an export"))
            }
        }
    }

    /// Whether the ledger it was written from decides no more.
    pub fn retired(&self) -> bool {
        self.retired
    }

    /// Why the import was abandoned, if it was.
    pub fn into_refusal(self) -> Option<ImportRefusal> {
        self.refusal
    }

    fn invalid(&self, what: impl Into<String>) -> ImportRefusal {
        ImportRefusal::Invalid {
            line: self.line,
            what: what.into(),
        }
    }

    /// A whole line without its newline.
    fn read_line(&mut self) -> Result<Vec<u8>, ImportRefusal> {
        let mut bytes = Vec::new();
        self.lines
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut bytes)?;
        match bytes.pop() {
            Some(b'\n') => {
                self.line += 1;
                Ok(bytes)
            }
            Some(_) if u64::try_from(bytes.len()).unwrap_or(u64::MAX) + 1 == LINE_BYTES_MAX => {
                self.line += 1;
                Err(self.invalid("is too long"))
            }
            Some(_) | None => Err(ImportRefusal::Torn { line: self.line }),
        }
    }

    fn item(&mut self) -> Result<Option<Portable>, ImportRefusal> {
        if self.ended {
            return Ok(None);
        }
        let bytes = self.read_line()?;
        let line = serde_json::from_slice(&bytes).map_err(|error| {
            self.invalid(format!("is not of an export, near byte {}", error.column()))
        })?;
        match line {
            Line::ReceiptLedgerExport(_) => Err(self.invalid("is a second header")),
            Line::Receipt(line) => {
                self.counted.receipts += 1;
                receipt(&line).map(Some).map_err(|what| self.invalid(what))
            }
            Line::Pruned(line) => {
                self.counted.pruned += 1;
                pruned(&line)
                    .map(Some)
                    .ok_or_else(|| self.invalid("has an impossible member"))
            }
            Line::End(counts) => {
                if counts.receipts != self.counted.receipts || counts.pruned != self.counted.pruned
                {
                    return Err(self.invalid("counts other lines than there are"));
                }
                if !self.lines.fill_buf()?.is_empty() {
                    return Err(self.invalid("counts the others, but is not the last"));
                }
                self.ended = true;
                Ok(Some(Portable::Forgotten(counts.forgotten)))
            }
        }
    }
}

impl<R: BufRead> Source for ExportReader<R> {
    fn next(&mut self) -> Result<Option<Portable>, Abandon> {
        self.item().map_err(|refusal| {
            self.refusal = Some(refusal);
            Abandon
        })
    }
}

/// A receipt that fits together with its history, or what is wrong.
fn receipt(line: &ReceiptLine<'_>) -> Result<Portable, String> {
    let parsed = parse(line).ok_or_else(|| "has an impossible member".to_owned())?;
    let history: Option<Vec<_>> = line.history.iter().map(history).collect();
    let history = history.ok_or_else(|| "has an impossible history".to_owned())?;
    let payload = line
        .payload_base64
        .as_ref()
        .map(|payload| BASE64.decode(payload))
        .transpose();
    let payload = payload.map_err(|_| "has a payload that is not base64".to_owned())?;
    if payload.is_some() && parsed.stored_state == State::Succeeded {
        return Err("has a payload, but has succeeded".to_owned());
    }
    match verify::findings(&parsed, &history).into_iter().next() {
        Some(finding) => Err(format!("is not a receipt: {finding}")),
        None => Ok(Portable::Receipt {
            receipt: Box::new(parsed),
            history,
            payload,
        }),
    }
}

/// `Some(None)` for what is absent, `None` for what is there and cannot be parsed.
fn optional<T, U: AsRef<str>>(
    value: Option<&U>,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(value) => parse(value.as_ref()).map(Some),
    }
}

fn parse(line: &ReceiptLine<'_>) -> Option<Receipt> {
    let amount = match (&line.amount, &line.currency) {
        (None, None) => None,
        (Some(value), Some(currency)) => Some(Amount::parse(value, currency).ok()?),
        (_, _) => return None,
    };
    let result = match line.result {
        None => None,
        Some(result) => Some(ResultJson::stored(result.get().as_bytes()).ok()?),
    };
    Some(Receipt {
        key: Key::parse(&*line.key).ok()?,
        fingerprint: Fingerprint::parse(&*line.fingerprint).ok()?,
        stored_state: State::parse(&line.state)?,
        attempt: line.attempt,
        owner: optional(line.owner.as_ref(), |text| Owner::parse(text).ok())?,
        run: optional(line.run.as_ref(), |text| RunId::parse(text).ok())?,
        amount,
        created_at: Timestamp::parse(&line.created_at)?,
        updated_at: Timestamp::parse(&line.updated_at)?,
        first_reserved_at: optional(line.first_reserved_at.as_ref(), Timestamp::parse)?,
        attempt_started_at: optional(line.attempt_started_at.as_ref(), Timestamp::parse)?,
        lease_expires_at: optional(line.lease_expires_at.as_ref(), Timestamp::parse)?,
        settled_at: optional(line.settled_at.as_ref(), Timestamp::parse)?,
        settled_by: optional(line.settled_by.as_ref(), SettledBy::parse)?,
        late_success: line.late_success,
        contested: line.contested,
        reason: optional(line.reason.as_ref(), |text| Text::parse(text).ok())?,
        result,
    })
}

fn history(line: &HistoryLine<'_>) -> Option<HistoryRow> {
    let event = Event {
        kind: EventKind::parse(&line.event)?,
        attempt: line.attempt,
        actor: optional(line.actor.as_ref(), |text| Owner::parse(text).ok())?,
        detail: optional(line.detail.as_ref(), |text| Text::parse(text).ok())?
            .map(|text| text.as_str().to_owned()),
    };
    Some(HistoryRow {
        at: Timestamp::parse(&line.at)?,
        event,
    })
}

fn pruned(line: &PrunedLine<'_>) -> Option<Portable> {
    let state = State::parse(&line.state).filter(|state| state.is_settled())?;
    let contested = line.contested;
    if line.attempt == 0 || (contested && state != State::Failed) {
        return None;
    }
    let fingerprint = FingerprintDigest(bytes(&line.fingerprint_digest)?);
    let pruned = Pruned {
        fingerprint,
        state,
        attempt: line.attempt,
        contested,
    };
    Some(Portable::Pruned {
        key: KeyDigest(bytes(&line.key_digest)?),
        pruned,
    })
}

fn bytes<const N: usize>(hexadecimal: &str) -> Option<[u8; N]> {
    let digits = hexadecimal.as_bytes();
    let lower = digits
        .iter()
        .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 2 * N || !lower {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
