//! Sends signals to the command, and decides who else gets them.

#[cfg(target_os = "linux")]
use std::fs;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGUSR1, SIGUSR2};

/// Whom signals for the command go to. Good for as long as the command has not been reaped: until then its number, and
/// its group's, is nobody else's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recipient {
    /// The process alone: it shares our group, and others in that are not ours to signal.
    Process(Pid),
    /// The process and what it started: it leads a group of its own.
    Group(Pid),
}

impl Recipient {
    /// Whether the command gets what is sent to this process's group.
    pub(super) fn shares_our_group(self) -> bool {
        match self {
            Recipient::Process(_) => true,
            Recipient::Group(_) => false,
        }
    }

    /// Whether the command, just started, has by now set something up for `signal`: then it was there in time to get it
    /// from the terminal. One that has not can be sent the signal: had it got the signal already, it would be dead of it.
    /// (Lost is what comes before the fork, if the spawn then takes so long that the command is set up at its end.)
    #[cfg(target_os = "linux")]
    pub(super) fn is_past_default(self, number: i32) -> bool {
        let (Recipient::Process(pid) | Recipient::Group(pid)) = self;
        let Ok(process) = fs::read_to_string(format!("/proc/{pid}/status")) else {
            return false;
        };
        process.lines().any(|line| {
            let set = line
                .strip_prefix("SigCgt:")
                .or_else(|| line.strip_prefix("SigBlk:"));
            let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
            set.is_some_and(|set| set & (1 << (number - 1)) != 0)
        })
    }

    /// This system does not tell, so the signal is sent: a command that had set something up for it may get it twice.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_past_default(self, _number: i32) -> bool {
        false
    }

    /// Sends `signal`. That the command has just ended is no error, and no other error could be mended.
    pub(super) fn send(self, signal: Signal) {
        let _ = match self {
            Recipient::Process(pid) => kill_process(pid, signal),
            Recipient::Group(leader) => kill_process_group(leader, signal),
        };
    }

    /// Hands on the signal `number` that this process got.
    ///
    /// INT, TERM, HUP and QUIT ask for an end, so they go to all that the command started, as a shell script in a
    /// cancelled build needs it and as `timeout` does it. USR1 and USR2 are a message to one program; what does not know
    /// them dies of them.
    pub(super) fn hand_on(self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else {
            return;
        };
        match self {
            Recipient::Group(leader) if number == SIGUSR1 || number == SIGUSR2 => {
                Recipient::Process(leader).send(signal);
            }
            Recipient::Group(_) | Recipient::Process(_) => self.send(signal),
        }
    }
}
