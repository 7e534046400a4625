//! What a bench was asked for, and where its files go.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How a bench is to run.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Less of everything, enough to see a gross change.
    pub(crate) quick: bool,
    /// The folder below which its files go.
    pub(crate) below: PathBuf,
}

/// What the command line and `BENCH_DIR` say; nothing where it is not a bench that was asked for: `cargo test
/// --all-targets` starts benches too, and there is nothing to test here.
pub(crate) fn asked() -> Option<Asked> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    given("--bench").then(|| Asked {
        quick: given("--quick"),
        below: env::var_os("BENCH_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from),
    })
}

/// A folder of its own there, removed afterwards.
pub(crate) fn folder_in(below: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(fs::canonicalize(below)?)
}
