//! Copies of a ledger's file: taken while others write, and put back in its place.

use std::fs::{self, File, OpenOptions as FileOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, ffi};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::create::VERSIONS_AT;
use super::error::Trouble;
use super::file::{self, Found, Place, io_error, keep, shown};
use super::{SqliteStore, View, connect, meta};
use crate::error::Error;
use crate::store::Standing;

/// Bits of a file's mode that say who may read and write.
const MODE_BITS: u32 = 0o777;
/// Mode of the empty file that stands in a ledger's place for a moment.
const EMPTY_MODE: u32 = 0o600;

impl SqliteStore {
    /// Writes a consistent copy to a path that is free, while others write. The copy does not decide until somebody
    /// accepts that what was decided since is not in it.
    ///
    /// # Errors
    /// [`Error`]; nothing is then under the path.
    pub fn backup(&mut self, to: &Path) -> Result<(), Error> {
        let to = std::path::absolute(to).map_err(|error| io_error("find", to, error))?;
        if fs::symlink_metadata(&to).is_ok() {
            return Err(exists(&to));
        }
        let folder = folder_of(&to);
        let mode = fs::metadata(&self.place.path)
            .map_err(|error| io_error("look at", &self.place.path, error))?
            .permissions()
            .mode();
        let draft = draft_in(folder).map_err(|error| io_error("create", &to, error))?;
        let told = |trouble: Trouble| trouble.told("copy", &self.place.shown(), self.busy_timeout);
        copy(&self.connection, &self.place, &draft).map_err(told)?;
        if self.view != View::Shared && View::still(&self.place).as_ref() != Some(&self.view) {
            let source = "it was changed while it was read without locks".into();
            return Err(Error::Io {
                action: "copy",
                ledger: self.place.shown(),
                source,
            });
        }
        finish(draft.as_file(), mode).map_err(|error| io_error("write", &to, error))?;
        match renameat_with(CWD, draft.path(), CWD, &to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(exists(&to)),
            Err(error) => return Err(io_error("create", &to, error.into())),
        }
        settle(draft, folder).map_err(|error| io_error("write", &to, error))
    }

    /// Puts a copy in a ledger's place, which may be missing or damaged. Nobody may be using it. The copy is kept, and
    /// what is put in place does not decide until the gap is accepted.
    ///
    /// # Errors
    /// [`Error`]; the ledger is then as it was.
    pub fn restore(from: &Path, to: &Path, busy_timeout: Duration) -> Result<(), Error> {
        let source = file::look(from)?;
        if let Found::Nothing = source.found {
            return Err(Error::NoLedger {
                ledger: source.shown(),
            });
        }
        let target = file::look_to_replace(to)?;
        if same_file(&source.path, &target) {
            return Err(Error::RefusedFile {
                ledger: shown(&target),
                found: "the copy and the ledger are the same file",
                hint: "name another copy",
            });
        }
        connect::refuse_foreign(&source, busy_timeout)?;
        let told = |trouble: Trouble| trouble.told("read", &source.shown(), busy_timeout);
        let (connection, _) =
            connect::to_read(&source, OpenFlags::SQLITE_OPEN_READ_ONLY, busy_timeout)
                .map_err(told)?;
        meta::refuse_newer(&connection, &source).map_err(told)?;
        let folder = folder_of(&target);
        let facts = fs::metadata(&target).or_else(|_| fs::metadata(&source.path));
        let facts = facts.map_err(|error| io_error("look at", &source.path, error))?;
        let draft = draft_in(folder).map_err(|error| io_error("create", &target, error))?;
        copy(&connection, &source, &draft).map_err(told)?;
        refuse_unsound(draft.path(), &source).map_err(told)?;
        // Whoever restores may not be who decides. Only root can do this, and only root needs to.
        let _ = fchown(draft.as_file(), Some(facts.uid()), Some(facts.gid()));
        finish(draft.as_file(), facts.mode()).map_err(|error| io_error("write", &target, error))?;
        replace(draft, &target, busy_timeout)
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (_, _) => false,
    }
}

fn exists(path: &Path) -> Error {
    Error::RefusedFile {
        ledger: shown(path),
        found: "there is something under that name already",
        hint: "name a file that does not exist",
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// For its owner alone until it is finished.
fn draft_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".receipt-ledger-")
        .suffix(".draft")
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}

/// Copies everything under one view and marks the copy.
fn copy(from: &Connection, place: &Place, to: &tempfile::NamedTempFile) -> Result<(), Trouble> {
    let view = from.unchecked_transaction()?;
    view.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let is_whole = copy_file(place, to.as_file())
        .map_err(|error| Trouble::Ledger(io_error("copy", &place.path, error)))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut draft = Connection::open_with_flags(to.path(), flags)?;
    // Nobody knows the draft yet, and it is synced whole at the end.
    draft.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;")?;
    if !is_whole {
        copy_pages(from, &mut draft)?;
    }
    drop(view);
    draft.pragma_update(None, "journal_mode", "memory")?;
    if meta::standing(&draft)? == Standing::InUse {
        meta::stand(&draft, Standing::Copy)?;
    }
    draft.close().map_err(|(_, error)| Trouble::Sqlite(error))
}

/// Copies the file as it lies there, where it holds the whole view by itself; the kernel does that several times as fast
/// as pages are read and written one by one. Returns whether it did.
///
/// A view that was taken while the log was empty is read from the file alone, and as long as it is held nobody folds a
/// log back into the file: who decides meanwhile writes into the log.
fn copy_file(place: &Place, to: &File) -> io::Result<bool> {
    if View::still(place).is_none() {
        return Ok(false);
    }
    let before = fs::metadata(&place.path)?;
    let mut from = File::open(&place.path)?;
    let mut draft = to;
    io::copy(&mut from, &mut draft)?;
    // Closing it would drop the locks under which the view is held.
    keep(from)?;
    let after = fs::metadata(&place.path)?;
    let is_whole = (before.len(), before.modified()?) == (after.len(), after.modified()?);
    if is_whole {
        // Not with a log of its own yet: see `finish`.
        to.write_all_at(&[1; VERSIONS_AT.end - VERSIONS_AT.start], 18)?;
    } else {
        to.set_len(0)?;
    }
    Ok(is_whole)
}

fn copy_pages(from: &Connection, to: &mut Connection) -> Result<(), Trouble> {
    let backup = Backup::new(from, to)?;
    if backup.step(-1)? == StepResult::Done {
        return Ok(());
    }
    // The connection has waited for others' locks already, as long as it was told to.
    let busy = ffi::Error::new(ffi::SQLITE_BUSY);
    Err(rusqlite::Error::SqliteFailure(busy, None).into())
}

/// What was carried here may have suffered on its way: a sound ledger is not replaced by it.
fn refuse_unsound(draft: &Path, source: &Place) -> Result<(), Trouble> {
    let connection = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "PRAGMA integrity_check(1)";
    let found: String = connection.query_row(sql, [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    let ledger = source.shown();
    Err(Trouble::Ledger(Error::Corrupt { ledger, found }))
}

/// The copy has a log of its own from its first use on.
fn finish(draft: &File, mode: u32) -> io::Result<()> {
    draft.write_all_at(&[2; VERSIONS_AT.end - VERSIONS_AT.start], 18)?;
    draft.set_permissions(Permissions::from_mode(mode & MODE_BITS))?;
    draft.sync_all()
}

fn settle(draft: tempfile::NamedTempFile, folder: &Path) -> io::Result<()> {
    let (file, mut path) = draft.into_parts();
    // The draft's name is gone with the rename; there is nothing left to remove.
    path.disable_cleanup(true);
    keep(file)?;
    File::open(folder)?.sync_all()
}

/// Puts the draft under the name while nobody uses what is there.
fn replace(
    draft: tempfile::NamedTempFile,
    target: &Path,
    busy_timeout: Duration,
) -> Result<(), Error> {
    let failed = |error| io_error("replace", target, error);
    let old = FileOptions::new().write(true).open(target).ok();
    let held = hold_alone(target, busy_timeout)?;
    if held.is_none() && has_log(target) {
        leave_nothing_that_decides(target).map_err(failed)?;
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
    }
    let folder = folder_of(target);
    // An old log that a power cut brought back would be replayed into the new file.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    fs::rename(draft.path(), target).map_err(failed)?;
    // Whoever waited for the old file's locks finds nothing in it, rather than writing into the new one's log.
    if let Some(old) = old {
        old.set_len(0).map_err(failed)?;
        keep(old).map_err(failed)?;
    }
    settle(draft, folder).map_err(failed)?;
    drop(held);
    Ok(())
}

/// Whether what was decided last may lie beside the file.
fn has_log(target: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|ending| {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        fs::metadata(&name).is_ok_and(|facts| facts.len() > 0)
    })
}

/// Without its log a ledger has forgotten, and a missing one is created afresh: a crash between the two steps must leave
/// neither. An empty file is refused by everybody.
fn leave_nothing_that_decides(target: &Path) -> io::Result<()> {
    let mut options = FileOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let file = options.mode(EMPTY_MODE).open(target)?;
    file.sync_all()?;
    keep(file)?;
    File::open(folder_of(target))?.sync_all()
}

/// Locks out everybody else from a file that SQLite can still open, and folds its log back: the file is then whole by
/// itself, whatever happens next.
fn hold_alone(target: &Path, busy_timeout: Duration) -> Result<Option<Connection>, Error> {
    let place = match file::look(target) {
        Ok(
            place @ Place {
                found: Found::Own | Found::Foreign,
                ..
            },
        ) => place,
        Ok(_) | Err(_) => return Ok(None),
    };
    let told = |trouble: Trouble| trouble.told("replace", &place.shown(), busy_timeout);
    let connection = connect::to_write(&place, busy_timeout).map_err(told)?;
    // In this mode the lock stays when the transaction ends.
    let alone = connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;",
        )
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    match alone.map_err(Trouble::Sqlite) {
        Ok(()) if has_log(target) => Ok(None),
        Ok(()) => Ok(Some(connection)),
        Err(Trouble::Sqlite(error)) if super::error::is_busy(&error) => Err(told(error.into())),
        // What cannot be read cannot be decided in, either.
        Err(_) => Ok(None),
    }
}
