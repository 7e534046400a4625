//! Wall time of whole processes, peers interleaved in one run so that what disturbs one disturbs all.

use std::error::Error;
use std::fs;
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

/// The median of each contender over so many rounds; within a round each runs once, in an order drawn anew: a process pays
/// for what the one before it left of the processor's caches and of the disk's queue.
pub(crate) fn medians(
    contenders: &[Contender<'_>],
    rounds: u64,
    expected: &str,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut taken = vec![Vec::new(); contenders.len()];
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for round in 0..rounds {
        fastrand::shuffle(&mut order);
        for &turn in &order {
            taken[turn].push(time(&mut contenders[turn](round), expected)?);
        }
    }
    Ok(taken
        .into_iter()
        .map(|taken| quantile(taken, 1, 2))
        .collect())
}

/// The processor time of one call of a contender, user and system together: what is left when the disk is taken away.
/// The kernel tells it in hundredths of a second, so it is the mean over a block of calls.
pub(crate) fn processor_time(
    contender: &Contender<'_>,
    rounds: std::ops::Range<u64>,
    expected: &str,
) -> Result<Duration, Box<dyn Error>> {
    let calls = u32::try_from(rounds.end - rounds.start)?;
    let before = children_ticks()?;
    for round in rounds {
        time(&mut contender(round), expected)?;
    }
    let ticks = children_ticks()? - before;
    Ok(Duration::from_millis(ticks * 10) / calls)
}

/// The processor time of all children that have ended, in hundredths of a second (proc(5), stat).
fn children_ticks() -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program stands in parentheses and may hold anything; cutime and cstime are 13 and 14 words on.
    let (_, words) = stat.rsplit_once(')').ok_or("proc(5) changed")?;
    let mut times = words.split_whitespace().skip(13).take(2);
    let mut next = || times.next().ok_or("proc(5) changed");
    Ok(next()?.parse::<u64>()? + next()?.parse::<u64>()?)
}

/// The value below which the given part of all lies.
pub(crate) fn quantile(mut taken: Vec<Duration>, part: usize, of: usize) -> Duration {
    taken.sort();
    taken[(taken.len() * part / of).min(taken.len() - 1)]
}
