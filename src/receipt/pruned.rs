//! What is left of a receipt after a prune: digests that still answer.
//!
//! Arithmetic: among n keys the chance that any two share a digest of b bits is about n² / 2^(b+1). With 128 bits and
//! 10^10 keys that is 10^20 / 2^129, below 2 in 10^19. A fingerprint is only ever compared with the one kept for the
//! same key, so 64 bits leave a chance of 1 in 2^64 (5 in 10^20) that another content passes for the first; over
//! 10^10 such comparisons that is 5 in 10^10, and it errs towards a skip, never towards a second execution of one key.

use std::fmt;

use sha2::{Digest, Sha256};

use super::{Fingerprint, Key, Receipt, State, Timestamp};

/// The first 128 bits of SHA-256 of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyDigest(pub [u8; 16]);

/// The first 64 bits of SHA-256 of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FingerprintDigest(pub [u8; 8]);

fn leading<const N: usize>(text: &str) -> [u8; N] {
    let digest = Sha256::digest(text.as_bytes());
    let mut leading = [0; N];
    leading.copy_from_slice(&digest[..N]);
    leading
}

impl KeyDigest {
    /// The digest of a key.
    pub fn of(key: &Key) -> KeyDigest {
        KeyDigest(leading(key.as_str()))
    }
}

impl fmt::Display for KeyDigest {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for FingerprintDigest {
    /// 16 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FingerprintDigest {
    /// The digest of a fingerprint.
    pub fn of(fingerprint: &Fingerprint) -> FingerprintDigest {
        FingerprintDigest(leading(fingerprint.as_str()))
    }
}

/// A settled receipt reduced to what it takes to answer as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Stands for the fingerprint.
    pub fingerprint: FingerprintDigest,
    /// `succeeded` or `failed`.
    pub state: State,
    /// The attempt that was settled.
    pub attempt: u32,
    /// Whether a late success stands against it: see [`Receipt::contested`].
    pub contested: bool,
}

/// What the ledger holds for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The receipt, whole.
    Whole(Box<Receipt>),
    /// Its digests.
    Pruned(Pruned),
}

impl Entry {
    /// Whether this is the fingerprint the key was bound to.
    pub fn matches(&self, fingerprint: &Fingerprint) -> bool {
        match self {
            Entry::Whole(receipt) => receipt.fingerprint == *fingerprint,
            Entry::Pruned(pruned) => pruned.fingerprint == FingerprintDigest::of(fingerprint),
        }
    }

    /// What it is at `now`.
    pub fn state(&self, now: Timestamp) -> State {
        match self {
            Entry::Whole(receipt) => receipt.state(now),
            Entry::Pruned(pruned) => pruned.state,
        }
    }

    /// The current attempt.
    pub fn attempt(&self) -> u32 {
        match self {
            Entry::Whole(receipt) => receipt.attempt,
            Entry::Pruned(pruned) => pruned.attempt,
        }
    }
}
