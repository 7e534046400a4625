//! The whole ledger out of one database and into another.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::array::Array;
use super::error::Trouble;
use super::meta::Head;
use super::pages::Page;
use super::receipts::HISTORY;
use super::row::{self, any_bytes, bytes, number, receipt_columns, required};
use super::scan::whole;
use super::session::Session;
use super::value::Value;
use super::wire::{Row, Statement};
use crate::receipt::{Entry, HistoryRow, KeyDigest};
use crate::store::Portable;

/// Whole receipts, in the order in which they came on record.
const ALL: &str = concat!(
    "SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt WHERE key IS NOT NULL AND id > $1::bigint ORDER BY id LIMIT $2::bigint"
);

const ALL_PRUNED: &str = concat!(
    "SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt WHERE key IS NULL AND receipt.key_digest > $1::bytea \
     ORDER BY receipt.key_digest LIMIT $2::bigint"
);

/// Payloads can be large, so they are asked for one at a time; this tells for which.
const WITH_PAYLOAD: &str =
    "SELECT receipt FROM receipt_ledger.payload WHERE receipt = ANY($1::bigint[])";

const PAYLOAD: &str = "\
SELECT payload FROM receipt_ledger.payload WHERE receipt = $1::bigint";

/// Hands out everything.
pub(super) fn export(
    session: &mut Session,
    head: &Head,
    each: &mut dyn FnMut(Portable) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    if receipts(session, each)?.is_break() || pruned(session, each)?.is_break() {
        return Ok(());
    }
    // The last item: whoever breaks after it breaks nothing off.
    let _ = each(Portable::Forgotten(head.forgotten));
    Ok(())
}

fn receipts(
    session: &mut Session,
    each: &mut dyn FnMut(Portable) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Trouble> {
    each_page(session, &mut |session, rows| {
        let read: Vec<_> = rows.iter().map(whole).collect::<Result<_, _>>()?;
        let ids: Vec<i64> = read.iter().map(|(id, _)| *id).collect();
        let mut history = histories(session, &ids)?;
        let with_payload = with_payload(session, &ids)?;
        for (id, receipt) in read {
            let payload = if with_payload.contains(&id) {
                payload_of(session, id)?
            } else {
                None
            };
            let item = Portable::Receipt {
                receipt: Box::new(receipt),
                history: history.remove(&id).unwrap_or_default(),
                payload,
            };
            if each(item).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Takes a page of rows, with the session for whatever else it needs.
type TakePage<'a> = dyn FnMut(&mut Session, &[Row]) -> Result<ControlFlow<()>, Trouble> + 'a;

/// Walks through the rows of all whole receipts, page by page, in the order in which they came on record.
pub(super) fn each_page(
    session: &mut Session,
    each: &mut TakePage<'_>,
) -> Result<ControlFlow<()>, Trouble> {
    let (mut page, mut after) = (Page::first(), 0);
    loop {
        let asked = Statement::new(ALL)
            .with(after.to_string())
            .with(page.rows());
        let answers = session.ask_for_page(&[asked])?;
        let rows = &answers[0].rows;
        if let Some(last) = rows.last() {
            after = required(last, "id", number::<i64>)?;
        }
        if each(session, rows)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if page.is_last(rows.len()) {
            return Ok(ControlFlow::Continue(()));
        }
        page = page.next(rows);
    }
}

fn pruned(
    session: &mut Session,
    each: &mut dyn FnMut(Portable) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Trouble> {
    let (mut page, mut after) = (Page::first(), Vec::new());
    loop {
        let asked = Statement::new(ALL_PRUNED)
            .with(Value::bytes(&after))
            .with(page.rows());
        let answers = session.ask_for_page(&[asked])?;
        let rows = &answers[0].rows;
        for row in rows {
            let key = required(row, "key_digest", |hex| bytes(hex).map(KeyDigest))?;
            after = key.0.to_vec();
            let Entry::Pruned(pruned) = row::stored(row)?.entry else {
                return Err(Trouble::Impossible("key"));
            };
            if each(Portable::Pruned { key, pruned }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if page.is_last(rows.len()) {
            return Ok(ControlFlow::Continue(()));
        }
        page = page.next(rows);
    }
}

fn array(ids: &[i64]) -> Array {
    ids.iter().copied().map(Value::Number).collect()
}

/// The history of receipts, oldest first.
pub(super) fn histories(
    session: &mut Session,
    ids: &[i64],
) -> Result<HashMap<i64, Vec<HistoryRow>>, Trouble> {
    let mut histories: HashMap<i64, Vec<HistoryRow>> = HashMap::new();
    let answers = session.ask_for_page(&[Statement::new(HISTORY).with(array(ids))])?;
    for row in &answers[0].rows {
        let id = required(row, "receipt", number)?;
        histories.entry(id).or_default().push(row::history(row)?);
    }
    Ok(histories)
}

/// Which of these have a payload.
pub(super) fn with_payload(session: &mut Session, ids: &[i64]) -> Result<Vec<i64>, Trouble> {
    let asked = Statement::new(WITH_PAYLOAD).with(array(ids));
    let answers = session.ask_for_page(&[asked])?;
    let rows = answers[0].rows.iter();
    rows.map(|row| required(row, "receipt", number)).collect()
}

/// The payload kept for a receipt.
pub(super) fn payload_of(session: &mut Session, id: i64) -> Result<Option<Vec<u8>>, Trouble> {
    let answers = session.ask_for_page(&[Statement::new(PAYLOAD).with(id.to_string())])?;
    let row = answers[0].rows.first();
    row.map(|row| required(row, "payload", any_bytes))
        .transpose()
}
