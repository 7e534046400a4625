//! The steps of a group. First all of them plainly; should one fail after it has begun to write, all of them again, each
//! to be undone alone. (SQLite saves every page that a savepoint's changes touch, which costs more than the changes.)

use rusqlite::Connection;

use super::Clock;
use super::error::Trouble;
use super::file::Place;
use super::receipts::{self, Stored};
use crate::receipt::Key;
use crate::store::Step;

/// Memory for pages while there is a group: keys come in any order, and so do the pages of their index.
const CACHE: &str = "PRAGMA cache_size = -36864";
/// How many pages of log, 375 MiB, are folded back at once: what many groups have written to one page is written once.
/// (After a kill the next call reads and folds such a log in less than half a second.)
const FOLD_PAGES_MAX: u64 = 96_000;
/// What SQLite does by itself, and steps of that, so that the number does not change with every group.
const FOLD_PAGES_MIN: u64 = 1_000;
/// The log may take one part of so many of the room that there is: folding it back takes room, too, and a log that cannot
/// grow any more is a ledger that takes nothing any more.
const ROOM_PARTS: u64 = 4;
/// What a page takes in the log, with its header.
const LOG_PAGE_BYTES: u64 = 4096 + 24;

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

/// Makes a connection ready for many changes. Returns at how many pages the log is folded back, which `before` was the
/// last time.
pub(super) fn expect_many(
    connection: &Connection,
    place: &Place,
    before: Option<u64>,
) -> rusqlite::Result<u64> {
    let pages = fold_pages(room_bytes(place));
    if before != Some(pages) {
        connection.execute_batch(&format!("{CACHE}; PRAGMA wal_autocheckpoint = {pages}"))?;
    }
    Ok(pages)
}

/// How many pages of log there may be where so many bytes are free.
fn fold_pages(room_bytes: u64) -> u64 {
    let pages = room_bytes / ROOM_PARTS / LOG_PAGE_BYTES;
    (pages - pages % FOLD_PAGES_MIN).clamp(FOLD_PAGES_MIN, FOLD_PAGES_MAX)
}

/// How far a file beside the ledger could grow: to the end of the disk, or to this process's limit.
fn room_bytes(place: &Place) -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    // What cannot be told is told by the write that fails.
    let free = rustix::fs::statvfs(&place.path)
        .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    limit.map_or(free, |limit| limit.min(free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_takes_a_part_of_the_room_there_is_in_whole_thousands_of_pages() {
        const MIB: u64 = 1024 * 1024;
        assert_eq!(fold_pages(0), 1_000);
        assert_eq!(fold_pages(16 * MIB), 1_000);
        assert_eq!(fold_pages(200 * MIB), 12_000);
        assert_eq!(fold_pages(2_000 * MIB), 96_000);
        assert_eq!(fold_pages(u64::MAX), 96_000);
    }
}
