//! Standard input in groups of whole lines: what has arrived, bounded.

use std::io::{self, Stdin};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::RequestLine;
use crate::cli::failure::Failure;

/// Most lines decided in one transaction: the write lock is held for some ten milliseconds at most.
const GROUP_LINES_MAX: usize = 1_000;
/// Most bytes of them; more than the longest line.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Longest line.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;

/// Standard input, line by line.
#[derive(Debug)]
pub(crate) struct Input {
    source: Stdin,
    /// What was read and not yet given out.
    held: Vec<u8>,
    /// Up to where `held` was given out.
    given: usize,
    /// Up to where `held` is known to have no newline.
    searched: usize,
    /// Whether the line under way is too long, and only its end is looked for.
    too_long: bool,
    /// A line that did not go into the group before.
    carried: Option<RequestLine>,
    ended: bool,
}

impl Input {
    pub(crate) fn stdin() -> Input {
        let source = io::stdin();
        Input {
            source,
            held: Vec::new(),
            given: 0,
            searched: 0,
            too_long: false,
            carried: None,
            ended: false,
        }
    }

    /// The lines that have arrived, blank ones left out; waits for the first. Nothing at the end of the input.
    pub(crate) fn next_group(&mut self) -> Result<Option<Vec<RequestLine>>, Failure> {
        let mut group = Vec::new();
        let mut bytes = 0;
        loop {
            while group.len() < GROUP_LINES_MAX {
                let Some(line) = self.carried.take().or_else(|| self.next_line()) else {
                    break;
                };
                bytes += line.as_ref().map_or(0, Vec::len);
                if bytes > GROUP_BYTES_MAX {
                    self.carried = Some(line);
                    return Ok(Some(group));
                }
                group.push(line);
            }
            if group.len() >= GROUP_LINES_MAX
                || self.ended
                || (!group.is_empty() && !self.has_more())
            {
                return Ok((!group.is_empty()).then_some(group));
            }
            self.fill()?;
        }
    }

    /// The next whole line that is not blank, if one has arrived.
    fn next_line(&mut self) -> Option<RequestLine> {
        loop {
            let rest = &self.held[self.searched..];
            let end = memchr::memchr(b'\n', rest).map(|index| self.searched + index);
            let (line_end, next) = match end {
                Some(end) => (end, end + 1),
                None if self.ended && self.given < self.held.len() => {
                    (self.held.len(), self.held.len())
                }
                None if self.ended && self.too_long => (self.held.len(), self.held.len()),
                None => {
                    self.searched = self.held.len();
                    if self.searched - self.given > LINE_BYTES_MAX {
                        // Nothing of it is kept; what is still to come of it is passed over.
                        self.too_long = true;
                        self.given = self.searched;
                    }
                    return None;
                }
            };
            let line = &self.held[self.given..line_end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let too_long = std::mem::take(&mut self.too_long) || line.len() > LINE_BYTES_MAX;
            let blank = line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            let line = line.to_vec();
            (self.given, self.searched) = (next, next);
            if too_long {
                let message = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                return Some(Err(Failure::new("invalid-input", message)));
            }
            if !blank {
                return Some(Ok(line));
            }
        }
    }

    fn has_more(&self) -> bool {
        let mut ready = [PollFd::from_borrowed_fd(self.source.as_fd(), PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(poll(&mut ready, Some(&at_once)), Ok(count) if count > 0)
    }

    /// Reads once; waits if nothing is there.
    fn fill(&mut self) -> Result<(), Failure> {
        self.held.drain(..self.given);
        self.searched -= self.given;
        self.given = 0;
        let held = self.held.len();
        self.held.resize(held + READ_BYTES, 0);
        // Through the descriptor: a reader's own buffer would hide from poll what has arrived.
        let read = loop {
            match rustix::io::read(self.source.as_fd(), &mut self.held[held..]) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        let read = read.map_err(|error| Failure::io("cannot read standard input", &error));
        self.held.truncate(held + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }
}
