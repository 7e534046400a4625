//! Somebody's SQL inside a transaction of the ledger's, kept away from the transaction itself and from its tables.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Batch, Connection, ErrorCode};

use crate::error::Error;

/// How the ledger's own tables, indexes and triggers are named.
const OWN_PREFIX: &str = "receipt_ledger_";

/// Watches over the statements of one `apply`. The hook stands for the whole transaction and looks only while the
/// statements run: the ledger's own are not its business.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard(Arc<Mutex<Watch>>);

#[derive(Debug, Default)]
struct Watch {
    on: bool,
    refused: Option<String>,
}

impl Guard {
    /// Stands at a connection, not looking yet.
    pub(super) fn stand_at(connection: &mut Connection) -> rusqlite::Result<Guard> {
        let guard = Guard::default();
        let hook = guard.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| hook.look_at(&context)))?;
        Ok(guard)
    }

    /// Leaves the connection.
    pub(super) fn leave(connection: &mut Connection) -> rusqlite::Result<()> {
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
    }

    /// Runs the statements and drops the rows they return. `Err` says what was refused, or why it failed.
    pub(super) fn run(&self, connection: &Connection, sql: &str) -> Result<(), String> {
        let looked = |error: rusqlite::Error| error.to_string();
        let before = own(connection).map_err(looked)?;
        self.watch().on = true;
        let done = statements(connection, sql);
        self.watch().on = false;
        let refused = self.watch().refused.take();
        match (done, refused) {
            (Err(_), Some(refused)) => Err(format!("{refused} is refused")),
            (Err(why), None) => Err(why),
            (Ok(0), _) => Err("there is no statement in it".to_owned()),
            (Ok(_), _) if connection.is_autocommit() => {
                Err("a statement ended the transaction".to_owned())
            }
            (Ok(_), _) => {
                let mut after = own(connection).map_err(looked)?.into_iter();
                match after.find(|object| !before.contains(object)) {
                    Some((name, _)) => Err(format!("the ledger's own {name} is refused")),
                    None => Ok(()),
                }
            }
        }
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, context: &AuthContext<'_>) -> Authorization {
        let mut watch = self.watch();
        match forbidden(&context.action) {
            Some(what) if watch.on => {
                watch.refused.get_or_insert(what);
                Authorization::Deny
            }
            Some(_) | None => Authorization::Allow,
        }
    }
}

/// Whatever bears a name of the ledger's, or speaks of one, with its definition. The hook does not see to which name a
/// table is renamed, nor what a view or a trigger speaks of before it is used.
fn own(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    const OWN: &str = "\
SELECT CASE WHEN instr(lower(name), ?1) = 1 THEN name ELSE ?1 || '… in ' || name END AS name, type || sql AS definition
FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
WHERE sql IS NOT NULL
  AND (instr(lower(name), ?1) = 1 OR instr(lower(tbl_name), ?1) = 1 OR (type IN ('view', 'trigger') AND instr(lower(sql), ?1)))";
    let mut statement = connection.prepare(OWN)?;
    let rows = statement.query_map([OWN_PREFIX], |row| {
        Ok((row.get("name")?, row.get("definition")?))
    })?;
    rows.collect()
}

/// Runs each statement to its end; returns how many there were.
fn statements(connection: &Connection, sql: &str) -> Result<usize, String> {
    if sql.contains('\0') {
        return Err("it holds a NUL byte".to_owned());
    }
    let mut count = 0;
    // SQLite copies a text that does not end in NUL, all that is left of it, for every statement.
    let terminated = format!("{sql}\0");
    let mut batch = Batch::new(connection, &terminated);
    loop {
        let nth = count + 1;
        let failed = |error: rusqlite::Error| format!("statement {nth} failed: {}", reason(&error));
        let Some(mut statement) = batch.next().map_err(failed)? else {
            return Ok(count);
        };
        let mut rows = statement.raw_query();
        while rows.next().map_err(failed)?.is_some() {}
        count += 1;
    }
}

/// SQLite's own words, without the statement itself: it may hold what must not be shown.
fn reason(error: &rusqlite::Error) -> String {
    if let rusqlite::Error::SqlInputError { msg, offset, .. } = error {
        return format!("{} (at byte {offset})", without_values(msg));
    }
    match error.sqlite_error_code() {
        // It names tables and columns, no values.
        Some(ErrorCode::ConstraintViolation) => error.to_string(),
        Some(_) | None => without_values(&error.to_string()).to_owned(),
    }
}

/// What SQLite's message says before it repeats a part of the statement.
fn without_values(message: &str) -> &str {
    if message.starts_with("near ") {
        return "syntax error";
    }
    message.split_once(": ").map_or(message, |(said, _)| said)
}

/// What an action is forbidden for. Actions that name a table, an index, a view or a trigger may not name the ledger's.
fn forbidden(action: &AuthAction<'_>) -> Option<String> {
    use AuthAction::*;
    let own = |name: &str| {
        let lower = name.to_ascii_lowercase();
        // An index that SQLite makes is named after its table.
        let named_after = lower.strip_prefix("sqlite_autoindex_").unwrap_or(&lower);
        named_after
            .starts_with(OWN_PREFIX)
            .then(|| format!("the ledger's own {name}"))
    };
    match *action {
        Transaction { .. } | Savepoint { .. } => Some("transaction control".to_owned()),
        Attach { .. } => Some("ATTACH".to_owned()),
        Detach { .. } => Some("DETACH".to_owned()),
        Pragma { .. } => Some("PRAGMA".to_owned()),
        CreateIndex {
            index_name: a,
            table_name: b,
        }
        | CreateTempIndex {
            index_name: a,
            table_name: b,
        }
        | DropIndex {
            index_name: a,
            table_name: b,
        }
        | DropTempIndex {
            index_name: a,
            table_name: b,
        }
        | CreateTrigger {
            trigger_name: a,
            table_name: b,
        }
        | CreateTempTrigger {
            trigger_name: a,
            table_name: b,
        }
        | DropTrigger {
            trigger_name: a,
            table_name: b,
        }
        | DropTempTrigger {
            trigger_name: a,
            table_name: b,
        } => own(a).or_else(|| own(b)),
        CreateTable { table_name: a }
        | CreateTempTable { table_name: a }
        | CreateTempView { view_name: a }
        | CreateView { view_name: a }
        | Delete { table_name: a }
        | DropTable { table_name: a }
        | DropTempTable { table_name: a }
        | DropTempView { view_name: a }
        | DropView { view_name: a }
        | Insert { table_name: a }
        | Read { table_name: a, .. }
        | Update { table_name: a, .. }
        | AlterTable { table_name: a, .. }
        | Reindex { index_name: a }
        | Analyze { table_name: a }
        | CreateVtable { table_name: a, .. }
        | DropVtable { table_name: a, .. } => own(a),
        Select | Function { .. } | Recursive => None,
        Unknown { .. } | _ => Some("an action that this program does not know".to_owned()),
    }
}

/// A constraint that waited for the commit belongs to the statements, not to the ledger.
pub(super) fn told(error: Error, ledger: &str) -> Error {
    if let Error::Corrupt { found, .. } = &error
        && found.contains("constraint failed")
    {
        return Error::Sql {
            ledger: ledger.to_owned(),
            why: found.clone(),
        };
    }
    error
}
