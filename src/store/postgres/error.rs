//! The server's errors in the ledger's words.

use std::io;
use std::time::Duration;

use super::address::Host;
use super::connect::Refused;
use super::wire::{Fault, ServerError};
use crate::error::{Error, Source};

/// What can go wrong inside a transaction.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server refused a statement.
    Server(ServerError),
    /// The connection was lost, or silent for too long, before anything was to be committed.
    Lost(io::Error),
    /// No connection came about.
    Unreachable(Host, Refused),
    /// Somebody else was first: look again.
    Rival,
    /// A column holds what no ledger writes.
    Impossible(&'static str),
    /// The ledger itself has a reason not to answer.
    Ledger(Error),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        match fault {
            // The session has ended with it, before a COMMIT could have been taken.
            Fault::Server(error) if error.fatal => Trouble::Lost(io::Error::other(error.message)),
            // A key that was new has a row by now.
            Fault::Server(error) if error.second_row => Trouble::Rival,
            Fault::Server(error) => Trouble::Server(error),
            Fault::Lost(error) => Trouble::Lost(error),
            Fault::Late => Trouble::Lost(io::Error::new(
                io::ErrorKind::TimedOut,
                "the server did not answer in time",
            )),
        }
    }
}

impl Trouble {
    /// Whether the same may well work if it is tried again: a lost race, a deadlock, a server that was restarted.
    pub(super) fn passes(&self) -> bool {
        match self {
            Trouble::Server(error) => matches!(&*error.code, "40001" | "40P01"),
            Trouble::Lost(error) => error.kind() != io::ErrorKind::TimedOut,
            Trouble::Rival => true,
            Trouble::Unreachable(..) | Trouble::Impossible(_) | Trouble::Ledger(_) => false,
        }
    }

    /// Puts it into the ledger's words.
    pub(super) fn told(self, action: &'static str, ledger: &str, waited: Duration) -> Error {
        let ledger = ledger.to_owned();
        let io = |ledger: String, source: Source| Error::Io {
            action,
            ledger,
            source,
        };
        match self {
            Trouble::Server(error) => server_error(action, ledger, error, waited),
            Trouble::Lost(error) => io(ledger, error.into()),
            Trouble::Unreachable(host, refused) => Error::Unreachable {
                ledger,
                source: unreachable(&host, refused).into(),
            },
            Trouble::Rival => busy(action, ledger, waited),
            Trouble::Impossible(column) => Error::Corrupt {
                ledger,
                found: format!("the column {column} holds what no ledger writes"),
            },
            Trouble::Ledger(error) => error,
        }
    }
}

fn busy(action: &'static str, ledger: String, waited: Duration) -> Error {
    Error::Busy {
        action,
        ledger,
        waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
    }
}

fn server_error(
    action: &'static str,
    ledger: String,
    error: ServerError,
    waited: Duration,
) -> Error {
    match &*error.code {
        // Another session holds a lock; or races and deadlocks went on for as long as there was time.
        "55P03" | "40001" | "40P01" => busy(action, ledger, waited),
        // No such schema, no such table.
        "3F000" | "42P01" => Error::NoLedger { ledger },
        // Constraints of the ledger's own, and pages that cannot be read.
        code if code.starts_with("23") || code.starts_with("XX") => Error::Corrupt {
            ledger,
            found: error.message,
        },
        _ => Error::Io {
            action,
            ledger,
            source: words(&error).into(),
        },
    }
}

/// The server's message with its code, in one line; none of the values that it keeps in its details.
pub(super) fn words(error: &ServerError) -> String {
    format!("{} (SQLSTATE {})", error.message, error.code)
}

fn unreachable(host: &Host, refused: Refused) -> String {
    let place = match host.socket_folder() {
        Some(folder) => format!("the socket in {folder}, port {}", host.port),
        None => format!("{} port {}", host.name, host.port),
    };
    match refused {
        Refused::Server(error) => format!("{place}: {}", words(&error)),
        Refused::Io(error) => format!("{place}: {error}"),
        Refused::ReadOnly => {
            format!("{place}: it is a standby, and no other host can be written to")
        }
    }
}
