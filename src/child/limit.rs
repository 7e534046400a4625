//! How long a command may run, and what it gets when it has run too long.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::recipient::Recipient;
use super::{Ending, Outcome};

/// A command's time: first it is asked to end, then it is killed.
#[derive(Debug)]
pub(super) struct Limit {
    stage: Stage,
    /// When the next stage begins; `None`: never.
    ends: Option<Instant>,
    kill_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    Asked,
    Killed,
}

impl Limit {
    /// The time of a command that starts now. One that ends beyond what the clock can name never does.
    pub(super) fn starting_now(timeout: Option<Duration>, kill_after: Duration) -> Limit {
        Limit {
            stage: Stage::Running,
            ends: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            kill_after,
        }
    }

    /// When [`Limit::enforce`] has something to do.
    pub(super) fn ends(&self) -> Option<Instant> {
        self.ends
    }

    /// Sends what is due at `now`. The command must not have been reaped.
    pub(super) fn enforce(&mut self, now: Instant, recipient: Recipient) {
        if self.ends.is_none_or(|ends| now < ends) {
            return;
        }
        match self.stage {
            Stage::Running => {
                recipient.send(Signal::TERM);
                // A command that was stopped can act on the TERM only once it goes on.
                recipient.send(Signal::CONT);
                self.stage = Stage::Asked;
                self.ends = now.checked_add(self.kill_after);
            }
            Stage::Asked => {
                recipient.send(Signal::KILL);
                self.stage = Stage::Killed;
                self.ends = None;
            }
            Stage::Killed => self.ends = None,
        }
    }

    /// What to say of a command that ended like this.
    pub(super) fn judge(&self, ending: Ending) -> Outcome {
        match self.stage {
            Stage::Running => Outcome::Ended(ending),
            Stage::Asked | Stage::Killed => Outcome::TimedOut(ending),
        }
    }
}
