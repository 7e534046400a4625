//! `cargo bench --bench reserve`: one decision, a whole process, against what else could make it.
//!
//! Everything is a ratio against a peer that ran interleaved in the same run. `-- --quick` runs fewer rounds. Files go
//! below the target folder, or below `BENCH_DIR`: that should be a disk, as syncs cost nothing in memory. NOTES.md says
//! more.

mod asked;
mod clock;
mod crowd;
mod ledgers;
mod peers;
mod table;
mod trace;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;

use self::asked::Asked;
use self::clock::Contender;
use self::peers::LINE;
use self::table::Table;

/// How much is done: the whole, or enough to see a gross change.
struct Effort {
    rounds: u64,
    traced_calls: u64,
    crowds: u64,
    calls: u64,
    large: u64,
    payload_mib: u64,
    payload_rounds: u64,
}

const WHOLE: Effort = Effort {
    rounds: 201,
    traced_calls: 400,
    crowds: 5,
    calls: 8,
    large: 1_000_000,
    payload_mib: 1024,
    payload_rounds: 7,
};
const QUICK: Effort = Effort {
    rounds: 31,
    traced_calls: 60,
    crowds: 2,
    calls: 3,
    large: 100_000,
    payload_mib: 128,
    payload_rounds: 3,
};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(Asked { quick, below }) = asked::asked() else {
        return Ok(());
    };
    let effort = if quick { QUICK } else { WHOLE };
    let folder = asked::folder_in(&below)?;
    let folder = folder.path();
    let mut table = Table::start()?;
    one_call(folder, &effort, &mut table)?;
    size(folder, &effort, &mut table)?;
    syncs(folder, &effort, &mut table)?;
    many(folder, &effort, &mut table)?;
    payload(folder, &effort, &mut table)?;
    Ok(())
}

/// One EXECUTE among 100,000 receipts, against the shell, a script and the floor.
fn one_call(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let ledger = new_ledger(folder, "hundred-thousand", 100_000)?;
    let for_shell = copy(&ledger, folder, "shell")?;
    let for_script = copy(&ledger, folder, "script")?;
    let floor = peers::compile_floor(folder)?;
    let floor_file = folder.join("floor.bin");
    let has_shell = peers::is_there("sqlite3", "--version");
    let interpreter = peers::interpreter();
    let key = |round| ledgers::key("new", round);

    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|round| peers::ours(&ledger, &key(round))),
        Box::new(|_| peers::floor(&floor, &floor_file)),
    ];
    if has_shell {
        contenders.push(Box::new(|round| peers::shell(&for_shell, &key(round))));
    }
    if let Some(interpreter) = &interpreter {
        contenders.push(Box::new(|round| {
            peers::python(interpreter, &for_script, &key(round))
        }));
    }
    let medians = clock::medians(&contenders, effort.rounds, LINE)?;
    let block = effort.rounds..effort.rounds * 2;
    let cpu = contenders
        .iter()
        .map(|contender| clock::processor_time(contender, block.clone(), LINE))
        .collect::<Result<Vec<_>, _>>()?;
    let what = "EXECUTE, 100,000 receipts, against";
    let mut peer = 1;
    for (name, is_there, ratio_max) in [
        ("the floor", true, 2.0),
        ("the sqlite3 shell", has_shell, 0.7),
        ("a Python script", interpreter.is_some(), 0.15),
    ] {
        if !is_there {
            table.skipped(&format!("{what} {name}"), "not found")?;
            continue;
        }
        table.times(
            &format!("{what} {name}"),
            medians[0],
            medians[peer],
            Some(ratio_max),
        )?;
        table.times("  of that, processor time", cpu[0], cpu[peer], None)?;
        peer += 1;
    }
    Ok(())
}

/// The same where there are a thousand times as many receipts.
fn size(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let large = new_ledger(folder, "large", effort.large)?;
    let small = new_ledger(folder, "small", 1_000)?;
    let key = |round| ledgers::key("new", round);
    let contenders: [Contender<'_>; 2] = [
        Box::new(|round| peers::ours(&large, &key(round))),
        Box::new(|round| peers::ours(&small, &key(round))),
    ];
    let medians = clock::medians(&contenders, effort.rounds, LINE)?;
    let what = format!("EXECUTE, {} receipts against 1000", effort.large);
    table.times(&what, medians[0], medians[1], Some(1.3))?;
    fs::remove_dir_all(large.parent().unwrap_or(&large))?;
    Ok(())
}

/// Syncs and memory of one call.
fn syncs(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    if !peers::is_there("strace", "--version") {
        return table.skipped("syncs of the database and its log; memory", "no strace");
    }
    let ledger = new_ledger(folder, "traced", 100_000)?;
    let call = |what: &str, number| peers::ours(&ledger, &ledgers::key(what, number));
    let count = |what: &str, number, calls: u64| -> Result<(f64, u32, bool), Box<dyn Error>> {
        let (mut files, mut others, mut folder_changed) = (0, 0, false);
        for turn in 0..calls {
            let syncs = trace::syncs(&call(what, number + turn), &ledger)?;
            files += syncs.files;
            others += syncs.others;
            folder_changed |= syncs.folder_changed;
        }
        Ok((
            f64::from(files) / f64::from(u32::try_from(calls)?),
            others,
            folder_changed,
        ))
    };
    // The first call creates the log's name, once and for all.
    clock::time(&mut call("first", 0), LINE)?;

    let (alone, others, changed) = count("alone", 0, 10)?;
    table.figure("syncs per EXECUTE, alone", alone, 4.0)?;
    table.figure("  besides, of the folder", f64::from(others) / 10.0, 1.0)?;
    table.figure(
        "  folder entries created or removed",
        f64::from(u8::from(changed)),
        0.0,
    )?;
    let (skip, others, _) = count("alone", 0, 5)?;
    table.figure("syncs per skip, alone", skip + f64::from(others), 0.0)?;

    let other = Connection::open(&ledger)?;
    other.query_row("SELECT count(*) FROM receipt_ledger_meta", [], |_| Ok(()))?;
    let (beside, _, _) = count("beside", 0, effort.traced_calls)?;
    table.figure("syncs per EXECUTE, another connection open", beside, 1.2)?;
    let (skip, others, _) = count("beside", 0, 5)?;
    table.figure(
        "syncs per skip, another connection open",
        skip + f64::from(others),
        0.0,
    )?;
    drop(other);

    let peak = trace::peak_kib(&call("memory", 0))?;
    table.mebibytes("peak memory of reserve", peak, 12.0)
}

/// 64 processes at once.
fn many(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    if !peers::is_there("sqlite3", "--version") {
        return table.skipped("64 processes at once", "no sqlite3");
    }
    let ledger = new_ledger(folder, "crowd", 100_000)?;
    let for_shell = copy(&ledger, folder, "crowd-shell")?;
    let (mut ours, mut shell) = (crowd::Seen::default(), crowd::Seen::default());
    for turn in 0..effort.crowds {
        let key = |call| ledgers::key("crowd", turn * crowd::WORKERS * effort.calls + call);
        crowd::run(&mut ours, effort.calls, &|call| {
            peers::ours(&ledger, &key(call))
        })?;
        crowd::run(&mut shell, effort.calls, &|call| {
            peers::shell(&for_shell, &key(call))
        })?;
    }
    table.times(
        "64 processes at once: p99 against the sqlite3 shell",
        ours.p99(),
        shell.p99(),
        Some(0.5),
    )?;
    table.rates(
        "64 processes at once: throughput",
        ours.throughput(),
        shell.throughput(),
        1.2,
    )
}

/// A large payload.
fn payload(folder: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let ledger = new_ledger(folder, "payload", 1_000)?;
    let file = folder.join("payload.bin");
    let mut writer = fs::File::create(&file)?;
    let mebibyte = vec![0x5A; 1 << 20];
    for _ in 0..effort.payload_mib {
        writer.write_all(&mebibyte)?;
    }
    writer.sync_all()?;
    let ours = |round: u64| {
        let mut command = Command::new(peers::OURS);
        command.arg("--db").arg(&ledger).args(["reserve", "--key"]);
        command
            .arg(ledgers::key("payload", round))
            .arg("--payload-file")
            .arg(&file);
        command
    };
    let what = format!("--payload-file of {} MiB", effort.payload_mib);
    if peers::is_there("openssl", "version") {
        let openssl = |_| {
            let mut command = Command::new("openssl");
            command.args(["dgst", "-sha256"]).arg(&file);
            command
        };
        let contenders: [Contender<'_>; 2] = [Box::new(ours), Box::new(openssl)];
        let medians = clock::medians(&contenders, effort.payload_rounds, "")?;
        table.times(
            &format!("{what} against openssl"),
            medians[0],
            medians[1],
            Some(1.2),
        )?;
    } else {
        table.skipped(&what, "no openssl")?;
    }
    if peers::is_there("strace", "--version") {
        let peak = trace::peak_kib(&ours(1_000_000))?;
        table.mebibytes(&format!("{what}: peak memory"), peak, 16.0)?;
    }
    Ok(())
}

/// A ledger in a folder of its own.
fn new_ledger(folder: &Path, name: &str, receipts: u64) -> Result<PathBuf, Box<dyn Error>> {
    let own = folder.join(name);
    fs::create_dir(&own)?;
    let db = own.join("receipts.db");
    ledgers::create(&db, receipts)?;
    Ok(db)
}

/// The same ledger once more, for a peer that writes to it.
fn copy(ledger: &Path, folder: &Path, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let own = folder.join(name);
    fs::create_dir(&own)?;
    let db = own.join("receipts.db");
    fs::copy(ledger, &db)?;
    fs::File::open(&db)?.sync_all()?;
    Ok(db)
}
