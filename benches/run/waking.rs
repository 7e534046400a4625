//! How `run` waits for its command, as strace sees it.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::clock;

/// What was seen of several runs.
pub(crate) struct Seen {
    /// The median time from the command's end to the call that learns of it.
    pub(crate) ms: f64,
    /// How often a run woke while its command slept, on average.
    pub(crate) wakes: f64,
    /// How often one called for a sleep, on average.
    pub(crate) sleeps: f64,
}

/// Traces so many runs of a command that sleeps; nothing if there is no strace.
pub(crate) fn look(
    log: &Path,
    rounds: u64,
    run: impl Fn(u64) -> Command,
) -> Result<Option<Seen>, Box<dyn Error>> {
    if Command::new("strace").arg("-V").output().is_err() {
        return Ok(None);
    }
    let (mut taken, mut wakes, mut sleeps) = (Vec::new(), 0, 0);
    for round in 0..rounds {
        let run = run(round);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-ttt", "-o"]).arg(log).args([
            "-e",
            "trace=execve,poll,ppoll,nanosleep,clock_nanosleep,wait4,waitid,exit_group",
        ]);
        strace.arg(run.get_program()).args(run.get_args());
        let status = strace.stdin(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{strace:?}: {status}").into());
        }
        let trace = Trace::read(&fs::read_to_string(log)?)?;
        taken.push(trace.from_end_to_knowing);
        wakes += trace.wakes;
        sleeps += trace.sleeps;
    }
    let each = f64::from(u32::try_from(rounds)?);
    Ok(Some(Seen {
        ms: clock::quantile(taken, 1, 2).as_secs_f64() * 1000.0,
        wakes: f64::from(wakes) / each,
        sleeps: f64::from(sleeps) / each,
    }))
}

/// One traced run.
struct Trace {
    from_end_to_knowing: Duration,
    wakes: u32,
    sleeps: u32,
}

impl Trace {
    fn read(text: &str) -> Result<Trace, Box<dyn Error>> {
        // PID TIME EVENT
        let lines = text.lines().filter_map(|line| {
            let (pid, rest) = line.split_once(char::is_whitespace)?;
            let (time, event) = rest.trim_start().split_once(' ')?;
            Some((pid, time.parse::<f64>().ok()?, event))
        });
        let lines: Vec<(&str, f64, &str)> = lines.collect();
        let run = lines.first().ok_or("an empty trace")?.0;
        let (command, begun) = lines
            .iter()
            .find(|(pid, _, event)| *pid != run && event.starts_with("execve("))
            .map(|(pid, begun, _)| (*pid, *begun))
            .ok_or("no command was started")?;
        let ended = lines
            .iter()
            .find(|(pid, _, event)| *pid == command && event.starts_with("+++ exited"))
            .map(|(_, ended, _)| *ended)
            .ok_or("the command has not ended")?;
        let learns = format!(" = {command}");
        let known = lines
            .iter()
            .find(|(pid, time, event)| {
                *pid == run && *time >= ended && event.contains("wait") && event.ends_with(&learns)
            })
            .map(|(_, known, _)| *known)
            .ok_or("run has not learned of the end")?;
        let of_run = |event: &&(&str, f64, &str)| event.0 != command;
        // A wake is the return of a poll well inside the time that the command sleeps.
        let asleep = begun + (ended - begun) / 4.0..ended - (ended - begun) / 4.0;
        let is_poll = |event: &str| event.starts_with("poll(") || event.starts_with("ppoll(");
        let wakes = lines
            .iter()
            .filter(of_run)
            .filter(|(_, time, event)| asleep.contains(time) && is_poll(event))
            .count();
        let sleeps = lines
            .iter()
            .filter(of_run)
            .filter(|(_, _, event)| event.contains("nanosleep("))
            .count();
        Ok(Trace {
            from_end_to_knowing: Duration::try_from_secs_f64(known - ended)?,
            wakes: u32::try_from(wakes)?,
            sleeps: u32::try_from(sleeps)?,
        })
    }
}
