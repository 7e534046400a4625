//! `cargo bench --bench batch`: many decisions by one process, against the `sqlite3` shell fed the same transactions.
//!
//! Peers run in turn in the same run. `-- --quick` takes a tenth of everything, once. Files go below the target folder,
//! or below `BENCH_DIR`: that should be a disk. NOTES.md says more.

#[path = "../reserve/asked.rs"]
mod asked;
mod feed;
mod peer;
#[allow(dead_code)]
#[path = "../reserve/table.rs"]
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use self::asked::Asked;
use self::feed::{Coprocess, Fed};
use self::table::Table;

const OURS: &str = env!("CARGO_BIN_EXE_receipt-ledger");

/// How much is done.
struct Effort {
    keys: u64,
    rounds: usize,
    many: u64,
    one_by_one: u64,
}

const WHOLE: Effort = Effort {
    keys: 200_000,
    rounds: 3,
    many: 1_000_000,
    one_by_one: 1_000,
};
const QUICK: Effort = Effort {
    keys: 20_000,
    rounds: 1,
    many: 100_000,
    one_by_one: 200,
};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(Asked { quick, below }) = asked::asked() else {
        return Ok(());
    };
    let effort = if quick { QUICK } else { WHOLE };
    let folder = asked::folder_in(&below)?;
    let mut table = Table::start()?;
    against_the_shell(folder.path(), &effort, &mut table)?;
    to_a_million(folder.path(), &effort, &mut table)?;
    one_by_one(folder.path(), &effort, &mut table)
}

/// New keys, and the same again.
fn against_the_shell(
    folder: &Path,
    effort: &Effort,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let lines = feed::lines(0..effort.keys);
    let (mut new, mut again) = (Vec::new(), Vec::new());
    let (mut shell_new, mut shell_again) = (Vec::new(), Vec::new());
    let sql = peer::is_there().then(|| peer::transactions(0..effort.keys));
    for round in 0..effort.rounds {
        let ledger = new_ledger(folder, &format!("ours-{round}"))?;
        new.push(feed::fed(
            &mut batch(&ledger),
            &lines,
            effort.keys,
            "EXECUTE",
        )?);
        again.push(feed::fed(
            &mut batch(&ledger),
            &lines,
            effort.keys,
            "SKIP_IN_FLIGHT",
        )?);
        if let Some(sql) = &sql {
            let ledger = new_ledger(folder, &format!("shell-{round}"))?;
            for taken in [&mut shell_new, &mut shell_again] {
                taken.push(feed::fed(
                    &mut peer::shell(&ledger),
                    sql,
                    effort.keys,
                    "reserved",
                )?);
            }
        }
    }
    let keys = effort.keys;
    for (what, ours, shell, ratio_min) in [
        (
            format!("batch, {keys} new keys, against the shell"),
            new,
            shell_new,
            2.0,
        ),
        (
            format!("batch, the same {keys} again (skips)"),
            again,
            shell_again,
            4.0,
        ),
    ] {
        if shell.is_empty() {
            table.skipped(&what, "no sqlite3")?;
            continue;
        }
        let rate = |taken: Vec<Fed>, of: fn(&Fed) -> Duration| {
            let mut taken: Vec<Duration> = taken.iter().map(of).collect();
            taken.sort();
            per_second(keys, taken[taken.len() / 2])
        };
        table.rates(
            &what,
            rate(ours.clone(), |fed| fed.wall),
            rate(shell.clone(), |fed| fed.wall),
            ratio_min,
        )?;
        let what = "  the same by processor time";
        table.rates(
            what,
            rate(ours, |fed| fed.processor),
            rate(shell, |fed| fed.processor),
            ratio_min,
        )?;
    }
    Ok(())
}

/// Speed and memory while the ledger grows.
fn to_a_million(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let ledger = new_ledger(folder, "million")?;
    let tenth = effort.many / 10;
    let mut process = Coprocess::start(&mut batch(&ledger), feed::lines(0..effort.many))?;
    let mut stretch = |answers| -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        process.answers(answers)?;
        Ok(began.elapsed())
    };
    let first = stretch(tenth)?;
    stretch(effort.many - 2 * tenth)?;
    let last = stretch(tenth)?;
    let peak = process.peak_kib();
    process.end()?;
    let what = format!("batch, {} new keys: last tenth against first", effort.many);
    table.rates(
        &what,
        per_second(tenth, last),
        per_second(tenth, first),
        0.6,
    )?;
    match peak {
        Some(kib) => table.mebibytes("  the same: peak memory", kib, 64.0),
        None => table.skipped("  the same: peak memory", "no /proc"),
    }
}

/// One line, one answer, against one process each.
fn one_by_one(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let (by_lines, by_calls) = (new_ledger(folder, "lines")?, new_ledger(folder, "calls")?);
    let began = Instant::now();
    let mut process = Coprocess::start(&mut batch(&by_lines), Vec::new())?;
    for number in 0..effort.one_by_one {
        process.send(&feed::lines(number..number + 1))?;
        process.answers(1)?;
    }
    process.end()?;
    let lines = began.elapsed();
    let began = Instant::now();
    for number in 0..effort.one_by_one {
        let mut reserve = Command::new(OURS);
        reserve
            .arg("--db")
            .arg(&by_calls)
            .args(["reserve", "--fingerprint=send-v1"]);
        let told = reserve
            .arg(format!("--key={}", feed::key(number)))
            .output()?;
        if !told.stdout.starts_with(b"decision=EXECUTE ") {
            return Err(String::from_utf8_lossy(&told.stderr).into());
        }
    }
    let calls = began.elapsed();
    let what = format!(
        "{} lines one by one, against as many reserve",
        effort.one_by_one
    );
    let rate = |taken| per_second(effort.one_by_one, taken);
    table.rates(&what, rate(lines), rate(calls), 3.0)
}

fn batch(ledger: &Path) -> Command {
    let mut command = Command::new(OURS);
    command.arg("--db").arg(ledger).arg("batch");
    command
}

fn new_ledger(folder: &Path, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let ledger = folder.join(format!("{name}.db"));
    let made = Command::new(OURS)
        .arg("--db")
        .arg(&ledger)
        .arg("init")
        .output()?;
    if made.status.success() {
        Ok(ledger)
    } else {
        Err(String::from_utf8_lossy(&made.stderr).into())
    }
}

fn per_second(count: u64, taken: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / taken.as_secs_f64()
}
