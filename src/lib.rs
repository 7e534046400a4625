//! A durable ledger of intended effects: it answers, for one key, *may I perform this now?*
//!
//! An effect that cannot be taken back (a payment, an email, a deploy) is named by a [`receipt::Key`] and bound to its
//! content by a [`receipt::Fingerprint`]. [`Ledger::reserve`] tells exactly one caller to perform it; everybody else is
//! told to skip, to retry because somebody said on record that this is safe, or that the key means something else.
//! [`Ledger::settle`] says afterwards what came of it. A key is performed again only when somebody said, explicitly and
//! on record, that this is safe: a timeout, a dead worker or a full disk never says so.
//!
//! ```
//! use receipt_ledger::Ledger;
//! use receipt_ledger::decide::{Decision, Reserve, Settle, Settlement};
//! use receipt_ledger::receipt::{Fingerprint, Key, ResultJson};
//! use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("receipts.db");
//! let mut ledger = Ledger::new(SqliteStore::open(OpenOptions::new(path))?);
//! let request = Reserve::new(Key::parse("order:42")?, Fingerprint::parse("send-v1")?);
//! let answer = ledger.reserve(&request)?;
//! assert_eq!(answer.decision, Decision::Execute);
//! // A second caller, while the first one sends the order:
//! assert_eq!(ledger.reserve(&request)?.decision, Decision::SkipInFlight);
//! // The order is sent; the first caller says so.
//! ledger.settle(&Settle {
//!     key: request.key.clone(),
//!     attempt: Some(answer.attempt),
//!     owner: None,
//!     settlement: Settlement::Succeeded {
//!         result: Some(ResultJson::parse(br#"{"delivery_id":"d_42"}"#)?),
//!     },
//! })?;
//! assert_eq!(ledger.reserve(&request)?.decision, Decision::SkipSucceeded);
//! ledger.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The straight line of a request: a verb of [`Ledger`] joins one rule of [`decide`] to one transaction of a
//! [`store::Store`]; the answer comes back only after it is durable. What the rules refuse is an answer
//! ([`decide::Refusal`]); an [`Error`] means that there is none, and then the effect must not be performed.
//!
//! [`reconcile`] compares a ledger with what the provider of the effects says it did, and settles by it.
//! [`fingerprint`] makes fingerprints from payloads, and [`child`] starts the command of the `run` subcommand: a program
//! that performs its effects itself has no use for it.

pub mod child;
pub mod decide;
pub mod error;
pub mod export;
pub mod fingerprint;
pub mod ledger;
pub mod receipt;
pub mod reconcile;
pub mod store;
pub mod verify;

pub use error::Error;
pub use ledger::Ledger;
