//! Wall time of whole processes, peers interleaved in one run so that what disturbs one disturbs all.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One of several that are timed in turn: makes the command of a round.
pub(crate) type Contender<'a> = Box<dyn Fn(u64) -> Command + 'a>;

/// Runs a process to its end. What it must print, if anything, has to be the end of its standard output.
pub(crate) fn time(command: &mut Command, expected: &str) -> Result<Duration, Box<dyn Error>> {
    command.stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && printed.trim_end().ends_with(expected) {
        return Ok(took);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} answered {printed:?}, {told:?}").into())
}

/// The median of each contender over so many rounds; within a round each runs once, and who begins goes round.
pub(crate) fn medians(
    contenders: &[Contender<'_>],
    rounds: u64,
    expected: &str,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut taken = vec![Vec::new(); contenders.len()];
    let first_of = |round: u64| usize::try_from(round).unwrap_or(0) % contenders.len();
    for round in 0..rounds {
        for step in 0..contenders.len() {
            let turn = (first_of(round) + step) % contenders.len();
            taken[turn].push(time(&mut contenders[turn](round), expected)?);
        }
    }
    Ok(taken
        .into_iter()
        .map(|taken| quantile(taken, 1, 2))
        .collect())
}

/// The value below which the given part of all lies.
pub(crate) fn quantile(mut taken: Vec<Duration>, part: usize, of: usize) -> Duration {
    taken.sort();
    taken[(taken.len() * part / of).min(taken.len() - 1)]
}
