//! `stats`: the ledger in figures, for people, scripts and Prometheus.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use super::super::args::StatsArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::super::table;
use super::move_::refuse_own_files;
use super::open_to_read;
use receipt_ledger::receipt::{State, Timestamp};
use receipt_ledger::store::Stats;

/// The collector may run as another user.
const MODE: u32 = 0o644;

pub(crate) fn run(
    args: StatsArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut ledger = open_to_read(settings)?;
    let stats = ledger.stats()?;
    if let Some(path) = &args.prometheus {
        refuse_own_files(&ledger.store().name(), Path::new(path))?;
        put_in_place(path, &series(&stats)).map_err(|error| {
            Failure::io(
                &format!("cannot write --prometheus {}", Path::new(path).display()),
                &error,
            )
        })?;
    }
    if output.is_for_people() {
        let now = Timestamp::from_system(SystemTime::now());
        output.raw(table::stats(&stats, now, output.has_colours()).as_bytes())?;
    } else {
        output.lines(&[line(&stats)])?;
    }
    ledger.close()?;
    Ok(Exit::ANSWERED)
}

fn line(stats: &Stats) -> Line {
    Line::default()
        .fact("recorded", Value::Number(stats.recorded))
        .fact("reserved", Value::Number(stats.reserved))
        .fact("succeeded", Value::Number(stats.succeeded))
        .fact("failed", Value::Number(stats.failed))
        .fact("unknown", Value::Number(stats.unknown))
        .fact("pruned", Value::Number(stats.pruned))
        .fact("forgotten", Value::Number(stats.forgotten))
        .fact("oldest_in_flight_at", stats.oldest_in_flight_at.into())
        .fact("oldest_unknown_at", stats.oldest_unknown_at.into())
}

/// The figures in Prometheus' text format. No key and no text of anybody's is in it.
fn series(stats: &Stats) -> String {
    let mut text = String::from(
        "# HELP receipt_ledger_receipts Whole receipts by state.\n# TYPE receipt_ledger_receipts gauge\n",
    );
    for (state, count) in [
        (State::Recorded, stats.recorded),
        (State::Reserved, stats.reserved),
        (State::Succeeded, stats.succeeded),
        (State::Failed, stats.failed),
        (State::Unknown, stats.unknown),
    ] {
        text.push_str(&format!(
            "receipt_ledger_receipts{{state=\"{state}\"}} {count}\n"
        ));
    }
    text.push_str(&format!(
        "# HELP receipt_ledger_pruned Pruned receipts that still answer.\n\
         # TYPE receipt_ledger_pruned gauge\nreceipt_ledger_pruned {}\n\
         # HELP receipt_ledger_forgotten_total Receipts deleted whole.\n\
         # TYPE receipt_ledger_forgotten_total counter\nreceipt_ledger_forgotten_total {}\n",
        stats.pruned, stats.forgotten
    ));
    for (name, help, moment) in [
        (
            "receipt_ledger_oldest_in_flight_timestamp_seconds",
            "Since when the oldest attempt in flight has run.",
            stats.oldest_in_flight_at,
        ),
        (
            "receipt_ledger_oldest_unknown_timestamp_seconds",
            "Since when the oldest unknown receipt has been unknown.",
            stats.oldest_unknown_at,
        ),
    ] {
        if let Some(moment) = moment {
            let (seconds, ms) = (moment.as_ms() / 1_000, moment.as_ms() % 1_000);
            text.push_str(&format!(
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {seconds}.{ms:03}\n"
            ));
        }
    }
    text
}

/// Whole or not at all, at every moment: written beside the name, then renamed. Not synced: the figures of before a
/// power cut help nobody.
fn put_in_place(path: &OsStr, text: &str) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut draft = tempfile::Builder::new()
        .prefix(".receipt-ledger-")
        .suffix(".draft")
        .tempfile_in(folder)?;
    let file: &File = draft.as_file();
    file.set_permissions(Permissions::from_mode(MODE))?;
    draft.write_all(text.as_bytes())?;
    draft.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
