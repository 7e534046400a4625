//! Finds a program as the system will, for a caller that must know before it takes anything.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use thiserror::Error;

/// Where the system looks when `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a program would not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LookUpError {
    /// There is no such file.
    #[error("command not found")]
    NotFound,
    /// There is one, but it is a folder or not executable, or it cannot be reached.
    #[error("command is not executable")]
    NotExecutable,
}

/// The file that starting `program` would run: itself if it holds a slash, else the first one in `PATH` that can be
/// executed.
///
/// # Errors
///
/// It could not be started; that it can, no look-up can promise.
pub fn look_up(program: &OsStr) -> Result<PathBuf, LookUpError> {
    let path = env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    look_up_in(program, &path)
}

fn look_up_in(program: &OsStr, path: &OsStr) -> Result<PathBuf, LookUpError> {
    if program.is_empty() {
        return Err(LookUpError::NotFound);
    }
    if program.as_bytes().contains(&b'/') {
        let file = PathBuf::from(program);
        return match check(&file) {
            Ok(()) => Ok(file),
            Err(Errno::NOENT) => Err(LookUpError::NotFound),
            Err(_) => Err(LookUpError::NotExecutable),
        };
    }
    let mut reason = LookUpError::NotFound;
    for folder in env::split_paths(path) {
        // An empty entry is the current folder.
        let file = Path::new(".").join(folder).join(program);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => reason = LookUpError::NotExecutable,
        }
    }
    Err(reason)
}

fn check(file: &Path) -> Result<(), Errno> {
    access(file, Access::EXEC_OK)?;
    if file.is_dir() {
        return Err(Errno::ACCESS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_name_is_the_first_executable_file_in_path() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [
            ("plain/tool", 0o644),
            ("good/tool", 0o755),
            ("late/tool", 0o755),
        ] {
            let file = at(name);
            fs::create_dir_all(file.with_file_name(""))?;
            fs::write(&file, "")?;
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        }
        fs::create_dir_all(at("folder/tool"))?;
        fs::write(at("file"), "")?;

        let search = |folders: &[&str]| {
            let path = env::join_paths(folders.iter().map(|name| at(name)))?;
            Ok::<_, Box<dyn Error>>(look_up_in(OsStr::new("tool"), &path))
        };
        assert_eq!(
            search(&["none", "file", "plain", "folder", "good", "late"])?,
            Ok(at("good/tool"))
        );
        assert_eq!(search(&["plain", "none"])?, Err(LookUpError::NotExecutable));
        assert_eq!(search(&["folder"])?, Err(LookUpError::NotExecutable));
        assert_eq!(search(&["none", "file"])?, Err(LookUpError::NotFound));
        Ok(())
    }

    #[test]
    fn a_name_with_a_slash_is_that_file_and_no_other() {
        let look_up_in_bin = |program| look_up_in(OsStr::new(program), OsStr::new("/bin"));
        assert_eq!(look_up_in_bin("/bin/sh"), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(look_up_in_bin("./sh"), Err(LookUpError::NotFound));
        assert_eq!(look_up_in_bin("/tmp"), Err(LookUpError::NotExecutable));
        assert_eq!(look_up_in_bin("/bin/sh/x"), Err(LookUpError::NotExecutable));
        assert_eq!(look_up_in_bin(""), Err(LookUpError::NotFound));
    }
}
