//! Many processes at once on one ledger.

use std::error::Error;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::clock;
use super::peers::LINE;

/// Processes in flight at any moment.
pub(crate) const WORKERS: u64 = 64;

/// What a crowd saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How long each call took, from start to exit.
    pub(crate) taken: Vec<Duration>,
    /// How long they took together.
    pub(crate) wall: Duration,
}

impl Seen {
    /// The time that 99 of 100 calls stay under.
    pub(crate) fn p99(&self) -> Duration {
        clock::quantile(self.taken.clone(), 99, 100)
    }

    /// Calls a second.
    pub(crate) fn throughput(&self) -> f64 {
        let calls = u32::try_from(self.taken.len()).unwrap_or(u32::MAX);
        f64::from(calls) / self.wall.as_secs_f64()
    }
}

/// Lets every worker start together and make its calls one after the other. Any error ends it all.
pub(crate) fn run(
    seen: &mut Seen,
    calls: u64,
    command: &(dyn Fn(u64) -> Command + Sync),
) -> Result<(), Box<dyn Error>> {
    let barrier = Barrier::new(usize::try_from(WORKERS)? + 1);
    let (wall, answers) = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let barrier = &barrier;
                scope.spawn(move || -> Result<Vec<Duration>, String> {
                    barrier.wait();
                    (0..calls)
                        .map(|call| clock::time(&mut command(worker * calls + call), LINE))
                        .collect::<Result<_, _>>()
                        .map_err(|error| error.to_string())
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        let answers: Vec<_> = workers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        (began.elapsed(), answers)
    });
    for answer in answers {
        seen.taken.extend(answer.map_err(|_| "a worker panicked")??);
    }
    seen.wall += wall;
    Ok(())
}
