//! How long a call waits: for locks exactly as long as it was told, for everything else a little longer.

use std::time::{Duration, Instant};

/// Connections and statements get at least so much: less cannot be told from a busy machine.
const LEAST: Duration = Duration::from_secs(1);
/// How much longer than for a lock a statement may take, so that a lock is told as a lock.
const BEYOND_LOCKS: Duration = Duration::from_millis(250);
/// How much longer than its own limit the server is given to answer.
const BEYOND_THE_SERVER: Duration = Duration::from_millis(750);

/// The time that one call has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    until: Instant,
    longest: Duration,
}

impl Patience {
    /// Patience that begins now. A timeout that no clock can hold is as good as thirty years.
    pub(super) fn new(busy_timeout: Duration) -> Patience {
        const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        Patience {
            until: Instant::now() + busy_timeout.min(FOREVER),
            longest: Duration::MAX,
        }
    }

    /// The same, but waiting for no lock longer than this at a time.
    pub(super) fn at_most(self, longest: Duration) -> Patience {
        Patience { longest, ..self }
    }

    pub(super) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn for_locks(self) -> Duration {
        self.left().min(self.longest)
    }

    /// What PostgreSQL takes as `lock_timeout`; 0 would mean no limit.
    pub(super) fn lock_ms(self) -> String {
        ms(self.for_locks())
    }

    /// What PostgreSQL takes as `statement_timeout`.
    pub(super) fn statement_ms(self) -> String {
        ms(self.left().max(LEAST) + BEYOND_LOCKS)
    }

    /// When it is given up to connect.
    pub(super) fn connecting(self) -> Instant {
        Instant::now() + self.left().max(LEAST)
    }

    /// When the server counts as silent.
    pub(super) fn deadline(self) -> Instant {
        Instant::now() + self.silence()
    }

    /// How long the server may be silent.
    pub(super) fn silence(self) -> Duration {
        self.left().max(LEAST) + BEYOND_LOCKS + BEYOND_THE_SERVER
    }
}

/// Whole milliseconds, at least one, at most what the server can hold.
fn ms(duration: Duration) -> String {
    let ms = i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
    ms.max(1).to_string()
}
