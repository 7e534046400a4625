//! How a ledger's file is opened: where it is, how long to wait, by which clock.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::receipt::Timestamp;

/// The clock of a store.
pub trait Clock: fmt::Debug + Send {
    /// The moment it is.
    fn now(&self) -> Timestamp;
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }
}

/// How to open a ledger's file.
#[derive(Debug)]
pub struct OpenOptions {
    /// A path, never a URI.
    pub path: PathBuf,
    /// How long to wait for others' locks.
    pub busy_timeout: Duration,
    /// Whether a ledger that is not there is created.
    pub create: bool,
    /// The clock; the machine's, but for tests.
    pub clock: Box<dyn Clock>,
}

impl OpenOptions {
    /// Waits up to 5 s for locks, creates the ledger if it is not there, goes by the machine's clock.
    pub fn new(path: impl Into<PathBuf>) -> OpenOptions {
        OpenOptions {
            path: path.into(),
            busy_timeout: Duration::from_secs(5),
            create: true,
            clock: Box::new(SystemClock),
        }
    }
}
