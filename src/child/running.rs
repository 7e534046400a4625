//! Looks after a process until it has ended: the one place that waits, hands signals on and reaps.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::feed::Feed;
use super::limit::Limit;
use super::relay::Relay;
use super::signals::Signals;
use super::start::Started;
use super::{Ending, Outcome, Report, poll};

/// Looks after `started` until it has ended.
pub(super) fn look_after(
    started: Started,
    (timeout, kill_after): (Option<Duration>, Duration),
    signals: &mut Signals,
) -> Report {
    let Started {
        mut child,
        recipient,
        mut feed,
        mut relay,
    } = started;
    let mut limit = Limit::starting_now(timeout, kill_after);
    let mut first_signal = None;
    // A Ctrl-C during the spawn may have come before the command was in the group, or after.
    signals.collect_in_doubt(|signal| recipient.is_past_default(signal));
    let outcome = loop {
        match child.try_wait() {
            Ok(Some(status)) => break limit.judge(ending(status)),
            Ok(None) => {}
            Err(error) => break Outcome::Lost(error),
        }
        while let Some(received) = signals.take() {
            first_signal.get_or_insert(received.signal);
            let has_it = received.from_terminal && recipient.shares_our_group();
            if !has_it {
                recipient.hand_on(received.signal);
            }
        }
        limit.enforce(Instant::now(), recipient);
        feed = feed.and_then(Feed::advance);
        if let Some(relay) = &mut relay {
            relay.advance();
        }
        if let Err(error) = wait(signals, feed.as_ref(), relay.as_ref(), limit.ends()) {
            break Outcome::Lost(error);
        }
    };
    // It is reaped, its number may be another's: nothing is sent any more.
    signals.collect();
    while let Some(received) = signals.take() {
        first_signal.get_or_insert(received.signal);
    }
    Report {
        outcome,
        signal: first_signal,
        captured: relay.map(Relay::close),
    }
}

/// Waits for whatever comes first, and brings in the signals that have arrived.
fn wait(
    signals: &mut Signals,
    feed: Option<&Feed>,
    relay: Option<&Relay>,
    until: Option<Instant>,
) -> io::Result<()> {
    let mut awaited = Vec::with_capacity(3);
    awaited.push(PollFd::from_borrowed_fd(signals.arrival(), PollFlags::IN));
    awaited.extend(feed.map(Feed::interest));
    awaited.extend(relay.and_then(Relay::interest));
    poll::until(&mut awaited, until)?;
    let arrived = !awaited[0].revents().is_empty();
    drop(awaited);
    if arrived {
        signals.collect();
    }
    Ok(())
}

fn ending(status: ExitStatus) -> Ending {
    status.code().map_or_else(
        || {
            Ending::Killed(
                status
                    .signal()
                    .expect("a process ends by exit or by a signal"),
            )
        },
        Ending::Exited,
    )
}
