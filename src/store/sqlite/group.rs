//! The steps of a group. First all of them plainly; should one fail after it has begun to write, all of them again, each
//! to be undone alone. (SQLite saves every page that a savepoint's changes touch, which costs more than the changes.)

use rusqlite::Connection;

use super::Clock;
use super::error::Trouble;
use super::receipts::{self, Stored};
use crate::receipt::Key;
use crate::store::Step;

/// Memory for pages while there is a group: keys come in any order, and so do the pages of their index.
const CACHE: &str = "PRAGMA cache_size = -36864";
/// How many pages of log, 375 MiB, are folded back at once: what many groups have written to one page is written once.
/// (After a kill the next call reads and folds such a log in less than half a second.)
const CHECKPOINT: &str = "PRAGMA wal_autocheckpoint = 96000";

/// What a step came to: its own trouble is its own. The outer error ends the group.
pub(super) type Taken = Result<Result<(), Trouble>, Trouble>;

/// Takes the steps of one group.
pub(super) struct Group<'a> {
    connection: &'a Connection,
    clock: &'a dyn Clock,
    has_pruned: bool,
    care: Care,
}

/// What is done about a step that fails after it has begun to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// It ends the group, which then has to be taken again.
    None,
    /// It is undone alone.
    Savepoints,
}

impl<'a> Group<'a> {
    pub(super) fn begin(
        connection: &'a Connection,
        clock: &'a dyn Clock,
        care: Care,
    ) -> Result<Group<'a>, Trouble> {
        Ok(Group {
            connection,
            clock,
            has_pruned: receipts::has_pruned(connection)?,
            care,
        })
    }

    /// Takes a step.
    pub(super) fn take(&self, step: &mut Step<'_>) -> Taken {
        let (connection, clock) = (self.connection, self.clock);
        let key = match step {
            Step::Read(key, ..) | Step::Update(key, _) => *key,
        };
        let stored = match self.find(key) {
            Ok(stored) => stored,
            Err(trouble) => return Ok(Err(trouble)),
        };
        match step {
            Step::Read(_, with_history, reading) => {
                let read = receipts::reading(connection, stored, *with_history, clock);
                Ok(read.map(|read| **reading = Some(read)))
            }
            Step::Update(_, rule) => {
                let now = clock.now();
                let change = rule(stored.as_ref().map(|stored| &stored.entry), now);
                if change.is_none() {
                    return Ok(Ok(()));
                }
                self.kept(|| receipts::keep(connection, key, stored.as_ref(), &change, now))
            }
        }
    }

    fn find(&self, key: &Key) -> Result<Option<Stored>, Trouble> {
        if self.has_pruned {
            receipts::find(self.connection, key)
        } else {
            receipts::find_whole(self.connection, key)
        }
    }

    fn kept(&self, keep: impl FnOnce() -> Result<(), Trouble>) -> Taken {
        if self.care == Care::None {
            return keep().map(Ok);
        }
        let run = |sql| self.connection.prepare_cached(sql)?.execute([]);
        run("SAVEPOINT receipt_ledger_step")?;
        let kept = keep();
        if kept.is_err() {
            if self.connection.is_autocommit() {
                return kept.map(Ok);
            }
            run("ROLLBACK TO receipt_ledger_step")?;
        }
        run("RELEASE receipt_ledger_step")?;
        Ok(kept)
    }
}

/// Makes a connection ready for many changes.
pub(super) fn expect_many(connection: &Connection) -> rusqlite::Result<()> {
    for pragma in [CACHE, CHECKPOINT] {
        let mut statement = connection.prepare_cached(pragma)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}
