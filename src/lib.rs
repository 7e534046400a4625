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
//! use receipt_ledger::decide::{Decision, Reserve};
//! use receipt_ledger::receipt::{Fingerprint, Key};
//! use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("receipts.db");
//! let mut ledger = Ledger::new(SqliteStore::open(OpenOptions::new(path))?);
//! let request = Reserve::new(Key::parse("order:42")?, Fingerprint::parse("send-v1")?);
//! assert_eq!(ledger.reserve(&request)?.decision, Decision::Execute);
//! assert_eq!(ledger.reserve(&request)?.decision, Decision::SkipInFlight);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The straight line of a request: a verb of [`Ledger`] joins one rule of [`decide`] to one transaction of a
//! [`store::Store`]; the answer comes back only after it is durable.

pub mod child;
pub mod decide;
pub mod error;
pub mod fingerprint;
pub mod ledger;
pub mod receipt;
pub mod store;

pub use error::Error;
pub use ledger::Ledger;
