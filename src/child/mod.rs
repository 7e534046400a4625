//! Starts one command at a time, looks after it until it has ended, and says how. It knows nothing of receipts, and
//! writes nothing but what a captured command wrote.
//!
//! ```text
//! Supervisor::install -> decide -> supervise(command) -> record the report -> finish passing on -> exit
//! ```
//!
//! **Signals.** INT, TERM, HUP, QUIT, USR1 and USR2 sent to this process reach the command exactly once. Where there is
//! a controlling terminal, the command stays in this process group: it can read the terminal, and what the terminal
//! sends to its whole foreground group is not sent again. (A process that signals that group by itself cannot be told
//! from one that signals this process: there the command gets the signal twice.) Where there is none, the command gets a
//! process group of its own, so that it gets what is sent to the old group once and outlives a KILL of it.
//!
//! **Waiting.** One `poll(2)` over everything that can happen; no polling sleep. SIGCHLD ends it, so this works only
//! while nobody else in the process reaps children or takes SIGCHLD away.

mod disposition;
mod feed;
mod limit;
mod look_up;
mod poll;
mod recipient;
mod relay;
mod running;
mod signals;
mod start;

use std::ffi::OsString;
use std::io;
use std::time::Duration;

pub use self::look_up::{LookUpError, look_up};
pub use self::relay::{Captured, PassingOn};
pub use self::start::StartError;

use self::signals::Signals;

/// What is to be started, and within which bounds.
#[derive(Debug)]
pub struct Command {
    /// A path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// Added to this process's environment.
    pub envs: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub stdin: Input,
    /// How long it may run before it gets TERM. `None`: as long as it likes.
    pub timeout: Option<Duration>,
    /// How long after that TERM it gets KILL.
    pub kill_after: Duration,
    /// Whether its standard output is kept. `None`: it is this process's, untouched.
    pub capture: Option<Capture>,
}

/// A command's standard input.
#[derive(Debug)]
pub enum Input {
    /// This process's.
    Inherit,
    /// These bytes, then the end. A command that does not read them all is not disturbed.
    Bytes(Vec<u8>),
    /// Nothing.
    Empty,
}

/// Asks for a command's standard output to be kept as well as passed on.
#[derive(Debug, Clone, Copy)]
pub struct Capture {
    /// How many bytes are kept; what comes after them is only passed on.
    pub bytes_max: usize,
}

/// What became of a command.
#[derive(Debug)]
pub struct Report {
    /// Whether it ran and how it ended.
    pub outcome: Outcome,
    /// The first signal that arrived from its start to its end: handed to it, sent to it by the terminal, or too late
    /// for it.
    pub signal: Option<i32>,
    /// What it wrote, if that was asked for and it was started.
    pub captured: Option<Captured>,
}

/// Whether a command ran and how it ended.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was started.
    NotStarted(StartError),
    /// Nothing was started because this signal had arrived; [`Supervisor::pending`] still gives it.
    SignalledBeforeStart(i32),
    /// It ran and ended.
    Ended(Ending),
    /// It ran into its timeout, then ended like this (also by itself, also with 0).
    TimedOut(Ending),
    /// It was started, but the system does not tell how it ended, or whether.
    Lost(io::Error),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code, 0 to 255.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// The process's signals and the one command that they go to.
///
/// It takes them over for good: once it is dropped they go nowhere.
#[derive(Debug)]
pub struct Supervisor {
    signals: Signals,
}

impl Supervisor {
    /// Takes over INT, TERM, HUP, QUIT, USR1 and USR2, except those that are ignored: they stay ignored, in the command
    /// too (`nohup`). Unblocks all signals in the calling thread, so it belongs at the start of the process's first.
    ///
    /// # Errors
    ///
    /// The system's: no descriptor left, say.
    pub fn install() -> io::Result<Supervisor> {
        Signals::take_over().map(|signals| Supervisor { signals })
    }

    /// The first signal that has arrived and was not handed to a command. Once there is one, no command is started.
    /// Does not block.
    pub fn pending(&mut self) -> Option<i32> {
        self.signals.first()
    }

    /// As [`Supervisor::pending`], but waits for a signal for at most `limit`.
    pub fn wait_for_signal(&mut self, limit: Duration) -> Option<i32> {
        self.signals.wait_for_first(limit)
    }

    /// Starts `command`, hands it the signals, and returns as soon as it has ended, whoever still holds its streams.
    ///
    /// What it wrote may then still be on its way: [`PassingOn::finish`] waits for that. Call it in the thread that
    /// called [`Supervisor::install`], or in one that was started after.
    pub fn supervise(&mut self, command: Command) -> Report {
        let limit = (command.timeout, command.kill_after);
        let prepared = match start::prepare(command) {
            Ok(prepared) => prepared,
            Err(error) => {
                return Report::not_started(Outcome::NotStarted(StartError::Other(error)));
            }
        };
        if let Some(signal) = self.pending() {
            return Report::not_started(Outcome::SignalledBeforeStart(signal));
        }
        // A signal from here on is in the queue, and is handed on once the command is there.
        match prepared.start() {
            Ok(started) => running::look_after(started, limit, &mut self.signals),
            Err(error) => Report::not_started(Outcome::NotStarted(error)),
        }
    }
}

impl Report {
    fn not_started(outcome: Outcome) -> Report {
        Report {
            outcome,
            signal: None,
            captured: None,
        }
    }
}
