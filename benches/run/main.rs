//! `cargo bench --bench run`: a command under a receipt, against what else could start it.
//!
//! Everything is a ratio or a difference against a peer that ran interleaved in the same run. `-- --quick` runs fewer
//! rounds. Files go below the target folder, or below `BENCH_DIR`. NOTES.md says more.

#[path = "../reserve/asked.rs"]
mod asked;
#[allow(dead_code)]
#[path = "../reserve/clock.rs"]
mod clock;
#[allow(dead_code)]
#[path = "../reserve/table.rs"]
mod table;
mod waking;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use self::asked::Asked;
use self::table::Table;

/// The binary under measurement, built with the release profile's settings.
const OURS: &str = env!("CARGO_BIN_EXE_receipt-ledger");
/// Where syncs cost nothing, so that what remains is `run`'s own time.
const IN_MEMORY: &str = "/dev/shm";

/// How much is done: the whole, or enough to see a gross change.
struct Effort {
    rounds: u64,
    sleeps: u64,
    traced: u64,
}

const WHOLE: Effort = Effort {
    rounds: 301,
    sleeps: 101,
    traced: 41,
};
const QUICK: Effort = Effort {
    rounds: 41,
    sleeps: 21,
    traced: 11,
};

/// Processes that are started one after the other and timed together.
type Sequence<'a> = Box<dyn Fn(u64) -> Vec<Command> + 'a>;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(Asked { quick, below }) = asked::asked() else {
        return Ok(());
    };
    let effort = if quick { QUICK } else { WHOLE };
    let mut table = Table::start()?;
    let folder = asked::folder_in(&below)?;
    whole_calls(folder.path(), &effort, &mut table)?;
    waiting(&below, &effort, &mut table)
}

/// `run -- true` against a lock around `true`, and against the three calls that it stands for.
fn whole_calls(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let ledger = new_ledger(folder, "run")?;
    let for_three = new_ledger(folder, "three")?;
    let lock = folder.join("lock");
    let has_flock = Command::new("flock").arg("--version").output().is_ok();
    let mut contenders: Vec<Sequence<'_>> = vec![
        Box::new(|round| vec![run(&ledger, round, &["true"])]),
        Box::new(|round| three(&for_three, round)),
    ];
    if has_flock {
        contenders.push(Box::new(|_| {
            let mut flock = Command::new("flock");
            flock.arg(&lock).arg("true");
            vec![flock]
        }));
    }
    let medians = medians(&contenders, effort.rounds)?;
    let what = "run -- true, against flock FILE true";
    match medians.get(2) {
        Some(flock) => table.times(what, medians[0], *flock, Some(3.0))?,
        None => table.skipped(what, "no flock")?,
    }
    let what = "run -- true, against reserve, true, succeed";
    table.times(what, medians[0], medians[1], Some(0.7))
}

/// What `run` adds to a command that takes a while, beyond what it adds to one that does not; and how it waits.
fn waiting(below: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let in_memory = Path::new(IN_MEMORY);
    let folder = asked::folder_in(if in_memory.is_dir() { in_memory } else { below })?;
    let ledger = new_ledger(folder.path(), "waiting")?;
    let sleep = ["sleep", "0.1"];
    let plain = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        vec![command]
    };
    let contenders: [Sequence<'_>; 4] = [
        Box::new(|round| vec![run(&ledger, 2 * round, &sleep)]),
        Box::new(|_| plain(&sleep)),
        Box::new(|round| vec![run(&ledger, 2 * round + 1, &["true"])]),
        Box::new(|_| plain(&["true"])),
    ];
    let ms: Vec<f64> = medians(&contenders, effort.sleeps)?
        .into_iter()
        .map(|median| median.as_secs_f64() * 1000.0)
        .collect();
    let (long, short) = (ms[0] - ms[1], ms[2] - ms[3]);
    table.figure(
        "ms that run adds to a sleep of 0.1 s, beyond true's",
        long - short,
        1.0,
    )?;
    let traced = |number| run(&ledger, 1_000_000 + number, &sleep);
    match waking::look(&folder.path().join("trace"), effort.traced, traced)? {
        None => table.skipped("how run waits", "no strace"),
        Some(seen) => {
            table.figure(
                "ms from a command's end to run's knowing, by strace",
                seen.ms,
                1.0,
            )?;
            table.figure(
                "  times run wakes while the command sleeps",
                seen.wakes,
                0.0,
            )?;
            table.figure("  sleeps of run, ever", seen.sleeps, 0.0)
        }
    }
}

fn new_ledger(folder: &Path, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let own = folder.join(name);
    fs::create_dir(&own)?;
    let db = own.join("receipts.db");
    clock::time(Command::new(OURS).arg("--db").arg(&db).arg("init"), "")?;
    Ok(db)
}

fn run(db: &Path, round: u64, words: &[&str]) -> Command {
    let mut command = Command::new(OURS);
    command.arg("--db").arg(db);
    command.args(["run", "--fingerprint=v1", "--quiet"]);
    command.arg(format!("--key=report:v1:{round}")).arg("--");
    command.args(words);
    command
}

/// What a script would do without `run`.
fn three(db: &Path, round: u64) -> Vec<Command> {
    let ours = |words: &[&str]| {
        let mut command = Command::new(OURS);
        command.arg("--db").arg(db).args(words);
        command.arg(format!("--key=report:v1:{round}"));
        command
    };
    vec![
        ours(&["reserve", "--fingerprint=v1", "--lease=60s"]),
        Command::new("true"),
        ours(&["succeed", "--attempt=1", "--result-json={\"exit_code\":0}"]),
    ]
}

/// The median of each contender over so many rounds; within a round each runs once, and who begins goes round.
fn medians(contenders: &[Sequence<'_>], rounds: u64) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut taken = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        for step in 0..contenders.len() {
            let turn = (usize::try_from(round)? + step) % contenders.len();
            let mut total = Duration::ZERO;
            for mut command in contenders[turn](round) {
                total += clock::time(&mut command, "")?;
            }
            taken[turn].push(total);
        }
    }
    let median = |taken| clock::quantile(taken, 1, 2);
    Ok(taken.into_iter().map(median).collect())
}
