//! Copies of a ledger's file: taken while others write, and put back in its place.

use std::fs::{self, File, OpenOptions as FileOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::create::VERSIONS_AT;
use super::error::Trouble;
use super::file::{self, Found, Place, io_error, keep, shown};
use super::{SqliteStore, View, connect, meta};
use crate::error::Error;
use crate::store::Standing;

/// Bits of a file's mode that say who may read and write.
const MODE_BITS: u32 = 0o777;

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
        let draft = draft_in(folder, mode).map_err(|error| io_error("create", &to, error))?;
        let told = |trouble: Trouble| trouble.told("copy", &self.place.shown(), self.busy_timeout);
        copy(&self.connection, draft.path()).map_err(told)?;
        if self.view != View::Shared && View::still(&self.place).as_ref() != Some(&self.view) {
            let source = "it was changed while it was read without locks".into();
            return Err(Error::Io {
                action: "copy",
                ledger: self.place.shown(),
                source,
            });
        }
        finish(draft.as_file()).map_err(|error| io_error("write", &to, error))?;
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
        let target = target(to)?;
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
        let mode = fs::metadata(&target).or_else(|_| fs::metadata(&source.path));
        let mode = mode.map_err(|error| io_error("look at", &source.path, error))?;
        let draft = draft_in(folder, mode.permissions().mode())
            .map_err(|error| io_error("create", &target, error))?;
        copy(&connection, draft.path()).map_err(told)?;
        finish(draft.as_file()).map_err(|error| io_error("write", &target, error))?;
        replace(draft, &target, busy_timeout)
    }
}

/// The path to be restored, links resolved; what lies there must be a ledger, or what may be left of one.
fn target(to: &Path) -> Result<std::path::PathBuf, Error> {
    match file::look(to) {
        Ok(place) => {
            connect::refuse_foreign(&place, Duration::ZERO).or_else(damaged_is_fine)?;
            Ok(place.path)
        }
        Err(Error::RefusedFile { .. } | Error::Corrupt { .. }) => {
            let absolute = std::path::absolute(to).map_err(|error| io_error("find", to, error))?;
            Ok(fs::canonicalize(&absolute).unwrap_or(absolute))
        }
        Err(error) => Err(error),
    }
}

fn damaged_is_fine(error: Error) -> Result<(), Error> {
    if matches!(error, Error::Corrupt { .. } | Error::Io { .. }) {
        Ok(())
    } else {
        Err(error)
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
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

fn draft_in(folder: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let draft = tempfile::Builder::new()
        .prefix(".receipt-ledger-")
        .suffix(".draft")
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    draft
        .as_file()
        .set_permissions(Permissions::from_mode(mode & MODE_BITS))?;
    Ok(draft)
}

/// Copies all pages under one view and marks the copy.
fn copy(from: &Connection, to: &Path) -> Result<(), Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut draft = Connection::open_with_flags(to, flags)?;
    // Nobody knows the draft yet, and it is synced whole at the end.
    draft.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;")?;
    let backup = Backup::new(from, &mut draft)?;
    while backup.step(-1)? != StepResult::Done {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(backup);
    draft.pragma_update(None, "journal_mode", "memory")?;
    if meta::standing(&draft)? == Standing::InUse {
        meta::stand(&draft, Standing::Copy)?;
    }
    draft.close().map_err(|(_, error)| Trouble::Sqlite(error))
}

/// The copy has a log of its own from its first use on.
fn finish(draft: &File) -> io::Result<()> {
    draft.write_all_at(&[2; VERSIONS_AT.end - VERSIONS_AT.start], 18)?;
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
    for ending in ["-wal", "-shm", "-journal"] {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
    }
    let folder = folder_of(target);
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

/// Locks out everybody else from a file that SQLite can still open.
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
    let alone = connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;");
    match alone.map_err(Trouble::Sqlite) {
        Ok(()) => Ok(Some(connection)),
        Err(Trouble::Sqlite(error)) if super::error::is_busy(&error) => Err(told(error.into())),
        // What cannot be read cannot be decided in, either.
        Err(_) => Ok(None),
    }
}
