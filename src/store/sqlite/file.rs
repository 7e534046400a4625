//! What the file system says about a ledger's path, before SQLite opens it.
//!
//! A second descriptor of the database file must never be closed in this process while SQLite has the file open: POSIX
//! drops all of a process's locks on a file with the first descriptor that is closed. So everything here goes by stat,
//! save the one look at the header, whose descriptor is kept until the process ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::schema;
use crate::error::Error;

/// Bytes of a SQLite file's header.
const HEADER_BYTES: usize = 100;
/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header keeps the application's id.
const APPLICATION_ID_AT: usize = 68;

/// Descriptors of the database files this process has looked into, kept open: see the module's story.
static LOOKED_INTO: Mutex<Vec<(u64, u64, File)>> = Mutex::new(Vec::new());

/// What lies under a ledger's path.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing, and nothing beside it that a lost ledger would leave.
    Nothing,
    /// A ledger with a file of its own.
    Own,
    /// A database that belongs to another application, which may have been told to hold a ledger.
    Foreign,
}

/// A path that was looked at: absolute, links resolved.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) found: Found,
    /// Who owns the file.
    pub(super) owner: u32,
}

impl Place {
    pub(super) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// The path of the file beside the database with this ending.
    pub(super) fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Looks at the path. Nothing is opened for writing, nothing is changed.
pub(super) fn look(given: &Path) -> Result<Place, Error> {
    if given.as_os_str().as_bytes() == b":memory:" {
        return Err(Error::RefusedFile {
            ledger: ":memory:".to_owned(),
            found: "a ledger in memory forgets everything when the process ends",
            hint: "name a file; one that is really called ':memory:' can be written ./:memory:",
        });
    }
    let absolute = std::path::absolute(given).map_err(|source| io_error("find", given, source))?;
    let Some(path) = resolved(&absolute)? else {
        return missing(&absolute);
    };
    let facts = fs::metadata(&path).map_err(|source| io_error("look at", &path, source))?;
    if !facts.is_file() {
        return Err(Error::NotALedger {
            ledger: shown(&path),
            found: if facts.is_dir() {
                "it is a folder"
            } else {
                "it is not a regular file"
            },
            hint: "name a file",
        });
    }
    refuse_second_names(&path, &facts)?;
    refuse_shared_file_systems(&path, &path)?;
    if facts.len() == 0 {
        return Err(Error::RefusedFile {
            ledger: shown(&path),
            found: "the file is empty, as a failed copy or a full disk leaves it",
            hint: "put the ledger back with 'restore --from', or remove the file if there never was one",
        });
    }
    let found = look_into(&path, &facts)?;
    Ok(Place {
        path,
        found,
        owner: facts.uid(),
    })
}

/// Looks at the path of a ledger that a copy is to replace. Besides a ledger it may be empty, or missing with its log
/// left behind: what else is refused to decide in is refused here, too.
pub(super) fn look_to_replace(given: &Path) -> Result<PathBuf, Error> {
    let refusal = match look(given) {
        Ok(Place {
            path,
            found: Found::Own | Found::Nothing,
            ..
        }) => return Ok(path),
        Ok(Place {
            path,
            found: Found::Foreign,
            ..
        }) => {
            return Err(Error::NotALedger {
                ledger: shown(&path),
                found: "it is another application's database, whose tables a copy would replace, too",
                hint: "restore under a name of its own; receipts in it move with export and import",
            });
        }
        Err(refusal) => refusal,
    };
    let absolute = std::path::absolute(given).map_err(|source| io_error("find", given, source))?;
    let may_be_replaced = |path: &Path, facts: io::Result<fs::Metadata>| match facts {
        Ok(facts) => {
            refuse_second_names(path, &facts).is_ok()
                && refuse_shared_file_systems(path, path).is_ok()
                && facts.is_file()
                && facts.len() == 0
        }
        Err(error) => {
            let parent = path.parent().unwrap_or(path);
            error.kind() == io::ErrorKind::NotFound
                && parent.is_dir()
                && refuse_shared_file_systems(parent, path).is_ok()
        }
    };
    let in_memory = given.as_os_str().as_bytes() == b":memory:";
    let path = fs::canonicalize(&absolute).unwrap_or_else(|_| absolute.clone());
    let dangling = fs::symlink_metadata(&absolute).is_ok() && !path.exists();
    let is_refused_file = matches!(refusal, Error::RefusedFile { .. });
    if is_refused_file && !in_memory && !dangling && may_be_replaced(&path, fs::metadata(&path)) {
        return Ok(path);
    }
    Err(refusal)
}

/// The path with all links resolved, or nothing if no file is there.
fn resolved(absolute: &Path) -> Result<Option<PathBuf>, Error> {
    loop {
        match fs::canonicalize(absolute) {
            Ok(path) => return Ok(Some(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(io_error("find", absolute, source)),
        }
        match fs::symlink_metadata(absolute) {
            Err(_) => return Ok(None),
            Ok(facts) if facts.is_symlink() => {
                return Err(Error::RefusedFile {
                    ledger: shown(absolute),
                    found: "it is a symbolic link to a file that does not exist",
                    hint: "create the ledger under its real name, or mend the link",
                });
            }
            // Somebody created it since we looked.
            Ok(_) => {}
        }
    }
}

/// Nothing under the name: may a ledger be created there?
fn missing(absolute: &Path) -> Result<Place, Error> {
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(Error::NotALedger {
            ledger: shown(absolute),
            found: "it is a folder",
            hint: "name a file",
        });
    };
    if absolute.as_os_str().as_bytes().ends_with(b"/") {
        return Err(io_error(
            "find",
            absolute,
            io::Error::from(io::ErrorKind::NotFound),
        ));
    }
    let parent = fs::canonicalize(parent)
        .map_err(|source| io_error("find the folder of", absolute, source))?;
    let path = parent.join(name);
    refuse_shared_file_systems(&parent, &path)?;
    let place = Place {
        path,
        found: Found::Nothing,
        owner: rustix::process::geteuid().as_raw(),
    };
    for ending in ["-wal", "-journal"] {
        let left_behind = fs::metadata(place.beside(ending)).is_ok_and(|facts| facts.len() > 0);
        if left_behind {
            // Whoever created the ledger since we looked may have decided in it already.
            if fs::symlink_metadata(&place.path).is_ok() {
                return look(&place.path);
            }
            return Err(Error::RefusedFile {
                ledger: place.shown(),
                found: "the file is missing, but beside it lies a -wal or -journal with content",
                hint: "a copy or a move was not finished: put the ledger back; starting afresh would perform everything again",
            });
        }
    }
    Ok(place)
}

/// A second name for the file means a second write-ahead log, and two ledgers that decide.
fn refuse_second_names(path: &Path, facts: &fs::Metadata) -> Result<(), Error> {
    if facts.nlink() > 1 {
        return Err(Error::RefusedFile {
            ledger: shown(path),
            found: "the file has a second hard link",
            hint: "remove the other name; use a symbolic link instead",
        });
    }
    if is_mount_point(path).map_err(|source| io_error("look at", path, source))? {
        return Err(Error::RefusedFile {
            ledger: shown(path),
            found: "the file is itself a mount point",
            hint: "mount the folder that holds it, so that every user of the ledger sees the files beside it",
        });
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_mount_point(path: &Path) -> io::Result<bool> {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let facts = statx(CWD, path, AtFlags::empty(), StatxFlags::empty())?;
    let known = StatxAttributes::from_bits_retain(facts.stx_attributes_mask.bits());
    if known.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(facts.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    }
    // Kernels before 5.8 do not say it: the list of mounts does, with space, tab, newline and backslash in octal.
    let mounts = fs::read("/proc/self/mountinfo")?;
    let mut written = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => written.extend(format!("\\{byte:03o}").bytes()),
            _ => written.push(byte),
        }
    }
    Ok(mounts
        .split(|&byte| byte == b'\n')
        .any(|line| line.split(|&byte| byte == b' ').nth(4) == Some(&written)))
}

#[cfg(not(target_os = "linux"))]
fn is_mount_point(path: &Path) -> io::Result<bool> {
    let parent = path.parent().unwrap_or(path);
    Ok(fs::metadata(path)?.dev() != fs::metadata(parent)?.dev())
}

/// Locks and shared memory work only between processes of one kernel.
fn refuse_shared_file_systems(on: &Path, path: &Path) -> Result<(), Error> {
    let facts =
        rustix::fs::statfs(on).map_err(|source| io_error("look at", path, source.into()))?;
    if is_shared(&facts) {
        return Err(Error::RefusedFile {
            ledger: shown(path),
            found: "it lies on a network or user-space file system, where locks do not reach every user of the file",
            hint: "keep the ledger on a local disk, or use PostgreSQL (--db postgresql://...) for many machines",
        });
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_shared(facts: &rustix::fs::StatFs) -> bool {
    /// Magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, 9p, FUSE, Ceph, Lustre, OpenAFS, kAFS, Coda, GFS2, OCFS2, GPFS,
    /// VirtualBox's and VMware's shared folders, BeeGFS, OrangeFS.
    const SHARED: [u32; 18] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x0BD0_0BD0,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x0116_1970,
        0x7461_636F,
        0x4750_4653,
        0x786F_4256,
        0xBACB_ACBC,
        0x1983_0326,
        0x2003_0528,
    ];
    // The type is a signed or unsigned word of the platform's size; the magic numbers are its low 32 bits.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::unnecessary_cast
    )]
    let magic = facts.f_type as u32;
    SHARED.contains(&magic)
}

#[cfg(target_os = "macos")]
fn is_shared(facts: &rustix::fs::StatFs) -> bool {
    const SHARED: [&[u8]; 10] = [
        b"nfs", b"smbfs", b"cifs", b"afpfs", b"webdav", b"9p", b"macfuse", b"osxfuse", b"fuse",
        b"lustre",
    ];
    // A C string in an array of signed bytes.
    #[allow(clippy::cast_sign_loss)]
    let name: Vec<u8> = facts
        .f_fstypename
        .iter()
        .map(|&c| c as u8)
        .take_while(|&byte| byte != 0)
        .collect();
    SHARED.contains(&name.as_slice())
}

/// Reads the header through a descriptor that this process keeps.
fn look_into(path: &Path, facts: &fs::Metadata) -> Result<Found, Error> {
    let mut looked_into = LOOKED_INTO.lock().unwrap_or_else(PoisonError::into_inner);
    let known = looked_into
        .iter()
        .position(|(dev, ino, _)| (*dev, *ino) == (facts.dev(), facts.ino()));
    let index = match known {
        Some(index) => index,
        None => {
            let file = File::open(path).map_err(|source| io_error("open", path, source))?;
            looked_into.push((facts.dev(), facts.ino(), file));
            looked_into.len() - 1
        }
    };
    let mut header = [0; HEADER_BYTES];
    let read = looked_into[index].2.read_exact_at(&mut header, 0);
    match read {
        Ok(()) if header.starts_with(MAGIC) => {}
        Err(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(io_error("read", path, source));
        }
        Ok(()) | Err(_) => {
            return Err(Error::NotALedger {
                ledger: shown(path),
                found: "it is not a SQLite database",
                hint: "name the ledger's own file, or one that does not exist yet",
            });
        }
    }
    let mut id = [0; 4];
    id.copy_from_slice(&header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4]);
    Ok(if i32::from_be_bytes(id) == schema::APPLICATION_ID {
        Found::Own
    } else {
        Found::Foreign
    })
}

/// Keeps a descriptor of a database file that this process wrote itself, so that it is not closed under SQLite.
pub(super) fn keep(file: File) -> io::Result<()> {
    let facts = file.metadata()?;
    let mut looked_into = LOOKED_INTO.lock().unwrap_or_else(PoisonError::into_inner);
    looked_into.push((facts.dev(), facts.ino(), file));
    Ok(())
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        action,
        ledger: shown(path),
        source: Box::new(source),
    }
}
