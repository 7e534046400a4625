//! Finding and keeping one key's entry and history, inside a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::Trouble;
use super::{Clock, pending, row};
use crate::decide::Change;
use crate::receipt::{
    Entry, Event, EventKind, HistoryRow, Key, KeyDigest, Owner, Pruned, Receipt, State, Timestamp,
};
use crate::store::{Reading, Rule};

const FIND: &str = concat!(row::select_receipt!(), " WHERE key = ?1");

const FIND_PRUNED: &str =
    "SELECT fingerprint_digest, outcome, attempt FROM receipt_ledger_pruned WHERE key_digest = ?1";

const INSERT: &str = "\
INSERT INTO receipt_ledger_receipt
    (key, fingerprint, state, attempt, owner, run, amount, currency, created_at_ms, updated_at_ms,
     first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, settled_by, late_success,
     contested, reason, result)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

const UPDATE: &str = "\
UPDATE receipt_ledger_receipt SET
    fingerprint = ?2, state = ?3, attempt = ?4, owner = ?5, run = ?6, amount = ?7, currency = ?8, created_at_ms = ?9,
    updated_at_ms = ?10, first_reserved_at_ms = ?11, attempt_started_at_ms = ?12, lease_expires_at_ms = ?13,
    settled_at_ms = ?14, settled_by = ?15, late_success = ?16, contested = ?17, reason = ?18, result = ?19
WHERE key = ?1";

const APPEND: &str = "\
INSERT INTO receipt_ledger_history (receipt, sequence, at_ms, event, attempt, actor, detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const LAST_SEQUENCE: &str = "\
SELECT sequence FROM receipt_ledger_history WHERE receipt = ?1 ORDER BY sequence DESC LIMIT 1";

const HAS_CONFLICT: &str = "\
SELECT EXISTS (SELECT 1 FROM receipt_ledger_history WHERE receipt = ?1 AND event = 'conflict' AND detail = ?2)";

const HISTORY: &str = concat!(
    row::select_history!(),
    " FROM receipt_ledger_history WHERE receipt = ?1 ORDER BY sequence"
);

/// An entry and, for a whole receipt, the number its history goes by.
pub(super) struct Stored {
    pub(super) id: Option<i64>,
    pub(super) entry: Entry,
}

/// What is stored for a key, whole or pruned.
pub(super) fn find(connection: &Connection, key: &Key) -> Result<Option<Stored>, Trouble> {
    match find_whole(connection, key)? {
        Some(stored) => Ok(Some(stored)),
        None => find_pruned(connection, key),
    }
}

pub(super) fn find_whole(connection: &Connection, key: &Key) -> Result<Option<Stored>, Trouble> {
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query([key.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let (id, receipt) = row::receipt(row)?;
    Ok(Some(Stored {
        id: Some(id),
        entry: Entry::Whole(Box::new(receipt)),
    }))
}

fn find_pruned(connection: &Connection, key: &Key) -> Result<Option<Stored>, Trouble> {
    let mut statement = connection.prepare_cached(FIND_PRUNED)?;
    let mut rows = statement.query([KeyDigest::of(key).0])?;
    match rows.next()? {
        Some(row) => Ok(Some(Stored {
            id: None,
            entry: Entry::Pruned(row::pruned(row)?),
        })),
        None => Ok(None),
    }
}

/// Whether anything was ever pruned and is still answering.
pub(super) fn has_pruned(connection: &Connection) -> Result<bool, Trouble> {
    let sql = "SELECT EXISTS (SELECT 1 FROM receipt_ledger_pruned)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Runs a rule on what is stored for a key and keeps what it wants.
pub(super) fn change(
    connection: &Connection,
    key: &Key,
    rule: &mut Rule<'_>,
    clock: &dyn Clock,
) -> Result<(), Trouble> {
    change_with(connection, key, rule, clock, |_| Ok(()))
}

/// As [`change`], with something to be done before a change is kept, if there is one to the key's entry.
pub(super) fn change_with(
    connection: &Connection,
    key: &Key,
    rule: &mut Rule<'_>,
    clock: &dyn Clock,
    first: impl FnOnce(&Connection) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let stored = find(connection, key)?;
    let now = clock.now();
    let change = rule(stored.as_ref().map(|stored| &stored.entry), now);
    if change.entry.is_some() {
        first(connection)?;
    }
    keep(connection, key, stored.as_ref(), &change, now)
}

/// A key's entry, and its history if asked for.
pub(super) fn read(
    connection: &Connection,
    key: &Key,
    with_history: bool,
    clock: &dyn Clock,
) -> Result<Reading, Trouble> {
    let found = find(connection, key)?;
    reading(connection, found, with_history, clock)
}

/// What was found, with its history if asked for.
pub(super) fn reading(
    connection: &Connection,
    found: Option<Stored>,
    with_history: bool,
    clock: &dyn Clock,
) -> Result<Reading, Trouble> {
    let now = clock.now();
    let history = match found.as_ref().and_then(|stored| stored.id) {
        Some(id) if with_history => history(connection, id)?,
        Some(_) | None => Vec::new(),
    };
    Ok(Reading {
        entry: found.map(|stored| stored.entry),
        now,
        history,
    })
}

/// Writes what a rule wants kept.
pub(super) fn keep(
    connection: &Connection,
    key: &Key,
    stored: Option<&Stored>,
    change: &Change,
    now: Timestamp,
) -> Result<(), Trouble> {
    let known = stored.and_then(|stored| stored.id);
    let mut id = known;
    match &change.entry {
        Some(Entry::Whole(receipt)) => match id {
            Some(id) => update(connection, id, receipt)?,
            None => {
                if stored.is_some() {
                    forget_pruned(connection, key)?;
                }
                let new = insert(connection, receipt)?;
                if let Some(payload) = &change.payload {
                    pending::keep_payload(connection, new, payload)?;
                }
                id = Some(new);
            }
        },
        Some(Entry::Pruned(pruned)) => mark_pruned(connection, key, pruned)?,
        None => {}
    }
    let Some(id) = id else {
        return Ok(());
    };
    // A new receipt has no history yet, and is spared the look for it.
    let mut sequence = match known {
        Some(id) if !change.events.is_empty() => next_sequence(connection, id)?,
        Some(_) | None => 1,
    };
    for event in &change.events {
        if event.kind == EventKind::Conflict && has_conflict(connection, id, event)? {
            continue;
        }
        append_at(connection, (id, sequence), event, now)?;
        sequence += 1;
    }
    Ok(())
}

pub(super) fn insert(connection: &Connection, receipt: &Receipt) -> Result<i64, Trouble> {
    let mut statement = connection.prepare_cached(INSERT)?;
    row::with_parameters(receipt, |parameters| statement.execute(parameters))?;
    Ok(connection.last_insert_rowid())
}

fn update(connection: &Connection, id: i64, receipt: &Receipt) -> Result<(), Trouble> {
    let mut statement = connection.prepare_cached(UPDATE)?;
    row::with_parameters(receipt, |parameters| statement.execute(parameters))?;
    // What was performed needs its payload no longer.
    if receipt.stored_state == State::Succeeded {
        pending::erase_payload(connection, id)?;
    }
    Ok(())
}

fn forget_pruned(connection: &Connection, key: &Key) -> Result<(), Trouble> {
    let sql = "DELETE FROM receipt_ledger_pruned WHERE key_digest = ?1";
    connection
        .prepare_cached(sql)?
        .execute([KeyDigest::of(key).0])?;
    Ok(())
}

fn mark_pruned(connection: &Connection, key: &Key, pruned: &Pruned) -> Result<(), Trouble> {
    let sql = "UPDATE receipt_ledger_pruned SET outcome = ?2 WHERE key_digest = ?1";
    let parameters = params![KeyDigest::of(key).0, row::outcome(pruned)];
    connection.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

fn has_conflict(connection: &Connection, id: i64, event: &Event) -> Result<bool, Trouble> {
    let mut statement = connection.prepare_cached(HAS_CONFLICT)?;
    Ok(statement.query_row(params![id, event.detail], |row| row.get(0))?)
}

fn next_sequence(connection: &Connection, id: i64) -> Result<i64, Trouble> {
    let mut statement = connection.prepare_cached(LAST_SEQUENCE)?;
    let last: Option<i64> = statement.query_row([id], |row| row.get(0)).optional()?;
    Ok(last.unwrap_or(0) + 1)
}

/// Appends a row of history as it is.
pub(super) fn append_row(
    connection: &Connection,
    id: i64,
    event: &Event,
    at: Timestamp,
) -> Result<(), Trouble> {
    let sequence = next_sequence(connection, id)?;
    append_at(connection, (id, sequence), event, at)
}

fn append_at(
    connection: &Connection,
    (id, sequence): (i64, i64),
    event: &Event,
    at: Timestamp,
) -> Result<(), Trouble> {
    let Event {
        kind,
        attempt,
        actor,
        detail,
    } = event;
    let actor = actor.as_ref().map(Owner::as_str);
    let kind = kind.as_str();
    let parameters = params![id, sequence, at.as_ms(), kind, attempt, actor, detail];
    connection.prepare_cached(APPEND)?.execute(parameters)?;
    Ok(())
}

/// A receipt's history, oldest first.
pub(super) fn history(connection: &Connection, id: i64) -> Result<Vec<HistoryRow>, Trouble> {
    let mut statement = connection.prepare_cached(HISTORY)?;
    let mut rows = statement.query([id])?;
    let mut history = Vec::new();
    while let Some(row) = rows.next()? {
        history.push(row::history(row)?);
    }
    Ok(history)
}
