//! Pruning: settled receipts become digests that still answer, a few at a time, while others decide.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::error::Trouble;
use super::{SqliteStore, meta, pending, row};
use crate::error::Error;
use crate::receipt::{FingerprintDigest, Key, KeyDigest, Pruned as Digests, Receipt, State};
use crate::store::{Prune, Pruned};

/// Receipts pruned in one transaction: others wait for its lock for some milliseconds.
const RECEIPTS_A_STEP: u32 = 100;
/// Pages given back to the file system in one transaction.
const PAGES_A_STEP: u32 = 128;
/// Shortest pause between two transactions: longer than a waiting caller sleeps, so that it gets its turn.
const PAUSE_MIN: Duration = Duration::from_millis(4);

/// What is old enough, behind `?1`, and whether its run still has an unsettled receipt.
const CANDIDATES: &str = "\
SELECT id, EXISTS (
           SELECT 1 FROM receipt_ledger_receipt AS other
           WHERE other.run = receipt_ledger_receipt.run AND other.state IN ('recorded', 'reserved', 'unknown')
       ) AS live
FROM receipt_ledger_receipt
WHERE id > ?1 AND settled_at_ms <= ?2 AND (state = ?3 OR state = ?4)
ORDER BY id LIMIT ?5";

const STILL_A_CANDIDATE: &str = concat!(
    row::select_receipt!(),
    " WHERE id = ?1 AND settled_at_ms <= ?2 AND (state = ?3 OR state = ?4) AND NOT EXISTS (
           SELECT 1 FROM receipt_ledger_receipt AS other
           WHERE other.run = receipt_ledger_receipt.run AND other.state IN ('recorded', 'reserved', 'unknown'))"
);

/// The newest settlement bounds the clock from above: a clock that was set ahead frees nothing.
const NEWEST_SETTLEMENT: &str = "SELECT max(settled_at_ms) FROM receipt_ledger_receipt";

/// What one prune looks for.
struct Limits {
    settled_until_ms: i64,
    states: [&'static str; 2],
    forget: bool,
}

/// Prunes what is old enough.
pub(super) fn prune(
    store: &mut SqliteStore,
    prune: &Prune,
    progress: &mut dyn FnMut(&Pruned),
) -> Result<Pruned, Error> {
    let limits = store.look(|connection, clock| limits(connection, clock.now().as_ms(), prune))?;
    let mut done = Pruned::default();
    let mut after = 0;
    loop {
        let found = store.look(|connection, _| candidates(connection, &limits, after))?;
        let Some((last, _)) = found.last() else { break };
        after = *last;
        done.kept_live += count(found.iter().filter(|(_, live)| *live).count());
        let ids: Vec<i64> = found
            .iter()
            .filter(|(_, live)| !live)
            .map(|(id, _)| *id)
            .collect();
        if prune.dry_run {
            done.pruned += count(ids.len());
        } else {
            let began = Instant::now();
            done.pruned += store.write(|transaction, _| step(transaction, &limits, &ids))?;
            progress(&done);
            pause(began);
        }
    }
    if !prune.dry_run {
        give_space_back(store)?;
    }
    Ok(done)
}

/// Deletes what earlier prunes left.
pub(super) fn forget_pruned(store: &mut SqliteStore, dry_run: bool) -> Result<u64, Error> {
    if dry_run {
        return store.look(|connection, _| {
            let sql = "SELECT count(*) FROM receipt_ledger_pruned";
            Ok(connection.query_row(sql, [], |row| row.get(0))?)
        });
    }
    let mut forgotten = 0;
    loop {
        let began = Instant::now();
        let deleted = store.write(|transaction, _| {
            let sql = "DELETE FROM receipt_ledger_pruned WHERE key_digest IN \
                       (SELECT key_digest FROM receipt_ledger_pruned ORDER BY key_digest LIMIT ?1)";
            let deleted = count(
                transaction
                    .prepare_cached(sql)?
                    .execute([RECEIPTS_A_STEP])?,
            );
            add_forgotten(transaction, deleted)?;
            Ok(deleted)
        })?;
        if deleted == 0 {
            break;
        }
        forgotten += deleted;
        pause(began);
    }
    give_space_back(store)?;
    Ok(forgotten)
}

fn limits(connection: &Connection, now_ms: i64, prune: &Prune) -> Result<Limits, Trouble> {
    let mut clock_ms = now_ms;
    if prune.forget {
        let newest: Option<i64> = connection.query_row(NEWEST_SETTLEMENT, [], |row| row.get(0))?;
        clock_ms = clock_ms.min(newest.unwrap_or(now_ms));
    }
    let word = |state: State| {
        if prune.states.contains(&state) {
            state.as_str()
        } else {
            ""
        }
    };
    Ok(Limits {
        settled_until_ms: clock_ms.saturating_sub(prune.older_than_ms),
        states: [word(State::Succeeded), word(State::Failed)],
        forget: prune.forget,
    })
}

fn candidates(
    connection: &Connection,
    limits: &Limits,
    after: i64,
) -> Result<Vec<(i64, bool)>, Trouble> {
    let [succeeded, failed] = limits.states;
    let parameters = params![
        after,
        limits.settled_until_ms,
        succeeded,
        failed,
        RECEIPTS_A_STEP
    ];
    let mut statement = connection.prepare_cached(CANDIDATES)?;
    let found = statement.query_map(parameters, |row| Ok((row.get("id")?, row.get("live")?)))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Prunes these, as far as they still are what was found.
fn step(connection: &Connection, limits: &Limits, ids: &[i64]) -> Result<u64, Trouble> {
    let [succeeded, failed] = limits.states;
    let mut done = 0;
    for id in ids {
        let parameters = params![id, limits.settled_until_ms, succeeded, failed];
        let mut statement = connection.prepare_cached(STILL_A_CANDIDATE)?;
        let mut rows = statement.query(parameters)?;
        let Some(row) = rows.next()? else { continue };
        let (id, receipt) = row::receipt(row)?;
        drop(rows);
        delete(connection, id)?;
        if !limits.forget {
            insert(connection, &receipt.key, &digests(&receipt))?;
        }
        done += 1;
    }
    if limits.forget {
        add_forgotten(connection, done)?;
    }
    Ok(done)
}

fn digests(receipt: &Receipt) -> Digests {
    Digests {
        fingerprint: FingerprintDigest::of(&receipt.fingerprint),
        state: receipt.stored_state,
        attempt: receipt.attempt,
        contested: receipt.contested,
    }
}

/// The receipt first: its history goes only after it.
fn delete(connection: &Connection, id: i64) -> Result<(), Trouble> {
    pending::erase_payload(connection, id)?;
    for sql in [
        "DELETE FROM receipt_ledger_receipt WHERE id = ?1",
        "DELETE FROM receipt_ledger_history WHERE receipt = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

fn insert(connection: &Connection, key: &Key, digests: &Digests) -> Result<(), Trouble> {
    insert_digests(connection, &KeyDigest::of(key), digests)
}

/// Keeps the digests of a pruned receipt.
pub(super) fn insert_digests(
    connection: &Connection,
    key: &KeyDigest,
    digests: &Digests,
) -> Result<(), Trouble> {
    let sql = "INSERT INTO receipt_ledger_pruned (key_digest, fingerprint_digest, outcome, attempt) \
               VALUES (?1, ?2, ?3, ?4)";
    let parameters = params![
        key.0,
        digests.fingerprint.0,
        row::outcome(digests),
        digests.attempt
    ];
    connection.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

fn add_forgotten(connection: &Connection, count: u64) -> Result<(), Trouble> {
    if count > 0 {
        meta::set_forgotten(connection, meta::forgotten(connection)? + count)?;
    }
    Ok(())
}

/// Gives free pages back to the file system, where the file was made for that, a few at a time.
fn give_space_back(store: &mut SqliteStore) -> Result<(), Error> {
    loop {
        let began = Instant::now();
        let left = store.write(|transaction, _| {
            let free = |connection: &Connection| -> Result<i64, Trouble> {
                Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
            };
            let before = free(transaction)?;
            let sql = format!("PRAGMA incremental_vacuum({PAGES_A_STEP})");
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            let after = free(transaction)?;
            Ok(if after < before { after } else { 0 })
        })?;
        if left == 0 {
            return Ok(());
        }
        pause(began);
    }
}

/// As long as the transaction took: pruning has at most half of the time.
fn pause(began: Instant) {
    std::thread::sleep(began.elapsed().max(PAUSE_MIN));
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
