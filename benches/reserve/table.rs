//! The table: what | ours | peer | ratio | target | ok.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

/// Writes a row as soon as it is known.
pub(crate) struct Table;

impl Table {
    /// Says on what it runs, and heads the table.
    pub(crate) fn start() -> Result<Table, Box<dyn Error>> {
        let cores = std::thread::available_parallelism()?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let ours = rusqlite::version();
        let shell = first_word("sqlite3", &["--version"]);
        let python = first_word(
            "python3",
            &["-c", "import sqlite3; print(sqlite3.sqlite_version)"],
        );
        let text = format!(
            "{cores} cores, Linux {}, load {}; SQLite: ours {ours}, shell {shell}, Python's {python}\n\n",
            kernel.trim(),
            load.split(' ').next().unwrap_or_default(),
        );
        io::stdout().write_all(text.as_bytes())?;
        let table = Table;
        table.row(["what", "ours", "peer", "ratio", "target", "ok"])?;
        table.row(["---", "---", "---", "---", "---", "---"])?;
        Ok(table)
    }

    /// Our time against a peer's; a ratio without a bound is there to explain the others.
    pub(crate) fn times(
        &mut self,
        what: &str,
        ours: Duration,
        peer: Duration,
        ratio_max: Option<f64>,
    ) -> Result<(), Box<dyn Error>> {
        let ratio = ours.as_secs_f64() / peer.as_secs_f64();
        let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
        let target = ratio_max.map(|max| format!("≤ {max} ×"));
        let reached = ratio_max.map(|max| ok(ratio <= max));
        self.row([
            what,
            &ms(ours),
            &ms(peer),
            &format!("{ratio:.2} ×"),
            &target.unwrap_or_default(),
            reached.unwrap_or_default(),
        ])
    }

    /// Our calls a second against a peer's.
    pub(crate) fn rates(
        &mut self,
        what: &str,
        ours: f64,
        peer: f64,
        ratio_min: f64,
    ) -> Result<(), Box<dyn Error>> {
        let ratio = ours / peer;
        let rate = |rate: f64| format!("{rate:.0}/s");
        let target = format!("≥ {ratio_min} ×");
        self.row([
            what,
            &rate(ours),
            &rate(peer),
            &format!("{ratio:.2} ×"),
            &target,
            ok(ratio >= ratio_min),
        ])
    }

    /// A figure with a bound of its own.
    pub(crate) fn figure(&mut self, what: &str, ours: f64, max: f64) -> Result<(), Box<dyn Error>> {
        self.row([
            what,
            &format!("{ours:.2}"),
            "",
            "",
            &format!("≤ {max}"),
            ok(ours <= max),
        ])
    }

    /// Memory, with a bound of its own.
    pub(crate) fn mebibytes(
        &mut self,
        what: &str,
        kib: u64,
        max: f64,
    ) -> Result<(), Box<dyn Error>> {
        let ours = f64::from(u32::try_from(kib)?) / 1024.0;
        self.row([
            what,
            &format!("{ours:.1} MiB"),
            "",
            "",
            &format!("≤ {max} MiB"),
            ok(ours <= max),
        ])
    }

    /// What could not be measured here.
    pub(crate) fn skipped(&mut self, what: &str, why: &str) -> Result<(), Box<dyn Error>> {
        self.row([what, &format!("skipped: {why}"), "", "", "", ""])
    }

    fn row(&self, cells: [&str; 6]) -> Result<(), Box<dyn Error>> {
        let [what, ours, peer, ratio, target, ok] = cells;
        let line = format!(
            "| {what:<58} | {ours:>10} | {peer:>10} | {ratio:>7} | {target:>8} | {ok:<3} |\n"
        );
        let mut stdout = io::stdout().lock();
        stdout.write_all(line.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }
}

fn ok(reached: bool) -> &'static str {
    if reached { "yes" } else { "NO" }
}

fn first_word(program: &str, arguments: &[&str]) -> String {
    let asked = Command::new(program).args(arguments).output();
    let text = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    text.unwrap_or_default()
        .split_whitespace()
        .next()
        .unwrap_or("none")
        .to_owned()
}
