//! Receives the signals of this process and keeps them, with where they came from, until a command takes them. It
//! sends none.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;

use super::{disposition, poll};

/// The signals that are handed to the command.
const HANDED_ON: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// One signal that this process got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received {
    pub(super) signal: i32,
    /// The terminal sent it to every process of its foreground group, not to this one alone.
    pub(super) from_terminal: bool,
}

/// The signals of this process, from [`Signals::take_over`] on.
#[derive(Debug)]
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
    received: VecDeque<Received>,
}

impl Signals {
    /// Takes over the signals that are handed on, but for those that are ignored, and SIGCHLD, which ends the wait for a
    /// command. SIGCHLD is taken over even where it is ignored: the system would not say how a command ended.
    ///
    /// # Errors
    ///
    /// The system's: no descriptor left for the pipe, say.
    pub(super) fn take_over() -> io::Result<Signals> {
        let mut wanted = vec![SIGCHLD];
        for signal in HANDED_ON {
            if !disposition::is_ignored(signal)? {
                wanted.push(signal);
            }
        }
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), wanted)?;
        // A command gets the mask of the thread that starts it, as it is.
        SigSet::empty().thread_set_mask()?;
        Ok(Signals {
            delivery,
            received: VecDeque::new(),
        })
    }

    /// What becomes readable when a signal arrives, SIGCHLD included.
    pub(super) fn arrival(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// The first signal that was received and not taken. Does not block.
    pub(super) fn first(&mut self) -> Option<i32> {
        self.collect();
        self.received.front().map(|received| received.signal)
    }

    /// Waits for at most `limit` until there is a signal that was not taken; `None` when there was none.
    pub(super) fn wait_for_first(&mut self, limit: Duration) -> Option<i32> {
        let until = Instant::now().checked_add(limit);
        loop {
            if let Some(signal) = self.first() {
                return Some(signal);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return None;
            }
            let arrival = PollFd::from_borrowed_fd(self.arrival(), PollFlags::IN);
            if poll::until(&mut [arrival], until).is_err() {
                return None;
            }
        }
    }

    /// Takes the next signal. Does not block; looks only at what [`Signals::collect`] has brought in.
    pub(super) fn take(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// Brings in what has arrived. Does not block.
    pub(super) fn collect(&mut self) {
        for origin in self.delivery.pending() {
            if origin.signal != SIGCHLD {
                self.received.push_back(Received {
                    signal: origin.signal,
                    from_terminal: is_from_terminal(&origin),
                });
            }
        }
    }

    /// Brings in what has arrived, and treats as sent to this process alone what the terminal sent, but for the signals
    /// that are `known` to have reached the command.
    pub(super) fn collect_in_doubt(&mut self, known: impl Fn(i32) -> bool) {
        self.collect();
        for received in &mut self.received {
            received.from_terminal = received.from_terminal && known(received.signal);
        }
    }
}

/// Ctrl-C, Ctrl-\ and the end of a session come from the kernel, to the whole foreground group. The exception is a
/// terminal that hangs up: that tells the leader of the session alone.
#[cfg(not(target_os = "macos"))]
fn is_from_terminal(origin: &Origin) -> bool {
    use signal_hook::low_level::siginfo::Cause;

    if origin.cause != Cause::Kernel {
        return false;
    }
    match origin.signal {
        SIGINT | SIGQUIT => true,
        SIGHUP => rustix::process::getsid(None) != Ok(rustix::process::getpid()),
        _ => false,
    }
}

/// This kernel never names itself as the sender: what is typed comes from the process that runs the terminal, which
/// belongs to another session. So an INT or QUIT from another session counts as typed, and one that was sent with `kill`
/// from there is not handed on; INT and QUIT from within the session are, and so is every other signal. The hangup at the
/// end of a session is handed on too, although the foreground group got it.
#[cfg(target_os = "macos")]
fn is_from_terminal(origin: &Origin) -> bool {
    use rustix::process::{Pid, getsid};

    if origin.signal != SIGINT && origin.signal != SIGQUIT {
        return false;
    }
    let sender = origin
        .process
        .and_then(|process| Pid::from_raw(process.pid));
    sender.is_none_or(|sender| getsid(Some(sender)).ok() != getsid(None).ok())
}
