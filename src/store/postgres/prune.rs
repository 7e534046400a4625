//! Pruning: settled receipts are emptied to digests that still answer, a few at a time, while others decide.

use super::array::Array;
use super::error::Trouble;
use super::meta::{self, Head};
use super::pages::look;
use super::patience::Patience;
use super::row::{self, flag, number, optional, receipt_columns, required};
use super::scan::whole;
use super::session::{Session, token};
use super::value::{Parameter, Value};
use super::wire::Statement;
use crate::error::Error;
use crate::receipt::{FingerprintDigest, Pruned as Digests, Receipt};
use crate::store::{Prune, Pruned};

/// Receipts pruned in one transaction: others wait for their locks for some milliseconds.
const RECEIPTS_A_STEP: u32 = 500;

/// What is old enough, behind `$1`, and whether its run still has an unsettled receipt.
const CANDIDATES: &str = "\
SELECT id, EXISTS (SELECT FROM receipt_ledger.receipt AS other WHERE other.run = receipt.run \
                   AND other.state IN ('recorded', 'reserved', 'unknown')) AS live \
FROM receipt_ledger.receipt \
WHERE id > $1::bigint AND settled_at_ms <= $2::bigint AND state = ANY($3::text[]) \
ORDER BY id LIMIT $4::bigint";

/// Those that still are, held.
const STILL_CANDIDATES: &str = concat!(
    "SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt \
     WHERE id = ANY($1::bigint[]) AND settled_at_ms <= $2::bigint AND state = ANY($3::text[]) \
     AND NOT EXISTS (SELECT FROM receipt_ledger.receipt AS other WHERE other.run = receipt.run \
                     AND other.state IN ('recorded', 'reserved', 'unknown')) \
     ORDER BY receipt.key_digest FOR UPDATE"
);

/// The newest settlement bounds the clock from above: a clock that was set ahead frees nothing.
const NEWEST_SETTLEMENT: &str = "SELECT max(settled_at_ms) AS newest FROM receipt_ledger.receipt";

const EMPTY: &str = "\
UPDATE receipt_ledger.receipt SET token = $1::uuid, fingerprint_digest = given.fingerprint_digest, \
       outcome = given.outcome, key = NULL, fingerprint = NULL, state = NULL, owner = NULL, run = NULL, \
       amount = NULL, currency = NULL, created_at_ms = NULL, updated_at_ms = NULL, \
       first_reserved_at_ms = NULL, attempt_started_at_ms = NULL, lease_expires_at_ms = NULL, \
       settled_at_ms = NULL, settled_by = NULL, late_success = NULL, contested = NULL, reason = NULL, result = NULL \
FROM unnest($2::bigint[], $3::bytea[], $4::bigint[]) AS given (id, fingerprint_digest, outcome) \
WHERE receipt.id = given.id";

const DELETE: &str = "DELETE FROM receipt_ledger.receipt WHERE id = ANY($1::bigint[])";
const DELETE_HISTORY: &str = "DELETE FROM receipt_ledger.history WHERE receipt = ANY($1::bigint[])";
const DELETE_PAYLOAD: &str = "DELETE FROM receipt_ledger.payload WHERE receipt = ANY($1::bigint[])";

const COUNT_PRUNED: &str =
    "SELECT count(*) AS pruned FROM receipt_ledger.receipt WHERE key IS NULL";

/// In one order for everybody, as decisions lock.
const DELETE_PRUNED: &str = "\
DELETE FROM receipt_ledger.receipt WHERE id IN \
(SELECT id FROM receipt_ledger.receipt WHERE key IS NULL ORDER BY key_digest LIMIT $1::bigint FOR UPDATE)";

const ADD_FORGOTTEN: &str = "\
INSERT INTO receipt_ledger.meta (name, value) VALUES ('forgotten', $1) \
ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + excluded.value::bigint)::text";

/// What one prune looks for.
struct Limits {
    settled_until_ms: i64,
    states: Parameter,
    forget: bool,
}

/// Prunes what is old enough.
pub(super) fn prune(
    session: &mut Session,
    prune: &Prune,
    progress: &mut dyn FnMut(&Pruned),
) -> Result<Pruned, Error> {
    let limits = session.again("read", |session, patience| {
        look(session, patience, |session, head| {
            if !prune.dry_run {
                head.decides(session)?;
            }
            limits(session, head, prune)
        })
    })?;
    let mut done = Pruned::default();
    let mut after = 0;
    loop {
        let found = session.again("read", |session, patience| {
            look(session, patience, |session, _| {
                candidates(session, &limits, after)
            })
        })?;
        let Some((last, _)) = found.last() else { break };
        after = *last;
        let live = found.iter().filter(|(_, live)| *live).count();
        done.kept_live += count(live);
        if prune.dry_run {
            done.pruned += count(found.len() - live);
            continue;
        }
        let ids = || found.iter().filter(|(_, live)| !live);
        let ids = || -> Array { ids().map(|(id, _)| Value::Number(*id)).collect() };
        done.pruned += session.again("write to", |session, patience| {
            step(session, patience, &limits, ids())
        })?;
        progress(&done);
    }
    Ok(done)
}

fn limits(session: &mut Session, head: &Head, prune: &Prune) -> Result<Limits, Trouble> {
    let now_ms = session.now(head).as_ms();
    let mut clock_ms = now_ms;
    if prune.forget {
        let answers = session.ask_without_limit(&[Statement::new(NEWEST_SETTLEMENT)])?;
        let row = answers[0].rows.first();
        let row = row.ok_or(Trouble::Impossible("newest"))?;
        clock_ms = clock_ms.min(optional(row, "newest", number)?.unwrap_or(now_ms));
    }
    let settled = prune.states.iter().filter(|state| state.is_settled());
    let states: Array = settled.map(|state| Value::text(state.as_str())).collect();
    Ok(Limits {
        settled_until_ms: clock_ms.saturating_sub(prune.older_than_ms),
        states: states.into(),
        forget: prune.forget,
    })
}

fn candidates(
    session: &mut Session,
    limits: &Limits,
    after: i64,
) -> Result<Vec<(i64, bool)>, Trouble> {
    let asked = Statement::new(CANDIDATES)
        .with(after.to_string())
        .with(limits.settled_until_ms.to_string())
        .with(limits.states.clone())
        .with(RECEIPTS_A_STEP.to_string());
    let answers = session.ask_for_page(&[asked])?;
    let found = answers[0].rows.iter();
    found
        .map(|row| Ok((required(row, "id", number)?, required(row, "live", flag)?)))
        .collect()
}

/// Prunes these, as far as they still are what was found.
fn step(
    session: &mut Session,
    patience: Patience,
    limits: &Limits,
    ids: Array,
) -> Result<u64, Trouble> {
    if ids.is_empty() {
        return Ok(0);
    }
    let mut statements = Session::entering(patience, None);
    let held = Statement::new(STILL_CANDIDATES)
        .with(ids)
        .with(limits.settled_until_ms.to_string())
        .with(limits.states.clone());
    statements.extend([held, Statement::new(meta::HEAD)]);
    let answers = session.ask(&statements, patience)?;
    let [.., held, head] = &answers[..] else {
        return Err(Trouble::Rival);
    };
    decides(session, head)?;
    let mut given: [Array; 3] = Default::default();
    for row in &held.rows {
        let (id, receipt) = whole(row)?;
        let digests = digests(&receipt);
        given[0].push(Some(&Value::Number(id)));
        given[1].push(Some(&Value::bytes(&digests.fingerprint.0)));
        given[2].push(Some(&Value::Number(row::outcome(&digests))));
    }
    let pruned = count(held.rows.len());
    if pruned == 0 {
        session.roll_back(patience);
        return Ok(0);
    }
    let ids = given[0].clone();
    let mut statements = Vec::new();
    if limits.forget {
        statements.push(Statement::new(DELETE).with(ids.clone()));
        statements.push(Statement::new(ADD_FORGOTTEN).with(pruned.to_string()));
    } else {
        let empty = Statement::new(EMPTY).with(token()?);
        statements.push(given.into_iter().fold(empty, Statement::with));
    }
    // The receipts first: their history goes only after them.
    statements.push(Statement::new(DELETE_HISTORY).with(ids.clone()));
    statements.push(Statement::new(DELETE_PAYLOAD).with(ids));
    session.commit(statements, None, patience)?;
    Ok(pruned)
}

fn decides(session: &Session, head: &super::wire::Answer) -> Result<(), Trouble> {
    let head = Head::of(head, session)?;
    head.decides(session)?;
    head.commit_counts(session)
}

fn digests(receipt: &Receipt) -> Digests {
    Digests {
        fingerprint: FingerprintDigest::of(&receipt.fingerprint),
        state: receipt.stored_state,
        attempt: receipt.attempt,
        contested: receipt.contested,
    }
}

/// Deletes what earlier prunes left.
pub(super) fn forget_pruned(session: &mut Session, dry_run: bool) -> Result<u64, Error> {
    if dry_run {
        return session.again("read", |session, patience| {
            look(session, patience, |session, _| {
                let answers = session.ask_without_limit(&[Statement::new(COUNT_PRUNED)])?;
                let row = answers[0].rows.first();
                required(row.ok_or(Trouble::Impossible("pruned"))?, "pruned", number)
            })
        });
    }
    let mut forgotten = 0;
    loop {
        let deleted = session.again("write to", forget_some)?;
        if deleted == 0 {
            return Ok(forgotten);
        }
        forgotten += deleted;
    }
}

fn forget_some(session: &mut Session, patience: Patience) -> Result<u64, Trouble> {
    let mut statements = Session::entering(patience, None);
    let delete = Statement::new(DELETE_PRUNED).with(RECEIPTS_A_STEP.to_string());
    statements.extend([delete, Statement::new(meta::HEAD)]);
    let answers = session.ask(&statements, patience)?;
    let [.., deleted, head] = &answers[..] else {
        return Err(Trouble::Rival);
    };
    decides(session, head)?;
    let deleted = deleted.count();
    if deleted == 0 {
        session.roll_back(patience);
        return Ok(0);
    }
    let added = Statement::new(ADD_FORGOTTEN).with(deleted.to_string());
    session.commit(vec![added], None, patience)?;
    Ok(deleted)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
