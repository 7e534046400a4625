//! Input through a pipe, answers through another, timed.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long one process took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fed {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
}

/// A key that lies anywhere in the index; no two are the same.
pub(crate) fn key(number: u64) -> String {
    let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("charge:v1:{scattered:016x}")
}

/// A line to reserve each key.
pub(crate) fn lines(numbers: Range<u64>) -> Vec<u8> {
    let mut lines = String::new();
    for number in numbers {
        let key = key(number);
        // Writing into a String does not fail.
        let _ = writeln!(
            lines,
            "{{\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"send-v1\"}}"
        );
    }
    lines.into_bytes()
}

/// Feeds a process and reads its answers: so many lines, each with this word in it.
pub(crate) fn fed(
    command: &mut Command,
    input: &[u8],
    answers: u64,
    word: &str,
) -> Result<Fed, Box<dyn Error>> {
    let before = children();
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("it has a standard input")?;
    let mut stdout = child.stdout.take().ok_or("it has a standard output")?;
    let mut said = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        stdout.read_to_end(&mut said)
    })?;
    let status = child.wait()?;
    let wall = began.elapsed();
    let processor = children().saturating_sub(before);
    let said = String::from_utf8(said)?;
    let good = said.lines().filter(|line| line.contains(word)).count();
    if !status.success() || u64::try_from(good)? != answers {
        return Err(format!("{command:?} gave {good} answers of {answers}").into());
    }
    Ok(Fed { wall, processor })
}

/// Processor time, user and system, of all processes that were waited for: clock ticks of 10 ms.
fn children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = behind_name
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// A process that is spoken to.
pub(crate) struct Coprocess {
    child: Child,
    stdin: Option<ChildStdin>,
    feeder: Option<JoinHandle<ChildStdin>>,
    stdout: BufReader<ChildStdout>,
}

impl Coprocess {
    /// Starts it; feeds it this from a thread of its own.
    pub(crate) fn start(
        command: &mut Command,
        input: Vec<u8>,
    ) -> Result<Coprocess, Box<dyn Error>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().ok_or("it has a standard output")?);
        let feeder = if input.is_empty() {
            None
        } else {
            let mut stdin = stdin.take().ok_or("it has a standard input")?;
            Some(thread::spawn(move || {
                // Whoever has ended reads no more; that shows where the answers are counted.
                let _ = stdin.write_all(&input);
                stdin
            }))
        };
        Ok(Coprocess {
            child,
            stdin,
            feeder,
            stdout,
        })
    }

    pub(crate) fn send(&mut self, line: &[u8]) -> Result<(), Box<dyn Error>> {
        let stdin = self.stdin.as_mut().ok_or("it is fed already")?;
        Ok(stdin.write_all(line)?)
    }

    /// Reads so many answers, each of which says EXECUTE.
    pub(crate) fn answers(&mut self, count: u64) -> Result<(), Box<dyn Error>> {
        let mut line = String::new();
        for _ in 0..count {
            line.clear();
            self.stdout.read_line(&mut line)?;
            if !line.contains("\"EXECUTE\"") {
                return Err(format!("it said {line:?}").into());
            }
        }
        Ok(())
    }

    /// The most memory it has held so far.
    pub(crate) fn peak_kib(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    /// Ends its input and waits for its end.
    pub(crate) fn end(mut self) -> Result<(), Box<dyn Error>> {
        drop(self.stdin.take());
        if let Some(feeder) = self.feeder.take() {
            drop(feeder.join());
        }
        if self.child.wait()?.success() {
            Ok(())
        } else {
            Err("it failed".into())
        }
    }
}
