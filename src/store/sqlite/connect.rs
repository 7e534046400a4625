//! Connections: how long they wait, what they promise, how they end.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, MAIN_DB, OpenFlags};

use super::error::{Trouble, is_busy};
use super::file::{Found, Place};
use crate::error::Error;

/// How often a reader without locks looks again at a file that changed under it.
pub(super) const STILL_TRIES_MAX: u32 = 20;
/// Shortest and longest of the first pauses of a caller that waits for a lock, in microseconds. Short, because a decision
/// holds the lock for a few hundred microseconds; drawn at random, so that callers that arrived together do not stay in
/// step.
const PAUSE_US: std::ops::Range<u64> = 300..3_000;
/// The same for whoever has waited for [`SHORT_PAUSES`] already: there is a crowd, and each look at the lock takes time
/// from who holds it.
const CROWD_PAUSE_US: std::ops::Range<u64> = 3_000..15_000;
/// How many pauses are short.
const SHORT_PAUSES: i32 = 2;

/// FULL: every commit is synced before it returns. The limit, here half a gibibyte, has the log cut to nothing by the last
/// connection that closes; while there are others a log of that size at most is written over from its start, which
/// costs the file system less than growing it again.
macro_rules! promises {
    () => {
        "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 536870912;"
    };
}
#[cfg(not(target_vendor = "apple"))]
const PROMISES: &str = promises!();
/// The same, and a sync that reaches the platter: F_FULLFSYNC, which no other platform has.
#[cfg(target_vendor = "apple")]
const PROMISES: &str = concat!(
    promises!(),
    " PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;"
);

/// Opens for deciding. Nothing in the file is changed yet, not even by closing again.
pub(super) fn to_write(place: &Place, busy_timeout: Duration) -> Result<Connection, Trouble> {
    Ok(connect(
        &place.path,
        OpenFlags::SQLITE_OPEN_READ_WRITE,
        busy_timeout,
    )?)
}

/// Opens for reading, with these rights where they can be had. Leaves nothing behind that the ledger's owner could not
/// write.
pub(super) fn to_read(
    place: &Place,
    rights: OpenFlags,
    busy_timeout: Duration,
) -> Result<(Connection, View), Trouble> {
    let me = rustix::process::geteuid();
    let has_sidecars = place.beside("-wal").exists() && place.beside("-shm").exists();
    // Where nothing is to be written, nothing needs to be left either, if the file is whole by itself.
    let writes_nothing = rights == OpenFlags::SQLITE_OPEN_READ_ONLY && View::still(place).is_some();
    let may_leave_sidecars = !writes_nothing && (me.is_root() || me.as_raw() == place.owner);
    if has_sidecars || may_leave_sidecars {
        let shared = connect(&place.path, rights, busy_timeout)
            .map_err(Trouble::Sqlite)
            .and_then(|connection| probe(&connection).map(|()| connection));
        match shared {
            Ok(connection) => return Ok((connection, View::Shared)),
            Err(trouble) => {
                // A folder where nothing can be created: the file alone may still be whole.
                if !is_cannot_open(&trouble) || View::still(place).is_none() {
                    return Err(trouble);
                }
            }
        }
    }
    let Some(still) = View::still(place) else {
        return Err(Trouble::Ledger(Error::Io {
            action: "read",
            ledger: place.shown(),
            source: "its write-ahead log has content that cannot be read from here".into(),
        }));
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = connect(&immutable_uri(&place.path), flags, busy_timeout)?;
    Ok((connection, still))
}

/// How a reader sees the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    /// Under SQLite's locks.
    Shared,
    /// Without locks, true only while the file stays as it was: its size and time of change, in nanoseconds.
    Still(u64, i128),
}

impl View {
    /// The file at rest, if it holds everything by itself: then its log is missing or empty.
    pub(super) fn still(place: &Place) -> Option<View> {
        use std::os::unix::fs::MetadataExt;
        for ending in ["-wal", "-journal"] {
            if fs::metadata(place.beside(ending)).is_ok_and(|facts| facts.len() > 0) {
                return None;
            }
        }
        let facts = fs::metadata(&place.path).ok()?;
        let changed_ns = i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec());
        Some(View::Still(facts.len(), changed_ns))
    }
}

/// Makes a connection that is known to hold a ledger ready to decide: the promises are set, and read back where SQLite
/// may answer otherwise.
pub(super) fn promise(connection: &Connection, busy_timeout: Duration) -> Result<(), Trouble> {
    whole_at_rest(connection)?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let journal_mode = switch_to_wal(connection, busy_timeout)?;
    if synchronous != 2 || journal_mode != "wal" {
        return Err(Trouble::Ledger(Error::Io {
            action: "open",
            ledger: connection.path().unwrap_or_default().to_owned(),
            source: format!("SQLite keeps journal_mode={journal_mode}, synchronous={synchronous}")
                .into(),
        }));
    }
    Ok(())
}

/// Makes a connection that is known to hold a ledger, and may write it, leave a whole file behind. A reader has to do
/// that too: it may be the last to leave.
pub(super) fn whole_at_rest(connection: &Connection) -> Result<(), Trouble> {
    // With the last connection the log is folded back and cut to nothing, so that the file alone is whole at rest; the
    // log's name stays, which spares every call two changes of the folder.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut 1))?;
    // What is in the schema of somebody else's database is not trusted with functions.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch(PROMISES)?;
    Ok(())
}

/// The switch to the write-ahead log fails at once while others hold the file; SQLite's own waiting does not cover it.
fn switch_to_wal(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<String> {
    let mut patience = patience(busy_timeout);
    let mut count = 0;
    loop {
        let mode =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        match mode {
            Err(error) if is_busy(&error) && patience(count) => count += 1,
            mode => return mode,
        }
    }
}

/// Has the connection wait for others' locks for this long.
pub(super) fn wait_up_to(
    connection: &mut Connection,
    busy_timeout: Duration,
) -> rusqlite::Result<()> {
    connection.busy_handler(Some(patience(busy_timeout)))
}

/// Waits for a lock: short pauses, until the timeout is over. The argument counts the pauses for one lock from 0.
fn patience(busy_timeout: Duration) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut began = Instant::now();
    move |count| {
        if count == 0 {
            began = Instant::now();
        }
        let left = busy_timeout.saturating_sub(began.elapsed());
        if left.is_zero() {
            return false;
        }
        let pause_us = if count < SHORT_PAUSES {
            PAUSE_US
        } else {
            CROWD_PAUSE_US
        };
        std::thread::sleep(Duration::from_micros(fastrand::u64(pause_us)).min(left));
        true
    }
}

fn connect(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    // Each connection stays in one thread at a time, which the borrow checker sees to; SQLite need not.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(path, flags)?;
    wait_up_to(&mut connection, busy_timeout)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Reads something, so that locks, log and shared memory are really opened.
fn probe(connection: &Connection) -> Result<(), Trouble> {
    connection.query_row("SELECT count(*) FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?;
    Ok(())
}

fn is_cannot_open(trouble: &Trouble) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    match trouble {
        Trouble::Sqlite(error) => matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly)),
        Trouble::Impossible(_) | Trouble::Ledger(_) => false,
    }
}

/// A URI that names exactly this file, to be read as if nobody could change it.
fn immutable_uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}

/// Another application's database is a ledger only if it was told to be: it is looked at without changing a byte.
pub(super) fn refuse_foreign(place: &Place, busy_timeout: Duration) -> Result<(), Error> {
    match place.found {
        Found::Own | Found::Nothing => return Ok(()),
        Found::Foreign => {}
    }
    let told = |trouble: Trouble| trouble.told("look into", &place.shown(), busy_timeout);
    let look = || -> Result<(bool, bool), Trouble> {
        let (connection, view) = to_read(place, OpenFlags::SQLITE_OPEN_READ_ONLY, busy_timeout)?;
        let holds = holds_ledger(&connection);
        let stayed = view == View::Shared || View::still(place) == Some(view);
        Ok((stayed, if stayed { holds? } else { false }))
    };
    let mut holds = false;
    for _ in 0..STILL_TRIES_MAX {
        let stayed;
        (stayed, holds) = look().map_err(told)?;
        if stayed {
            break;
        }
    }
    if holds {
        return Ok(());
    }
    Err(Error::NotALedger {
        ledger: place.shown(),
        found: "it is another application's database",
        hint: "name the ledger's own file, or put a ledger into this database with 'receipt-ledger init'",
    })
}

/// Whether the ledger's tables are there.
pub(super) fn holds_ledger(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'receipt_ledger_meta')";
    connection.query_row(sql, [], |row| row.get(0))
}
