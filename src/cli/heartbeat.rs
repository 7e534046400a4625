//! Renews the lease while a command runs, in a thread and over a connection of its own: a ledger that is slow to answer
//! must not keep signals from the command.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::open::{OpenLedger, open_to_settle};
use super::output::Output;
use super::parse::from_ms;
use super::settings::Settings;
use receipt_ledger::decide::{Renew, SettleAnswer};

/// Beats in one lease, so that one may fail.
const BEATS_A_LEASE: u32 = 3;

/// A lease being renewed.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Heartbeat {
    /// Renews the lease at a third of it, until it is stopped or the attempt is no longer ours to renew.
    pub(crate) fn start(renew: Renew, settings: &Settings, output: Output) -> Option<Heartbeat> {
        let (stop, stopped) = mpsc::channel();
        let every = from_ms(renew.lease_ms) / BEATS_A_LEASE;
        // A beat that waits longer than this for locks comes too late anyway.
        let busy_timeout = settings.busy_timeout.unwrap_or(every).min(every);
        let settings = Settings {
            busy_timeout: Some(busy_timeout),
            ..settings.clone()
        };
        let beat_on = move || {
            let mut ledger = None;
            let mut told = false;
            let mut began = Instant::now();
            // From beginning to beginning: a beat that failed because it waited for a lock is followed by the next.
            while wait(every.saturating_sub(began.elapsed()), &stopped) {
                began = Instant::now();
                match beat(&mut ledger, &renew, &settings) {
                    Ok(SettleAnswer::Settled { .. }) => told = false,
                    Ok(SettleAnswer::Refused(_)) => break,
                    Err(failure) => {
                        ledger = None;
                        if !told {
                            output.note(&format!(
                                "the lease of {} could not be renewed; the command goes on: {}",
                                renew.key, failure.message
                            ));
                        }
                        told = true;
                    }
                }
            }
            // Only what was read and renewed is behind this connection: nothing is lost with an error here.
            let _ = ledger.map(OpenLedger::close);
        };
        let thread = std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(beat_on);
        match thread {
            Ok(thread) => Some(Heartbeat { stop, thread }),
            Err(error) => {
                output.note(&format!(
                    "the lease is not renewed: no thread for it: {error}"
                ));
                None
            }
        }
    }

    /// Stops, and waits for a beat under way.
    pub(crate) fn stop(self) {
        drop(self.stop);
        // A beat that panicked has renewed nothing more; the outcome is on record by now.
        let _ = self.thread.join();
    }
}

/// Whether so much time has gone by and nobody has said stop.
fn wait(time: Duration, stopped: &Receiver<()>) -> bool {
    stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

fn beat(
    ledger: &mut Option<OpenLedger>,
    renew: &Renew,
    settings: &Settings,
) -> Result<SettleAnswer, Failure> {
    if ledger.is_none() {
        *ledger = Some(open_to_settle(settings)?);
    }
    match ledger {
        Some(ledger) => Ok(ledger.renew(renew)?),
        None => Err(Failure::new("io", "the ledger is not open")),
    }
}
