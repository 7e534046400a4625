//! Somebody's SQL inside a transaction of the ledger's. The server itself keeps it from ending the transaction: it runs
//! inside a function. What it may touch is a matter of roles.

use super::commit::Proof;
use super::error::{Trouble, words};
use super::patience::Patience;
use super::receipts::{self, find};
use super::row::required;
use super::session::{Session, token};
use super::wire::{ServerError, Statement};
use super::writes::Writes;
use crate::error::Error;
use crate::receipt::{Key, KeyDigest};
use crate::store::Rule;

/// The statements may take as long as they like; only locks are not waited for for ever.
const NO_LIMIT: &str = "SET LOCAL statement_timeout = 0";
const PERFORM: &str = "SELECT receipt_ledger.perform($1)";
/// A constraint that waits for the commit belongs to the statements, not to the ledger.
const CHECK: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// As [`receipts::update`], with the statements in the same transaction, unless the rule changes nothing. The key is held
/// before they run.
pub(super) fn apply(
    session: &mut Session,
    patience: Patience,
    key: &Key,
    rule: &mut Rule<'_>,
    sql: &str,
) -> Result<(), Trouble> {
    let digest = KeyDigest::of(key);
    let array = receipts::digests([&digest]);
    let (mut stored, head) = receipts::look(session, patience, key, &digest)?;
    head.decides(session)?;
    let mut now = session.now(&head);
    let mut change = rule(stored.as_ref().map(|stored| &stored.entry), now);
    if change.entry.is_none() {
        return receipts::update(session, patience, key, rule);
    }
    if sql.contains('\0') {
        return Err(refused(session, "it holds a NUL byte".to_owned()));
    }
    if is_empty(sql) {
        return Err(refused(session, "there is no statement in it".to_owned()));
    }
    if stored.is_some() {
        let (locked, head) = receipts::enter(session, patience, &head, key, &digest)?;
        now = session.now(&head);
        change = rule(Some(&locked.entry), now);
        if change.entry.is_none() {
            session.roll_back(patience);
            return receipts::update(session, patience, key, rule);
        }
        stored = Some(locked);
    } else {
        session.ask(&Session::entering(patience, Some(&head)), patience)?;
    }
    let token = token()?;
    let mut writes = Writes::new(&token);
    writes.add(&digest, stored.as_ref(), &change, now);
    let answers = session.ask(&writes.statements(), patience)?;
    if !writes.is_new(&answers[0])? {
        return Err(Trouble::Rival);
    }
    perform(session, sql)?;
    let proof = Proof {
        digest,
        token: &token,
    };
    let answers = session.ask(&[find(&array)], patience)?;
    let ours = match answers[0].rows.first() {
        Some(row) => required(row, "token", |found| Some(found == token))?,
        None => false,
    };
    if !ours {
        return Err(refused(
            session,
            "the ledger's own tables are refused".to_owned(),
        ));
    }
    session.commit(Session::promises(Some(&head)).into(), Some(proof), patience)?;
    Ok(())
}

/// Runs the statements, and drops what they return.
fn perform(session: &mut Session, sql: &str) -> Result<(), Trouble> {
    let statements = [
        Statement::new(NO_LIMIT),
        Statement::new(PERFORM).with(sql),
        Statement::new(CHECK),
    ];
    match session.ask_without_limit(&statements) {
        Ok(_) => Ok(()),
        Err(Trouble::Server(error)) => {
            let whole = Trouble::Server(error.clone());
            // A lock is a lock and a lost race a lost race, whosever statement met it.
            if whole.passes() || error.code == "55P03" {
                return Err(whole);
            }
            Err(refused(session, why(&error)))
        }
        Err(trouble) => Err(trouble),
    }
}

fn why(error: &ServerError) -> String {
    let controls = error.code == "2D000" || error.message.contains("transaction commands");
    if controls {
        "transaction control is refused".to_owned()
    } else {
        words(error)
    }
}

fn refused(session: &Session, why: String) -> Trouble {
    Trouble::Ledger(Error::Sql {
        ledger: session.name().to_owned(),
        why,
    })
}

/// Whether there is nothing but white space, semicolons and comments.
fn is_empty(sql: &str) -> bool {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = behind_comment(comment);
        } else {
            return rest.is_empty();
        }
    }
}

/// What comes behind a comment, which may hold others.
fn behind_comment(comment: &str) -> &str {
    let (mut rest, mut depth) = (comment, 1);
    while depth > 0 {
        let (open, close) = (rest.find("/*"), rest.find("*/"));
        let Some(close) = close else { return "" };
        let at = match open {
            Some(open) if open < close => {
                depth += 1;
                open
            }
            Some(_) | None => {
                depth -= 1;
                close
            }
        };
        rest = &rest[at + 2..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::is_empty;

    #[test]
    fn comments_and_semicolons_are_no_statement() {
        for sql in [
            "",
            " \n;;",
            "-- SELECT 1",
            "-- a\n/* b /* c */ d */ ; ",
            "/* open",
        ] {
            assert!(is_empty(sql), "{sql}");
        }
        for sql in [
            "SELECT 1",
            "-- a\nSELECT 1",
            "/* a */ SELECT 1",
            "/ 2",
            "- 1",
        ] {
            assert!(!is_empty(sql), "{sql}");
        }
    }
}
