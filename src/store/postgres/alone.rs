//! The steps of a group one at a time, each undone alone if it fails. Slow; for the group in which one does.

use super::commit::Proof;
use super::error::Trouble;
use super::meta::{self, Head};
use super::patience::Patience;
use super::receipts::{self, lock};
use super::row;
use super::session::{ALONE, Session, token};
use super::wire::Statement;
use super::writes::Writes;
use crate::error::Error;
use crate::receipt::{Key, KeyDigest};
use crate::store::{Rule, Step};

/// Takes the steps in one transaction, in which nobody else decides: keys are taken in the order of the steps, and
/// somebody who holds one that comes later might want one that came before.
pub(super) fn group(
    session: &mut Session,
    patience: Patience,
    steps: &mut [Step<'_>],
) -> Result<Vec<Result<(), Error>>, Trouble> {
    let mut statements = Session::beginning(patience, None);
    statements.push(Statement::new(ALONE));
    session.ask(&statements, patience)?;
    let token = token()?;
    let mut written = None;
    let mut done = Vec::with_capacity(steps.len());
    for step in steps {
        let taken = match step {
            Step::Update(key, rule) => {
                let taken = update(session, patience, key, rule, &token);
                if let Ok(true) = taken {
                    written = Some(KeyDigest::of(key));
                }
                taken.map(|_| ())
            }
            Step::Read(key, with_history, reading) => {
                read(session, patience, key, *with_history).map(|read| **reading = Some(read))
            }
        };
        match taken {
            Err(trouble @ (Trouble::Server(_) | Trouble::Impossible(_))) if !trouble.passes() => {
                let back = [Statement::new("ROLLBACK TO SAVEPOINT step")];
                session.ask(&back, patience)?;
                done.push(Err(trouble.told(
                    "write to",
                    session.name(),
                    session.busy_timeout(),
                )));
            }
            Err(trouble) => return Err(trouble),
            Ok(()) => done.push(Ok(())),
        }
    }
    let proof = written.map(|digest| Proof {
        digest,
        token: &token,
    });
    session.commit(Vec::new(), proof, patience)?;
    Ok(done)
}

/// One update behind a savepoint. Returns whether it wrote.
fn update(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    rule: &mut Rule<'_>,
    token: &str,
) -> Result<bool, Trouble> {
    let digest = KeyDigest::of(key);
    let answers = session.ask(
        &[
            Statement::new("SAVEPOINT step"),
            lock(&receipts::digests([&digest])),
            Statement::new(meta::HEAD),
        ],
        patience,
    )?;
    let head = Head::of(&answers[2], session)?;
    head.decides(session)?;
    head.commit_counts(session)?;
    let stored = answers[1].rows.first().map(row::stored).transpose()?;
    if let Some(stored) = &stored {
        receipts::refuse_other_key(stored, key)?;
    }
    let now = session.now(&head);
    let change = rule(stored.as_ref().map(|stored| &stored.entry), now);
    if change.is_none() {
        return Ok(false);
    }
    let mut writes = Writes::new(token);
    writes.add(&digest, stored.as_ref(), &change, now);
    let statements = writes.statements();
    if statements.is_empty() {
        return Ok(false);
    }
    let answers = session.ask(&statements, patience)?;
    if !writes.is_new(&answers[0])? {
        return Err(Trouble::Rival);
    }
    Ok(true)
}

fn read(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    with_history: bool,
) -> Result<crate::store::Reading, Trouble> {
    session.ask(&[Statement::new("SAVEPOINT step")], patience)?;
    receipts::read_inside(session, patience, key, with_history)
}
