//! Finding and keeping one key's entry and history.

use std::time::Duration;

use super::array::Array;
use super::commit::{Committed, Proof};
use super::error::Trouble;
use super::meta::{self, Head, head_columns};
use super::patience::Patience;
use super::row::{self, Stored, flag, receipt_columns, required};
use super::session::{Session, token};
use super::value::{Parameter, Value};
use super::wire::{Answer, Statement};
use super::writes::Writes;
use crate::decide::Change;
use crate::receipt::{EventKind, Key, KeyDigest};
use crate::store::{Reading, Rule};

/// Each by the index: asked for many at once, the server might read the whole table instead.
const FIND: &str = concat!(
    "SELECT receipt.* FROM unnest($1::bytea[]) AS wanted (digest) CROSS JOIN LATERAL (SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt WHERE receipt.key_digest = wanted.digest OFFSET 0) AS receipt"
);

/// The head, and beside it what is stored for a key, if anything is.
const LOOK: &str = concat!(
    "SELECT ",
    head_columns!(),
    ", receipt.* FROM receipt_ledger.meta LEFT JOIN receipt_ledger.receipt ON key_digest = $1::bytea"
);

/// In one order for everybody, so that two callers do not wait for each other.
const LOCK: &str = concat!(
    "SELECT receipt.* FROM (SELECT digest FROM unnest($1::bytea[]) AS given (digest) ORDER BY digest) AS wanted \
     CROSS JOIN LATERAL (SELECT ",
    receipt_columns!(),
    " FROM receipt_ledger.receipt WHERE receipt.key_digest = wanted.digest FOR UPDATE) AS receipt"
);

const HAS_CONFLICT: &str = "\
SELECT EXISTS (SELECT FROM receipt_ledger.history \
               WHERE receipt = $1::bigint AND event = 'conflict' AND detail = $2) AS known";

/// History of these receipts, oldest first.
pub(super) const HISTORY: &str = "\
SELECT receipt, at_ms, event, attempt, actor, detail FROM receipt_ledger.history \
WHERE receipt = ANY($1::bigint[]) ORDER BY receipt, sequence";

const HISTORY_OF_KEY: &str = "\
SELECT at_ms, event, attempt, actor, detail FROM receipt_ledger.history \
WHERE receipt = (SELECT id FROM receipt_ledger.receipt WHERE key_digest = $1::bytea) ORDER BY sequence";

/// Longest wait for somebody who is creating the same receipt: then the clock is read again.
pub(super) const RIVAL_WAIT: Duration = Duration::from_millis(100);

/// Digests as a value of type `bytea[]`.
pub(super) fn digests<'a>(digests: impl IntoIterator<Item = &'a KeyDigest>) -> Parameter {
    let digests = digests.into_iter().map(|digest| Value::bytes(&digest.0));
    digests.collect::<Array>().into()
}

/// The statement that reads these keys' rows, and the one that locks them.
pub(super) fn find(array: &Parameter) -> Statement<'static> {
    Statement::new(FIND).with(array.clone())
}

/// See [`find`].
pub(super) fn lock(array: &Parameter) -> Statement<'static> {
    Statement::new(LOCK).with(array.clone())
}

/// Runs a rule on what is stored for a key and keeps what it wants. What changes nothing is answered from a look that
/// locks nothing and writes nothing; everything else is decided under the key's lock.
pub(super) fn update(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    rule: &mut Rule<'_>,
) -> Result<(), Trouble> {
    let digest = KeyDigest::of(key);
    let (stored, head) = look(session, patience, key, &digest)?;
    head.decides(session)?;
    let now = session.now(&head);
    let change = rule(stored.as_ref().map(|stored| &stored.entry), now);
    match stored {
        Some(_) if change.is_none() => stand_by(session, patience, &head, &[digest]),
        Some(stored) if is_known_conflict(session, patience, &stored, &change)? => {
            stand_by(session, patience, &head, &[digest])
        }
        None if change.is_none() => Ok(()),
        Some(_) => locked(session, patience, &head, key, rule),
        None if change.entry.is_none() => Ok(()),
        None => {
            let token = token()?;
            let mut writes = Writes::new(&token);
            writes.add(&digest, None, &change, now);
            fresh(session, patience, &head, &digest, &writes)
        }
    }
}

/// Makes sure that a standby that commits wait for knows what was seen. That it can be seen does not say so: a wait that was
/// cut short, or a server that was started anew, shows what the standby never heard of. A commit behind it does say so: what
/// is written reaches the standby in order, and a row's lock is written.
pub(super) fn stand_by(
    session: &mut Session,
    patience: Patience,
    head: &Head,
    seen: &[KeyDigest],
) -> Result<(), Trouble> {
    if !head.waits {
        return Ok(());
    }
    let mut statements = Session::entering(patience, Some(head));
    statements.push(lock(&digests(seen)));
    session.ask(&statements, patience)?;
    leave(session, patience, head)
}

/// Ends a transaction that holds what it has seen, and writes nothing: see [`stand_by`].
pub(super) fn leave(session: &mut Session, patience: Patience, head: &Head) -> Result<(), Trouble> {
    if head.waits {
        session.commit(Vec::new(), None, patience)?;
    } else {
        session.roll_back(patience);
    }
    Ok(())
}

/// What is stored for a key, and the server's clock behind it. Locks nothing.
pub(super) fn look(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    digest: &KeyDigest,
) -> Result<(Option<Stored>, Head), Trouble> {
    let looked = session.look(
        &[Statement::new(LOOK).with(Value::bytes(&digest.0))],
        patience,
    )?;
    let head = Head::of(&looked[0], session)?;
    let row = looked[0]
        .rows
        .first()
        .filter(|row| row.get("id") != Some(None));
    let stored = row.map(row::stored).transpose()?;
    if let Some(stored) = &stored {
        refuse_other_key(stored, key)?;
    }
    Ok((stored, head))
}

/// Puts a key's first row into place. Nobody can hold a row that is not there: the row itself is the lock, and whoever
/// comes second finds it and looks again.
fn fresh(
    session: &mut Session,
    patience: Patience,
    head: &Head,
    digest: &KeyDigest,
    writes: &Writes<'_>,
) -> Result<(), Trouble> {
    let mut statements = Session::entering(patience.at_most(RIVAL_WAIT), Some(head));
    let first = statements.len();
    statements.extend(writes.statements());
    let proof = Proof {
        digest: *digest,
        token: writes.token(),
    };
    match session.commit(statements, Some(proof), patience) {
        Ok(Committed::Proven) => Ok(()),
        Ok(Committed::Told(answers)) if writes.is_new(&answers[first])? => Ok(()),
        // The row was not written, and nothing with it: somebody was first, or has it decide no longer.
        Ok(Committed::Told(_)) => Err(Trouble::Rival),
        Err(Trouble::Server(error)) if error.code == "55P03" && !patience.is_over() => {
            Err(Trouble::Rival)
        }
        Err(trouble) => Err(trouble),
    }
}

/// Locks a key's row, runs the rule on what it holds by then, and keeps what it wants.
fn locked(
    session: &mut Session,
    patience: Patience,
    head: &Head,
    key: &Key,
    rule: &mut Rule<'_>,
) -> Result<(), Trouble> {
    let digest = KeyDigest::of(key);
    let (stored, head) = enter(session, patience, head, key, &digest)?;
    let now = session.now(&head);
    let change = rule(Some(&stored.entry), now);
    if change.is_none() {
        return leave(session, patience, &head);
    }
    let token = token()?;
    let mut writes = Writes::new(&token);
    writes.add(&digest, Some(&stored), &change, now);
    let proof = Proof {
        digest,
        token: &token,
    };
    session.commit(writes.statements(), Some(proof), patience)?;
    Ok(())
}

/// Begins a transaction that holds a key's row. The head is one that was read before.
pub(super) fn enter(
    session: &mut Session,
    patience: Patience,
    head: &Head,
    key: &Key,
    digest: &KeyDigest,
) -> Result<(Stored, Head), Trouble> {
    let mut statements = Session::entering(patience, Some(head));
    statements.push(lock(&digests([digest])));
    statements.push(Statement::new(meta::HEAD));
    let answers = session.ask(&statements, patience)?;
    let [.., rows, head] = &answers[..] else {
        return Err(Trouble::Rival);
    };
    let head = Head::of(head, session)?;
    head.decides(session)?;
    head.commit_counts(session)?;
    // Deleted meanwhile: then it is looked at as one that was never there.
    let stored = one(rows, key)?.ok_or(Trouble::Rival)?;
    Ok((stored, head))
}

/// What the only row holds. A digest that stands for another key is damage.
fn one(answer: &Answer, key: &Key) -> Result<Option<Stored>, Trouble> {
    let Some(row) = answer.rows.first() else {
        return Ok(None);
    };
    let stored = row::stored(row)?;
    refuse_other_key(&stored, key)?;
    Ok(Some(stored))
}

/// See [`one`].
pub(super) fn refuse_other_key(stored: &Stored, key: &Key) -> Result<(), Trouble> {
    use crate::receipt::Entry;
    match &stored.entry {
        Entry::Whole(receipt) if receipt.key != *key => Err(Trouble::Impossible("key_digest")),
        Entry::Whole(_) | Entry::Pruned(_) => Ok(()),
    }
}

/// Whether all that is to be written is a conflict that is on record already.
fn is_known_conflict(
    session: &mut Session,
    patience: Patience,
    stored: &Stored,
    change: &Change,
) -> Result<bool, Trouble> {
    let [event] = &change.events[..] else {
        return Ok(false);
    };
    if change.entry.is_some() || event.kind != EventKind::Conflict {
        return Ok(false);
    }
    let asked = Statement::new(HAS_CONFLICT)
        .with(stored.id.to_string())
        .with_optional(event.detail.clone());
    let answers = session.look(&[asked], patience)?;
    let row = answers[0].rows.first();
    required(row.ok_or(Trouble::Impossible("known"))?, "known", flag)
}

/// A key's entry, and its history if asked for, from one view.
pub(super) fn read(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    with_history: bool,
) -> Result<Reading, Trouble> {
    if !with_history {
        let (stored, head) = look(session, patience, key, &KeyDigest::of(key))?;
        return Ok(Reading {
            entry: stored.map(|stored| stored.entry),
            now: session.now(&head),
            history: Vec::new(),
        });
    }
    let answers = session.look(&reading(key, true), patience)?;
    as_reading(session, key, &answers)
}

/// The same inside a transaction.
pub(super) fn read_inside(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    with_history: bool,
) -> Result<Reading, Trouble> {
    let answers = session.ask(&reading(key, with_history), patience)?;
    as_reading(session, key, &answers)
}

fn reading(key: &Key, with_history: bool) -> Vec<Statement<'static>> {
    let digest = KeyDigest::of(key);
    let mut statements = vec![find(&digests([&digest])), Statement::new(meta::HEAD)];
    if with_history {
        statements.push(Statement::new(HISTORY_OF_KEY).with(Value::bytes(&digest.0)));
    }
    statements
}

fn as_reading(session: &Session, key: &Key, answers: &[Answer]) -> Result<Reading, Trouble> {
    let stored = one(&answers[0], key)?;
    let head = Head::of(&answers[1], session)?;
    let rows = answers.get(2).map_or(&[][..], |answer| &answer.rows);
    Ok(Reading {
        entry: stored.map(|stored| stored.entry),
        now: session.now(&head),
        history: rows.iter().map(row::history).collect::<Result<_, _>>()?,
    })
}
