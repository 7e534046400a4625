//! Passes a command's standard output on as it comes, and keeps its beginning.
//!
//! ```text
//! command -> pipe -> Relay (keeps the first bytes) -> pipe -> writer thread -> standard output
//! ```
//!
//! Standard output is shared with others, so it stays blocking, and only the writer may block on it. While the command
//! runs, a reader that is slow fills both pipes and so slows the command down, as if it wrote to the reader itself. A
//! reader that is gone does not show: the writer then throws away what comes.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::{Capture, Supervisor, poll};

/// The size of one read: what a pipe holds unless it was made larger.
const CHUNK_BYTES: usize = 64 * 1024;

/// How much each pipe holds where the system allows it: at 64 KiB the three parties wait for one another too often.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 * 1024;

/// What a command wrote to its standard output.
#[derive(Debug)]
pub struct Captured {
    /// Its beginning, at most `bytes_max` bytes.
    pub bytes: Vec<u8>,
    /// It wrote more than that.
    pub truncated: bool,
    /// The rest of the way to this process's standard output.
    pub passing_on: PassingOn,
}

/// What a command wrote, on its way to this process's standard output. Dropped, it goes on for as long as the process
/// lives.
#[derive(Debug)]
#[must_use = "output that has not been written when the process exits is lost"]
pub struct PassingOn {
    writer: JoinHandle<io::Result<()>>,
    /// Hangs up when the writer is done.
    done: PipeReader,
}

/// The middle of the way, while the command runs.
#[derive(Debug)]
pub(super) struct Relay {
    /// `None` once all who could write to it are gone.
    source: Option<PipeReader>,
    sink: PipeWriter,
    /// What was read and not yet written is `chunk[held]`.
    chunk: Box<[u8]>,
    held: Range<usize>,
    kept: Vec<u8>,
    bytes_max: usize,
    truncated: bool,
    rest: mpsc::Sender<Vec<u8>>,
    passing_on: PassingOn,
}

impl PassingOn {
    /// Waits until all is written, or until a signal arrives for `supervisor`: nothing else would end a process whose
    /// reader has stopped reading.
    ///
    /// # Errors
    ///
    /// Not everything reached standard output: the first write that failed, at whatever moment, or
    /// [`ErrorKind::Interrupted`] for the signal.
    pub fn finish(self, supervisor: &mut Supervisor) -> io::Result<()> {
        while !self.writer.is_finished() {
            let mut ready = [
                PollFd::from_borrowed_fd(self.done.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(supervisor.signals.arrival(), PollFlags::IN),
            ];
            let waited = poll::until(&mut ready, None);
            if waited.is_err() || !ready[0].revents().is_empty() {
                break;
            }
            if supervisor.pending().is_some() {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        self.writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the writer of standard output panicked")))
    }
}

impl Relay {
    /// The relay, and the end of it that the command writes to.
    ///
    /// # Errors
    ///
    /// The system's: no descriptor or no thread left, say.
    pub(super) fn new(capture: Capture) -> io::Result<(Relay, PipeWriter)> {
        let (source, end) = large_pipe()?;
        let (queue, sink) = large_pipe()?;
        let (done, writing) = io::pipe()?;
        // These two ends alone: the command's and the writer's block.
        rustix::io::ioctl_fionbio(&source, true)?;
        rustix::io::ioctl_fionbio(&sink, true)?;
        let (rest, last) = mpsc::channel();
        let writer = thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || {
                let written = write_all(queue, &last);
                drop(writing);
                written
            })?;
        let relay = Relay {
            source: Some(source),
            sink,
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            held: 0..0,
            kept: Vec::new(),
            bytes_max: capture.bytes_max,
            truncated: false,
            rest,
            passing_on: PassingOn { writer, done },
        };
        Ok((relay, end))
    }

    /// Moves what can be moved, at most one chunk: others want their turn. Does not block.
    pub(super) fn advance(&mut self) {
        if self.held.is_empty() && self.fill(CHUNK_BYTES) == 0 {
            return;
        }
        match self.sink.write(&self.chunk[self.held.clone()]) {
            Ok(written) => self.held.start += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The writer is gone and will say why; the command is not to notice.
            Err(_) => self.held = 0..0,
        }
    }

    /// What to wait for before [`Relay::advance`] can do more; `None` when there is nothing more.
    pub(super) fn interest(&self) -> Option<PollFd<'_>> {
        if self.held.is_empty() {
            let source = self.source.as_ref()?;
            Some(PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN))
        } else {
            Some(PollFd::from_borrowed_fd(self.sink.as_fd(), PollFlags::OUT))
        }
    }

    /// Once the command has ended: takes what it has left in the pipe and no more, whoever else still holds it open, and
    /// leaves all that to the writer. Does not block.
    pub(super) fn close(mut self) -> Captured {
        let mut rest = self.chunk[self.held.clone()].to_vec();
        let left = self.source.as_ref().map(rustix::io::ioctl_fionread);
        let mut left = left
            .and_then(Result::ok)
            .and_then(|left| usize::try_from(left).ok())
            .unwrap_or(0);
        while left > 0 {
            let read = self.fill(left.min(CHUNK_BYTES));
            if read == 0 {
                break;
            }
            rest.extend_from_slice(&self.chunk[self.held.clone()]);
            left -= read;
        }
        // Were the writer gone, its own error would say so.
        let _ = self.rest.send(rest);
        Captured {
            bytes: self.kept,
            truncated: self.truncated,
            passing_on: self.passing_on,
        }
    }

    /// Reads at most `bytes_max` bytes into the empty chunk and keeps what is to be kept; 0 when there is nothing now.
    fn fill(&mut self, bytes_max: usize) -> usize {
        let Some(source) = &mut self.source else {
            return 0;
        };
        let read = loop {
            match source.read(&mut self.chunk[..bytes_max]) {
                Ok(read) => break read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return 0,
                Err(_) => break 0,
            }
        };
        if read == 0 {
            self.source = None;
        }
        self.held = 0..read;
        let room = self.bytes_max - self.kept.len();
        self.kept.extend_from_slice(&self.chunk[..read.min(room)]);
        self.truncated |= read > room;
        read
    }
}

/// Writes what comes through `queue`, then `last`, to standard output. After a failure it goes on reading, so that
/// nobody waits for it, and reports that at the end.
fn write_all(mut queue: PipeReader, last: &mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut outcome = Ok(());
    loop {
        let read = match queue.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return outcome.and(Err(error)),
        };
        outcome = outcome.and_then(|()| write_to_stdout(&chunk[..read]));
    }
    // The sender is gone without a word where the command was not started.
    let last = last.recv().unwrap_or_default();
    outcome.and_then(|()| write_to_stdout(&last))
}

/// Writes `bytes` to descriptor 1, past the standard library's buffer, which would hold back an unfinished line.
fn write_to_stdout(mut bytes: &[u8]) -> io::Result<()> {
    let stdout = io::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(&stdout, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            // Somebody who shares it has set it so.
            Err(Errno::AGAIN) => {
                poll::until(&mut [PollFd::new(&stdout, PollFlags::OUT)], None)?;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// A pipe that holds more than usual where the system has a way and room for it.
fn large_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let pipe = io::pipe()?;
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&pipe.1, PIPE_BYTES);
    Ok(pipe)
}
