//! `cargo bench --bench operate`: looking at a ledger of a million receipts, and looking after it.
//!
//! Everything is a ratio against a peer that ran interleaved in the same run. `-- --quick` takes a ledger of a tenth and
//! fewer rounds. Files go below the target folder, or below `BENCH_DIR`. NOTES.md says more.

#[path = "../reserve/asked.rs"]
mod asked;
#[allow(dead_code)]
#[path = "../reserve/clock.rs"]
mod clock;
#[allow(dead_code)]
#[path = "../reserve/ledgers.rs"]
mod ledgers;
#[allow(dead_code)]
#[path = "../reserve/peers.rs"]
mod peers;
mod prune;
#[allow(dead_code)]
#[path = "../reserve/table.rs"]
mod table;
#[allow(dead_code)]
#[path = "../reserve/trace.rs"]
mod trace;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use self::asked::Asked;
use self::clock::Contender;
use self::peers::OURS;
use self::table::Table;

/// How much is done: the whole, or enough to see a gross change.
pub(crate) struct Effort {
    pub(crate) receipts: u64,
    short_rounds: u64,
    long_rounds: u64,
    pub(crate) reserves: u64,
}

const WHOLE: Effort = Effort {
    receipts: 1_000_000,
    short_rounds: 41,
    long_rounds: 5,
    reserves: 1_000,
};
const QUICK: Effort = Effort {
    receipts: 100_000,
    short_rounds: 11,
    long_rounds: 3,
    reserves: 200,
};

/// So many receipts are unknown, and so many reserved.
const UNSETTLED: u64 = 10;

/// The receipts as the shell writes them: what `list` prints.
const RECEIPTS: &str = "SELECT state, attempt, key, fingerprint, owner, run, amount, currency, created_at_ms, \
    updated_at_ms, lease_expires_at_ms, settled_by, reason, result FROM receipt_ledger_receipt ORDER BY id";
/// What `export` writes, in two statements: every receipt whole, every row of history.
const EVERYTHING: &str = "SELECT * FROM receipt_ledger_receipt ORDER BY id; \
    SELECT * FROM receipt_ledger_history ORDER BY receipt, sequence";

fn main() -> Result<(), Box<dyn Error>> {
    let Some(Asked { quick, below }) = asked::asked() else {
        return Ok(());
    };
    let effort = if quick { QUICK } else { WHOLE };
    let folder = asked::folder_in(&below)?;
    let folder = folder.path();
    let ledger = folder.join("receipts.db");
    create(&ledger, effort.receipts)?;
    let mut table = Table::start()?;
    looking(&ledger, &effort, &mut table)?;
    writing_all(&ledger, &effort, &mut table)?;
    copying(folder, &ledger, &effort, &mut table)?;
    prune::beside_reserves(&ledger, &effort, &mut table)?;
    Ok(())
}

fn create(ledger: &Path, receipts: u64) -> Result<(), Box<dyn Error>> {
    ledgers::create(ledger, receipts)?;
    let connection = Connection::open(ledger)?;
    let every = receipts / UNSETTLED;
    for (state, rest) in [("unknown", 7), ("reserved", 9)] {
        connection.execute(
            "UPDATE receipt_ledger_receipt SET state = ?1, settled_at_ms = NULL, settled_by = NULL, result = NULL \
             WHERE id % ?2 = ?3",
            rusqlite::params![state, every, rest],
        )?;
    }
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

fn ours(ledger: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(OURS);
    command.arg("--db").arg(ledger).args(arguments);
    command
}

fn shell(ledger: &Path, mode: &str, sql: &str) -> Command {
    let mut command = Command::new("sqlite3");
    command.args(["-batch", mode]).arg(ledger).arg(sql);
    command
}

/// The same, its output thrown away unread.
fn unread(command: &Command) -> Command {
    let mut outer = Command::new("sh");
    outer
        .args(["-c", "exec \"$0\" \"$@\" >/dev/null"])
        .arg(command.get_program())
        .args(command.get_args());
    outer
}

/// Ten among a million, and the figures of them all.
fn looking(ledger: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let key = ledgers::key("kept", effort.receipts / 2);
    let contenders: [Contender<'_>; 3] = [
        Box::new(|_| ours(ledger, &["show", "--key", &key])),
        Box::new(|_| ours(ledger, &["list", "--state", "unknown"])),
        Box::new(|_| ours(ledger, &["list", "--state", "reserved"])),
    ];
    let medians = clock::medians(&contenders, effort.short_rounds, "")?;
    for (index, state) in [(1, "unknown"), (2, "reserved")] {
        let what = format!("list --state {state}, {UNSETTLED} receipts, against show");
        table.times(&what, medians[index], medians[0], Some(2.0))?;
    }
    if !peers::is_there("sqlite3", "--version") {
        return table.skipped("stats against the sqlite3 shell", "no sqlite3");
    }
    let by_state = "SELECT state, count(*) FROM receipt_ledger_receipt GROUP BY state";
    let contenders: [Contender<'_>; 2] = [
        Box::new(|_| ours(ledger, &["stats"])),
        Box::new(|_| shell(ledger, "-list", by_state)),
    ];
    let medians = clock::medians(&contenders, effort.short_rounds, "")?;
    let what = "stats against the sqlite3 shell counting by state";
    table.times(what, medians[0], medians[1], Some(1.5))
}

/// Everything, a line each, against the shell's JSON of the same rows.
fn writing_all(ledger: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    if !peers::is_there("sqlite3", "--version") {
        return table.skipped("list and export against the sqlite3 shell", "no sqlite3");
    }
    for (verb, sql) in [("list", RECEIPTS), ("export", EVERYTHING)] {
        let contenders: [Contender<'_>; 2] = [
            Box::new(|_| unread(&ours(ledger, &[verb]))),
            Box::new(|_| unread(&shell(ledger, "-json", sql))),
        ];
        let medians = clock::medians(&contenders, effort.long_rounds, "")?;
        let what = format!("{verb} against the sqlite3 shell writing JSON");
        table.times(&what, medians[0], medians[1], Some(1.5))?;
        let peak = trace::peak_kib(&ours(ledger, &[verb]))?;
        table.mebibytes(&format!("  peak memory of {verb}"), peak, 32.0)?;
    }
    Ok(())
}

/// A backup against a copy that is synced as well.
fn copying(
    folder: &Path,
    ledger: &Path,
    effort: &Effort,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let to = |what: &str, round: u64| folder.join(format!("{what}-{round}.db"));
    let contenders: [Contender<'_>; 2] = [
        Box::new(|round| {
            let mut command = ours(ledger, &["backup", "--to"]);
            command.arg(to("backup", round));
            command
        }),
        Box::new(|round| {
            let mut command = Command::new("sh");
            command.args(["-c", "cp \"$0\" \"$1\" && sync \"$1\""]);
            command.arg(ledger).arg(to("cp", round));
            command
        }),
    ];
    let medians = clock::medians(&contenders, effort.long_rounds, "")?;
    // At least half as fast is at most twice the time.
    table.times(
        "backup against cp and sync",
        medians[0],
        medians[1],
        Some(2.0),
    )?;
    for round in 0..effort.long_rounds {
        fs::remove_file(to("backup", round))?;
        fs::remove_file(to("cp", round))?;
    }
    Ok(())
}
