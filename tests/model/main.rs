//! Random sequences of calls under a moving clock, against a model written from the contract alone.
//!
//! `RECEIPT_LEDGER_MODEL_SEED=N` runs one sequence again; `RECEIPT_LEDGER_MODEL_SEQUENCES=N` runs that many.
#![allow(clippy::unwrap_used)]

mod asking;
mod hand;
mod life;
mod model;
mod operations;
mod runner;

use std::env;
use std::path::Path;
use std::time::Duration;

use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};

use crate::hand::Hand;

/// Sequences of one run, and the calls in each: short ones meet more beginnings, long ones more history.
const SEQUENCES: u64 = 4_000;
const SHORT: usize = 16;
const LONG: usize = 200;

/// A scratch folder in memory where there is one: thousands of syncs to a disk would take minutes.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap())
}

#[test]
fn a_ledger_in_a_sqlite_file_answers_as_the_model_does() {
    let folder = scratch();
    let hand = Hand::default();
    let mut open = || {
        let mut options = OpenOptions::new(folder.path().join("receipts.db"));
        options.busy_timeout = Duration::from_secs(60);
        options.clock = Box::new(hand.clone());
        SqliteStore::open(options).unwrap()
    };
    if let Some(seed) = number("RECEIPT_LEDGER_MODEL_SEED") {
        runner::check(&mut open, &hand, seed, LONG);
        return;
    }
    for seed in 0..number("RECEIPT_LEDGER_MODEL_SEQUENCES").unwrap_or(SEQUENCES) {
        let calls = if seed % 50 == 0 { LONG } else { SHORT };
        runner::check(&mut open, &hand, seed, calls);
    }
}
