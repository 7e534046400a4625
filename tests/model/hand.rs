//! The hand on the clock: the test moves it, the store reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use receipt_ledger::receipt::Timestamp;
use receipt_ledger::store::sqlite::Clock;

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub(crate) struct Hand(Arc<AtomicI64>);

impl Default for Hand {
    fn default() -> Hand {
        Hand(Arc::new(AtomicI64::new(1_800_000_000_000)))
    }
}

impl Hand {
    pub(crate) fn move_to(&self, ms: i64) {
        self.0.store(ms, Ordering::SeqCst);
    }

    pub(crate) fn ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.ms()).unwrap()
    }
}
