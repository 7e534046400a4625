//! Whose turn it is to ask SQLite for the write lock.
//!
//! SQLite has no line: whoever finds the lock taken sleeps, looks again, and may find it taken again by somebody who came
//! later. In a crowd most of that is wasted. So callers wait for one another on an advisory lock that the kernel hands on
//! in order. Fairness and speed are all that hangs on it: SQLite's own lock alone decides who decides, and where a turn is
//! not to be had in time (no log yet, a caller that was stopped while it was his turn), one goes on without.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

/// Longest wait for a turn. A crowd has had its turns by then; a caller that was stopped while it was his may never end it.
const LONGEST: Duration = Duration::from_millis(500);
/// Enough for one system call.
const STACK_BYTES: usize = 64 * 1024;

/// Whether a thread of this process is waiting: there is one at most, also where nobody waits for it any more.
static WAITING: Mutex<Weak<()>> = Mutex::new(Weak::new());

/// A turn, over when it is dropped; or none.
#[derive(Debug)]
pub(super) struct Turn {
    _held: Option<File>,
}

impl Turn {
    /// Waits for a turn, at most half of the time there is to wait for everything. The line forms at the log beside the
    /// database: SQLite takes no locks on that file, so none is lost when this descriptor is closed.
    pub(super) fn wait(log: &Path, busy_timeout: Duration) -> Turn {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let held = match rustix::fs::open(log, flags, Mode::empty()) {
            Ok(log) => in_line(File::from(log), LONGEST.min(busy_timeout / 2)),
            Err(_) => None,
        };
        Turn { _held: held }
    }
}

fn in_line(log: File, longest: Duration) -> Option<File> {
    match log.try_lock() {
        Ok(()) => return Some(log),
        Err(TryLockError::WouldBlock) if !longest.is_zero() => {}
        // A file system without such locks has no line.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    // The kernel sets no limit to this wait, so another thread does the waiting. A turn that comes too late finds nobody
    // to take it, and is over.
    let (hand_over, turn) = mpsc::sync_channel(1);
    let waits = waits()?;
    let wait = move || {
        let handed_over = log.lock().map(|()| hand_over.send(log));
        drop(waits);
        handed_over
    };
    let waiting = thread::Builder::new().stack_size(STACK_BYTES).spawn(wait);
    waiting.ok()?;
    turn.recv_timeout(longest).ok()
}

/// What the only thread that waits holds, if none does yet.
fn waits() -> Option<Arc<()>> {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    if waiting.strong_count() > 0 {
        return None;
    }
    let waits = Arc::new(());
    *waiting = Arc::downgrade(&waits);
    Some(waits)
}
