//! From a [`Command`] to a process: its streams, its process group, the spawn. Everything that can fail for want of
//! something is done before the spawn.

use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use thiserror::Error;

use super::feed::Feed;
use super::recipient::Recipient;
use super::relay::Relay;
use super::{Command, Input};

/// Why a command was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such program, or what it names as its interpreter does not exist.
    #[error("command not found")]
    NotFound,
    /// Any other reason; a folder and a file that is not executable are "permission denied".
    #[error("cannot start the command")]
    Other(#[source] io::Error),
}

/// A command whose streams are laid, not yet a process.
#[derive(Debug)]
pub(super) struct Prepared {
    command: process::Command,
    group: Group,
    feed: Option<Feed>,
    relay: Option<Relay>,
}

/// A command that is a process.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) recipient: Recipient,
    pub(super) feed: Option<Feed>,
    pub(super) relay: Option<Relay>,
}

#[derive(Debug, Clone, Copy)]
enum Group {
    Ours,
    Own,
}

/// Lays the streams of `command`.
///
/// # Errors
///
/// The system's: no descriptor or no thread left, say.
pub(super) fn prepare(command: Command) -> io::Result<Prepared> {
    let mut process = process::Command::new(&command.program);
    process.args(&command.args).envs(command.envs);
    let feed = match command.stdin {
        Input::Inherit => None,
        Input::Empty => {
            process.stdin(Stdio::null());
            None
        }
        Input::Bytes(bytes) => {
            let (feed, end) = Feed::new(bytes)?;
            process.stdin(end);
            Some(feed)
        }
    };
    let relay = match command.capture {
        None => None,
        Some(capture) => {
            let (relay, end) = Relay::new(capture)?;
            process.stdout(end);
            Some(relay)
        }
    };
    let group = if has_terminal() {
        Group::Ours
    } else {
        process.process_group(0);
        Group::Own
    };
    Ok(Prepared {
        command: process,
        group,
        feed,
        relay,
    })
}

impl Prepared {
    /// Makes it a process; returns once the program runs. The standard library uses `posix_spawn`: the signal handlers
    /// of this process never run in the other one. Consumes the command, and with it this side of the other's streams.
    ///
    /// # Errors
    ///
    /// Nothing was started.
    pub(super) fn start(mut self) -> Result<Started, StartError> {
        let child = self.command.spawn().map_err(|error| {
            if error.kind() == ErrorKind::NotFound {
                StartError::NotFound
            } else {
                StartError::Other(error)
            }
        })?;
        let pid = Pid::from_child(&child);
        Ok(Started {
            child,
            recipient: match self.group {
                Group::Ours => Recipient::Process(pid),
                Group::Own => Recipient::Group(pid),
            },
            feed: self.feed,
            relay: self.relay,
        })
    }
}

/// Whether this process has a controlling terminal: only then can that be opened under this name.
fn has_terminal() -> bool {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open("/dev/tty", flags, Mode::empty()).is_ok()
}
