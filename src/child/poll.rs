//! `poll(2)` up to a moment.

use std::io;
use std::time::Instant;

use rustix::event::{PollFd, Timespec};
use rustix::io::Errno;

/// Waits until one of `fds` is ready or `until` has come (never, for `None`). May return early.
///
/// # Errors
///
/// The system's; a signal is none.
pub(super) fn until(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    // What does not fit is centuries away.
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match rustix::event::poll(fds, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
