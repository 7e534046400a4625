//! Creating a ledger: no ledger or a whole one under the name, whatever happens, and never over a rival's.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::sqlite_error;
use super::file::{io_error, keep, shown};
use super::schema;
use crate::error::Error;

/// Only its owner may read what was performed.
const MODE: u32 = 0o600;
/// Where a SQLite header keeps its write and read versions; 2 in both says write-ahead log.
pub(super) const VERSIONS_AT: std::ops::Range<usize> = 18..20;

/// Creates a ledger under a name that is free. Returns whether it did: a rival may have been first.
pub(super) fn create(path: &Path) -> Result<bool, Error> {
    let image = image().map_err(|source| sqlite_error("create", &shown(path), source))?;
    put_in_place(path, &image).map_err(|source| io_error("create", path, source))
}

/// The bytes of an empty ledger.
fn image() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    // Space that a prune frees can be given back in small steps, while others decide.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.execute_batch(&schema::creation_sql())?;
    let mut image = connection.serialize("main")?.to_vec();
    image[VERSIONS_AT].fill(2);
    Ok(image)
}

/// Writes beside the name, syncs, renames without replacing, syncs the folder.
fn put_in_place(path: &Path, image: &[u8]) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut draft = tempfile::Builder::new()
        .prefix(".receipt-ledger-")
        .suffix(".draft")
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    draft
        .as_file()
        .set_permissions(Permissions::from_mode(MODE))?;
    draft.write_all(image)?;
    draft.as_file().sync_all()?;
    match renameat_with(CWD, draft.path(), CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let (file, mut draft_path) = draft.into_parts();
    // The draft's name is gone with the rename; there is nothing left to remove.
    draft_path.disable_cleanup(true);
    keep(file)?;
    File::open(folder)?.sync_all()?;
    Ok(true)
}

/// A ledger that is being filled beside its name. What is left of it goes when this is dropped.
pub(super) struct Draft {
    folder: tempfile::TempDir,
}

impl Draft {
    /// Room for a draft in the folder where the ledger is to be.
    pub(super) fn beside(path: &Path) -> Result<Draft, Error> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let drafts = tempfile::Builder::new()
            .prefix(".receipt-ledger-")
            .suffix(".draft")
            .tempdir_in(folder);
        let folder = drafts.map_err(|error| io_error("create", path, error.kind().into()))?;
        Ok(Draft { folder })
    }

    /// Where the draft goes.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("draft.db")
    }

    /// Puts the draft, closed and whole, under a name that is still free.
    pub(super) fn put_in_place(self, path: &Path) -> Result<(), Error> {
        let failed = |error: io::Error| io_error("create", path, error);
        renameat_with(CWD, self.path(), CWD, path, RenameFlags::NOREPLACE)
            .map_err(|error| failed(error.into()))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)
    }
}
