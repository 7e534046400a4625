//! What every store keeps, kept here too.

use std::time::Duration;

use receipt_ledger::store::postgres::{OpenOptions, PostgresStore};

use super::cluster::shared;
use super::hand::Hand;
use super::{conformance, grouping, racing, runner};

/// Sequences of the model; a server takes longer for each call than a file in memory.
const SEQUENCES: u64 = 250;

fn options(url: &str) -> OpenOptions {
    let mut options = OpenOptions::new(url).unwrap();
    options.busy_timeout = Duration::from_secs(60);
    options
}

/// A new database with a ledger, and how to open it.
fn place() -> Box<dyn Fn() -> PostgresStore + Sync> {
    let url = shared().url(&shared().database());
    let store = PostgresStore::init(options(&url)).unwrap();
    drop(store);
    Box::new(move || PostgresStore::open(options(&url)).unwrap())
}

#[test]
fn a_postgresql_database_keeps_every_promise_of_a_store() {
    conformance::all(&place);
    grouping::all(&place);
}

#[test]
fn connections_in_one_process_never_both_get_to_perform() {
    racing::one_is_told_to_execute_and_one_to_retry(&*place());
}

#[test]
fn a_ledger_in_postgresql_answers_as_the_model_does() {
    let url = shared().url(&shared().database());
    drop(PostgresStore::init(options(&url)).unwrap());
    let hand = Hand::default();
    let mut open = || {
        let mut options = options(&url);
        options.clock = Some(Box::new(hand.clone()));
        PostgresStore::open(options).unwrap()
    };
    let wanted = std::env::var("RECEIPT_LEDGER_MODEL_SEQUENCES").ok();
    let sequences = wanted.map_or(SEQUENCES, |wanted| wanted.parse().unwrap());
    for seed in 0..sequences {
        let calls = if seed % 50 == 0 { 200 } else { 16 };
        runner::check(&mut open, &hand, seed, calls);
    }
}
