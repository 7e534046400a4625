//! Creating a ledger in a database: no ledger or a whole one, and never over a rival's.

use super::error::Trouble;
use super::meta::{FSYNC_OFF, HEAD, Head, refuse};
use super::patience::Patience;
use super::row::{flag, required};
use super::schema;
use super::session::Session;
use super::wire::Statement;

const THERE: &str = "\
SELECT to_regnamespace('receipt_ledger') IS NOT NULL AS has_schema, \
       to_regclass('receipt_ledger.meta') IS NOT NULL AS has_ledger, \
       current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync";

/// What a rival's schema or table of the same name is refused with.
const RIVALS: [&str; 4] = ["42P06", "42P07", "42710", "23505"];

/// Puts a ledger into the database, unless there is one. Returns whether it did. Of several at once, the catalog lets one
/// create the first table; the others wait for it and find a ledger.
pub(super) fn create(session: &mut Session, patience: Patience) -> Result<bool, Trouble> {
    let Some(script) = script(session, patience)? else {
        let answers = session.ask(&[Statement::new(HEAD)], patience)?;
        Head::of(&answers[0], session)?;
        return Ok(false);
    };
    session.ask(&Session::beginning(patience, None), patience)?;
    run(session, &script, patience)?;
    session.commit(Vec::new(), None, patience)?;
    Ok(true)
}

/// What creates a ledger here, where there is none.
pub(super) fn script(session: &mut Session, patience: Patience) -> Result<Option<String>, Trouble> {
    let answers = session.ask(&[Statement::new(THERE)], patience)?;
    let row = answers[0].rows.first();
    let row = row.ok_or(Trouble::Impossible("has_ledger"))?;
    if required(row, "has_ledger", flag)? {
        return Ok(None);
    }
    let is = |wanted: &'static str| move |text: &str| Some(text == wanted);
    if !required(row, "encoding", is("UTF8"))? {
        let why = "the database's encoding is not UTF8, in which a ledger's texts are kept";
        return Err(refuse(session, why.to_owned()));
    }
    if !required(row, "fsync", is("on"))? {
        return Err(refuse(session, FSYNC_OFF.to_owned()));
    }
    let mut script = String::new();
    if !required(row, "has_schema", flag)? {
        script.push_str(schema::CREATE_SCHEMA);
    }
    script.push_str(&schema::tables_sql());
    Ok(Some(script))
}

/// Runs what creates a ledger inside the transaction that was begun.
pub(super) fn run(session: &mut Session, script: &str, patience: Patience) -> Result<(), Trouble> {
    match session.script(script, patience) {
        Err(Trouble::Server(error)) if RIVALS.contains(&&*error.code) => Err(Trouble::Rival),
        done => done,
    }
}
