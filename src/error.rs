//! Why the ledger could not answer. A refusal by the rules is an answer and is not here.

use std::error::Error as StdError;

/// The cause underneath, kept for whoever wants to look.
pub type Source = Box<dyn StdError + Send + Sync + 'static>;

/// The ledger could not answer: after any of these the effect must not be performed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else held the ledger for longer than the busy timeout.
    #[error("cannot {action} {ledger}: it was locked by others for {waited_ms} ms")]
    Busy {
        /// What was attempted.
        action: &'static str,
        /// The ledger, as an absolute path or a URL without its password.
        ledger: String,
        /// The busy timeout.
        waited_ms: u64,
    },
    /// There is no ledger where one was expected.
    #[error("there is no ledger at {ledger}")]
    NoLedger {
        /// The ledger's name.
        ledger: String,
    },
    /// The path names something that is not a ledger.
    #[error("{ledger} is not a ledger: {found}")]
    NotALedger {
        /// The ledger's name.
        ledger: String,
        /// What it is instead.
        found: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// The file could be a ledger but must not be used as it is.
    #[error("refused to use {ledger}: {found}")]
    RefusedFile {
        /// The ledger's name.
        ledger: String,
        /// What is wrong with it.
        found: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// A newer version of the program made the ledger.
    #[error("{ledger} has schema version {found}; this program knows versions up to {known}")]
    NewerLedger {
        /// The ledger's name.
        ledger: String,
        /// Its schema version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A copy: the ledger it was taken from may have decided since.
    #[error("{ledger} is a copy of a ledger: what was decided after it was taken is not in it")]
    Copy {
        /// The ledger's name.
        ledger: String,
    },
    /// Its receipts have moved to another ledger.
    #[error("{ledger} is retired: its receipts have moved to another ledger")]
    Retired {
        /// The ledger's name.
        ledger: String,
    },
    /// What is stored breaks an invariant.
    #[error("{ledger} is damaged: {found}")]
    Corrupt {
        /// The ledger's name.
        ledger: String,
        /// What was found.
        found: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {ledger}: {source}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The ledger's name.
        ledger: String,
        /// Why it failed.
        source: Source,
    },
    /// The server that holds it could not be reached, or took nobody in.
    #[error("cannot connect to {ledger}: {source}")]
    Unreachable {
        /// The ledger's name.
        ledger: String,
        /// Why not.
        source: Source,
    },
    /// The statements of `apply` were refused, or failed.
    #[error("the SQL was not applied to {ledger}, and nothing was kept: {why}")]
    Sql {
        /// The ledger's name.
        ledger: String,
        /// What was refused, or why it failed; none of the statements' values.
        why: String,
    },
    /// Storing failed at the last step: the decision may or may not be kept.
    #[error("cannot commit to {ledger}: {source}; it is not known whether the decision was stored")]
    Uncertain {
        /// The ledger's name.
        ledger: String,
        /// Why it failed.
        source: Source,
    },
    /// The file was renamed, replaced or removed while it was open.
    #[error("{ledger} was moved, replaced or removed while it was open")]
    Moved {
        /// The ledger's name.
        ledger: String,
    },
}

impl Error {
    /// The stable code that scripts may look at.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Busy { .. } => "busy",
            Error::NoLedger { .. } => "no-ledger",
            Error::NotALedger { .. } => "not-a-ledger",
            Error::Sql { .. } => "invalid-input",
            Error::RefusedFile { .. } => "refused-file",
            Error::NewerLedger { .. } => "newer-ledger",
            Error::Copy { .. } => "restored-backup",
            Error::Retired { .. } => "retired",
            Error::Corrupt { .. } => "corrupt",
            Error::Io { .. }
            | Error::Unreachable { .. }
            | Error::Uncertain { .. }
            | Error::Moved { .. } => "io",
        }
    }

    /// What would help, where something is known to.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Busy { .. } => Some("try again, or wait longer with --busy-timeout"),
            Error::NoLedger { .. } => Some(
                "check the path; 'receipt-ledger init' creates a ledger where there should be one",
            ),
            Error::NotALedger { hint, .. } | Error::RefusedFile { hint, .. } => Some(hint),
            Error::NewerLedger { .. } => Some("use the newer receipt-ledger that wrote it"),
            Error::Copy { .. } => Some(
                "reconcile what was performed since; then 'receipt-ledger restore --accept-gap' puts it in use",
            ),
            Error::Retired { .. } => Some("use the ledger that its export was imported into"),
            Error::Corrupt { .. } => Some(
                "do not perform anything on its word; 'receipt-ledger verify' says more, 'restore --from' puts a copy back",
            ),
            Error::Io { .. } | Error::Unreachable { .. } | Error::Sql { .. } => None,
            Error::Uncertain { .. } => {
                Some("do not perform the effect; ask again, and the ledger tells what it kept")
            }
            Error::Moved { .. } => Some(
                "what was decided may be in the file that was moved away; look there before anything is performed",
            ),
        }
    }
}
