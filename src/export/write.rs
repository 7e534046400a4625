//! A ledger to lines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::ControlFlow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Header, HistoryLine, Line, PrunedLine, ReceiptLine, VERSION};
use crate::error::Error;
use crate::receipt::{HistoryRow, KeyDigest, Pruned, Receipt, Timestamp};
use crate::store::{Portable, Standing, Store};

/// How much there is in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Whole receipts.
    pub receipts: u64,
    /// Pruned ones.
    pub pruned: u64,
    /// Deleted ones, ever.
    pub forgotten: u64,
}

/// Writes a whole ledger, from one consistent view. The outer error is the ledger's, the inner one the writer's.
///
/// # Errors
/// [`Error`] when the ledger cannot be read.
pub fn write<S: Store>(store: &mut S, out: &mut dyn Write) -> Result<io::Result<Counts>, Error> {
    let retired = store.standing()? == Standing::Retired;
    let mut counts = Counts::default();
    let mut held = Vec::new();
    let mut written = line(
        out,
        &mut held,
        &Line::ReceiptLedgerExport(Header {
            version: VERSION,
            retired,
        }),
    );
    if written.is_ok() {
        store.export(&mut |item| {
            written = item_line(out, &mut held, &item, &mut counts);
            if written.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
    }
    Ok(written
        .and_then(|()| line(out, &mut held, &Line::End(counts)))
        .map(|()| counts))
}

fn item_line(
    out: &mut dyn Write,
    held: &mut Vec<u8>,
    item: &Portable,
    counts: &mut Counts,
) -> io::Result<()> {
    match item {
        Portable::Receipt {
            receipt,
            history,
            payload,
        } => {
            counts.receipts += 1;
            let receipt = receipt_line(receipt, history, payload.as_deref())?;
            line(out, held, &Line::Receipt(Box::new(receipt)))
        }
        Portable::Pruned { key, pruned } => {
            counts.pruned += 1;
            line(out, held, &Line::Pruned(pruned_line(key, pruned)))
        }
        Portable::Forgotten(count) => {
            counts.forgotten = *count;
            Ok(())
        }
    }
}

/// A line at a time: a serializer writes a few bytes a call.
fn line(out: &mut dyn Write, held: &mut Vec<u8>, line: &Line<'_>) -> io::Result<()> {
    held.clear();
    serde_json::to_writer(&mut *held, line)?;
    held.push(b'\n');
    out.write_all(held)
}

fn receipt_line<'a>(
    receipt: &'a Receipt,
    history: &'a [HistoryRow],
    payload: Option<&[u8]>,
) -> io::Result<ReceiptLine<'a>> {
    let text = |moment: Option<Timestamp>| moment.map(|moment| moment.to_string());
    let result = receipt
        .result
        .as_ref()
        .map(|result| serde_json::from_str::<&RawValue>(result.as_str()));
    Ok(ReceiptLine {
        key: receipt.key.as_str().into(),
        fingerprint: receipt.fingerprint.as_str().into(),
        state: receipt.stored_state.as_str().into(),
        attempt: receipt.attempt,
        owner: receipt.owner.as_ref().map(|owner| owner.as_str().into()),
        run: receipt.run.as_ref().map(|run| run.as_str().into()),
        amount: receipt.amount.as_ref().map(|amount| amount.value().into()),
        currency: receipt
            .amount
            .as_ref()
            .map(|amount| amount.currency().into()),
        created_at: receipt.created_at.to_string(),
        updated_at: receipt.updated_at.to_string(),
        first_reserved_at: text(receipt.first_reserved_at),
        attempt_started_at: text(receipt.attempt_started_at),
        lease_expires_at: text(receipt.lease_expires_at),
        settled_at: text(receipt.settled_at),
        settled_by: receipt.settled_by.map(|by| by.as_str().into()),
        late_success: receipt.late_success,
        contested: receipt.contested,
        reason: receipt.reason.as_ref().map(|reason| reason.as_str().into()),
        result: result.transpose()?,
        payload_base64: payload.map(|payload| BASE64.encode(payload)),
        history: history.iter().map(history_line).collect(),
    })
}

fn history_line(row: &HistoryRow) -> HistoryLine<'_> {
    HistoryLine {
        at: row.at.to_string(),
        event: row.event.kind.as_str().into(),
        attempt: row.event.attempt,
        actor: row.event.actor.as_ref().map(|actor| actor.as_str().into()),
        detail: row.event.detail.as_deref().map(Cow::Borrowed),
    }
}

fn pruned_line(key: &KeyDigest, pruned: &Pruned) -> PrunedLine<'static> {
    PrunedLine {
        key_digest: key.to_string(),
        fingerprint_digest: pruned.fingerprint.to_string(),
        state: pruned.state.as_str().into(),
        attempt: pruned.attempt,
        contested: pruned.contested,
    }
}
