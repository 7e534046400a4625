//! The whole ledger out of one file and into another.

use std::ops::ControlFlow;

use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator as _;
use rusqlite::{Connection, OptionalExtension, Row, Rows};

use super::error::Trouble;
use super::{meta, pending, prune, receipts, row};
use crate::receipt::{Entry, HistoryRow, Key, KeyDigest, Pruned, Receipt};
use crate::store::{Imported, Portable, Source, Standing};

const ALL: &str = concat!(row::select_receipt!(), " ORDER BY id");

const ALL_HISTORY: &str = concat!(
    row::select_history!(),
    ", receipt FROM receipt_ledger_history ORDER BY receipt, sequence"
);

const ALL_PAYLOADS: &str = "SELECT receipt, payload FROM receipt_ledger_payload ORDER BY receipt";

const ALL_PRUNED: &str = "\
SELECT key_digest, fingerprint_digest, outcome, attempt FROM receipt_ledger_pruned ORDER BY key_digest";

/// Hands out everything.
pub(super) fn export(
    connection: &Connection,
    each: &mut dyn FnMut(Portable) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    // In the same order beside the receipts: a search for each receipt's rows took longer than all else together.
    let (mut histories, mut payloads) = (
        connection.prepare(ALL_HISTORY)?,
        connection.prepare(ALL_PAYLOADS)?,
    );
    let mut histories = Beside::new(histories.query([])?, "receipt")?;
    let mut payloads = Beside::new(payloads.query([])?, "receipt")?;
    while let Some(row) = rows.next()? {
        let (id, receipt) = row::receipt(row)?;
        let mut history = Vec::new();
        histories.of(id, &mut |row| {
            history.push(row::history(row)?);
            Ok(())
        })?;
        let mut payload = None;
        payloads.of(id, &mut |row| {
            payload = Some(row.get("payload")?);
            Ok(())
        })?;
        let item = Portable::Receipt {
            receipt: Box::new(receipt),
            history,
            payload,
        };
        if each(item).is_break() {
            return Ok(());
        }
    }
    let mut statement = connection.prepare(ALL_PRUNED)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let item = Portable::Pruned {
            key: key_digest(row)?,
            pruned: row::pruned(row)?,
        };
        if each(item).is_break() {
            return Ok(());
        }
    }
    // The last item: whoever breaks after it breaks nothing off.
    let _ = each(Portable::Forgotten(meta::forgotten(connection)?));
    Ok(())
}

/// Rows that belong to receipts, in the receipts' order.
struct Beside<'s> {
    rows: Rows<'s>,
    /// The place of the column that says whose a row is.
    place: usize,
}

impl<'s> Beside<'s> {
    fn new(mut rows: Rows<'s>, column: &str) -> Result<Beside<'s>, Trouble> {
        let statement = rows.as_ref().ok_or(Trouble::Impossible("receipt"))?;
        let place = statement.column_index(column)?;
        rows.advance()?;
        Ok(Beside { rows, place })
    }

    /// Hands out the rows of this receipt; those of nobody are passed over.
    fn of(
        &mut self,
        id: i64,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        while let Some(row) = self.rows.get() {
            let whose: i64 = row.get(self.place)?;
            if whose > id {
                break;
            }
            if whose == id {
                each(row)?;
            }
            self.rows.advance()?;
        }
        Ok(())
    }
}

fn key_digest(row: &rusqlite::Row<'_>) -> Result<KeyDigest, Trouble> {
    let digest: Vec<u8> = row.get("key_digest")?;
    digest
        .try_into()
        .map(KeyDigest)
        .map_err(|_| Trouble::Impossible("key_digest"))
}

/// Takes everything in, or nothing.
pub(super) fn import(
    connection: &Connection,
    source: &mut dyn Source,
    mark: bool,
) -> Result<Imported, Trouble> {
    connection.execute_batch("SAVEPOINT receipt_ledger_import")?;
    let imported = take(connection, source)?;
    match imported {
        Imported::Taken { added, .. } => {
            if mark && added > 0 {
                meta::stand(connection, Standing::Copy)?;
            }
        }
        Imported::Contradicts { .. } | Imported::Abandoned => {
            connection.execute_batch("ROLLBACK TO receipt_ledger_import")?;
        }
    }
    connection.execute_batch("RELEASE receipt_ledger_import")?;
    Ok(imported)
}

/// Whether an item was there before.
enum Found {
    Added,
    Same,
    Other(String),
}

fn take(connection: &Connection, source: &mut dyn Source) -> Result<Imported, Trouble> {
    let (mut added, mut unchanged, mut digests) = (0, 0, false);
    loop {
        let item = match source.next() {
            Ok(Some(item)) => item,
            Ok(None) => break,
            Err(_) => return Ok(Imported::Abandoned),
        };
        let found = match &item {
            Portable::Receipt {
                receipt,
                history,
                payload,
            } => take_receipt(connection, receipt, history, payload.as_deref())?,
            Portable::Pruned { key, pruned } => {
                digests = true;
                take_pruned(connection, key, pruned)?
            }
            Portable::Forgotten(count) => {
                let known = meta::forgotten(connection)?;
                if *count > known {
                    meta::set_forgotten(connection, *count)?;
                }
                continue;
            }
        };
        match found {
            Found::Added => added += 1,
            Found::Same => unchanged += 1,
            Found::Other(key) => return Ok(Imported::Contradicts { key }),
        }
    }
    if digests
        && added > 0
        && let Some(key) = whole_and_pruned(connection)?
    {
        return Ok(Imported::Contradicts {
            key: key.to_string(),
        });
    }
    Ok(Imported::Taken { added, unchanged })
}

fn take_receipt(
    connection: &Connection,
    receipt: &Receipt,
    history: &[HistoryRow],
    payload: Option<&[u8]>,
) -> Result<Found, Trouble> {
    let Some(stored) = receipts::find(connection, &receipt.key)? else {
        let id = receipts::insert(connection, receipt)?;
        for row in history {
            receipts::append_row(connection, id, &row.event, row.at)?;
        }
        if let Some(payload) = payload {
            pending::keep_payload(connection, id, payload)?;
        }
        return Ok(Found::Added);
    };
    let same = match (&stored.entry, stored.id) {
        (Entry::Whole(known), Some(id)) => {
            **known == *receipt
                && receipts::history(connection, id)? == history
                && pending::payload_of(connection, id)?.as_deref() == payload
        }
        (Entry::Whole(_) | Entry::Pruned(_), _) => false,
    };
    Ok(if same {
        Found::Same
    } else {
        Found::Other(receipt.key.to_string())
    })
}

fn take_pruned(
    connection: &Connection,
    key: &KeyDigest,
    pruned: &Pruned,
) -> Result<Found, Trouble> {
    let sql = "SELECT fingerprint_digest, outcome, attempt FROM receipt_ledger_pruned WHERE key_digest = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key.0])?;
    match rows.next()? {
        Some(row) if row::pruned(row)? == *pruned => Ok(Found::Same),
        Some(_) => Ok(Found::Other(key.to_string())),
        None => {
            prune::insert_digests(connection, key, pruned)?;
            Ok(Found::Added)
        }
    }
}

/// A key that is there whole and as a digest: only a look at every key finds one.
pub(super) fn whole_and_pruned(connection: &Connection) -> Result<Option<Key>, Trouble> {
    let mut keys = connection.prepare("SELECT key FROM receipt_ledger_receipt")?;
    let mut is_pruned =
        connection.prepare("SELECT 1 FROM receipt_ledger_pruned WHERE key_digest = ?1")?;
    let mut rows = keys.query([])?;
    while let Some(row) = rows.next()? {
        let key = Key::parse(row.get_ref("key")?.as_str().unwrap_or_default());
        let key = key.map_err(|_| Trouble::Impossible("key"))?;
        let found = is_pruned
            .query_row([KeyDigest::of(&key).0], |_| Ok(()))
            .optional()?;
        if found.is_some() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}
