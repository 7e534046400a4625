//! A prune of everything while a loop of `reserve` runs, and what is left of it on disk.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rusqlite::Connection;

use super::clock::{quantile, time};
use super::peers::{self, LINE};
use super::table::Table;
use super::{Effort, ledgers, ours};

/// Bytes on disk that a pruned receipt may take.
const BYTES_MAX: f64 = 64.0;

pub(crate) fn beside_reserves(
    ledger: &Path,
    effort: &Effort,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    // What is not settled would stay: everything is to go.
    let connection = Connection::open(ledger)?;
    connection.execute_batch(
        "UPDATE receipt_ledger_receipt SET state = 'succeeded', settled_at_ms = 1, settled_by = 'caller' \
         WHERE state <> 'succeeded'",
    )?;
    connection.close().map_err(|(_, error)| error)?;
    let mut next = 0;
    let mut reserve = || {
        next += 1;
        time(&mut peers::ours(ledger, &ledgers::key("new", next)), LINE)
    };
    let alone = (0..effort.reserves)
        .map(|_| reserve())
        .collect::<Result<Vec<_>, _>>()?;
    let mut prune = ours(ledger, &["prune", "--older-than", "1d"])
        .stdout(Stdio::null())
        .spawn()?;
    let mut beside = Vec::new();
    while is_running(&mut prune)? {
        beside.push(reserve()?);
    }
    let calls = beside.len();
    let (alone, beside) = (p99(alone), p99(beside));
    let what = format!("p99 of {calls} reserves beside a prune, against alone");
    table.times(&what, beside, alone, Some(5.0))?;
    size(ledger, effort, table)
}

fn p99(taken: Vec<Duration>) -> Duration {
    quantile(taken, 99, 100)
}

fn is_running(child: &mut Child) -> Result<bool, Box<dyn Error>> {
    match child.try_wait()? {
        None => Ok(true),
        Some(status) if status.success() => Ok(false),
        Some(status) => Err(format!("the prune ended with {status}").into()),
    }
}

/// The file's size for each pruned receipt; what the loop reserved is counted in.
fn size(ledger: &Path, effort: &Effort, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let left: u64 = Connection::open(ledger)?.query_row(
        "SELECT count(*) FROM receipt_ledger_pruned",
        [],
        |row| row.get(0),
    )?;
    if left != effort.receipts {
        return Err(format!("{left} of {} were pruned", effort.receipts).into());
    }
    let bytes = fs::metadata(ledger)?.len();
    let each = f64::from(u32::try_from(bytes)?) / f64::from(u32::try_from(left)?);
    table.figure("bytes on disk for each pruned receipt", each, BYTES_MAX)?;
    Ok(())
}
