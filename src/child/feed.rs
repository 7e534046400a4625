//! Hands bytes to a command as its standard input. Never blocks: the one wait is elsewhere.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags};

/// Bytes on their way to a command.
#[derive(Debug)]
pub(super) struct Feed {
    pipe: PipeWriter,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    /// The feed, and the end of it that the command reads.
    ///
    /// # Errors
    ///
    /// The system's: no descriptor left, say.
    pub(super) fn new(bytes: Vec<u8>) -> io::Result<(Feed, PipeReader)> {
        let (end, pipe) = io::pipe()?;
        // This end alone: the command's blocks as it expects.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let feed = Feed {
            pipe,
            bytes,
            written: 0,
        };
        Ok((feed, end))
    }

    /// Writes what fits. `None` when nothing is left to do: all is written, or nobody reads any more. (SIGPIPE is ignored
    /// in a Rust program, so that a write says so.)
    pub(super) fn advance(mut self) -> Option<Feed> {
        while self.written < self.bytes.len() {
            match self.pipe.write(&self.bytes[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(self),
                Err(_) => return None,
            }
        }
        None
    }

    /// What to wait for before [`Feed::advance`] can do more.
    pub(super) fn interest(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::OUT)
    }
}
