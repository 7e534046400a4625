//! Several connections in one process at one key: the promises that only a race can break.

use std::sync::Barrier;
use std::thread;

use receipt_ledger::Ledger;
use receipt_ledger::decide::{Decision, Reserve, Settle, Settlement};
use receipt_ledger::receipt::{EventKind, Fingerprint, Key};
use receipt_ledger::store::Store;

const ROUNDS: usize = 12;

fn request(key: &Key) -> Reserve {
    let mut request = Reserve::new(key.clone(), Fingerprint::parse("send-v1").unwrap());
    request.allow_failed_retry = true;
    request
}

/// All ask at once, each over a connection of its own; what each was told.
fn ask_at_once<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
    callers: usize,
    request: &Reserve,
) -> Vec<Decision> {
    let start = Barrier::new(callers);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..callers)
            .map(|_| {
                scope.spawn(|| {
                    let mut ledger = Ledger::new(open());
                    start.wait();
                    ledger.reserve(request).unwrap().decision
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// One is told to perform; everybody else that it is in flight.
pub(crate) fn one_is_told_to_execute_and_one_to_retry<S: Store + Send>(
    open: &(dyn Fn() -> S + Sync),
) {
    for callers in 2..=8 {
        for round in 0..ROUNDS {
            let key = Key::parse(format!("race:{callers}:{round}")).unwrap();
            for expected in [Decision::Execute, Decision::Retry, Decision::Retry] {
                let told = ask_at_once(open, callers, &request(&key));
                let performs = told.iter().filter(|decision| decision.performs()).count();
                assert_eq!(performs, 1, "{callers} callers, round {round}: {told:?}");
                assert!(told.contains(&expected), "{told:?}");
                let others = told
                    .iter()
                    .filter(|decision| **decision == Decision::SkipInFlight)
                    .count();
                assert_eq!(others, callers - 1, "{told:?}");
                fail(open, &key);
            }
            let attempts = attempts(open, &key);
            assert_eq!(attempts, [1, 2, 3], "each attempt number is given once");
        }
    }
}

fn fail<S: Store>(open: &(dyn Fn() -> S + Sync), key: &Key) {
    let mut ledger = Ledger::new(open());
    let attempt = ledger
        .show(key, false)
        .unwrap()
        .entry
        .map(|entry| entry.attempt());
    let settlement = Settlement::Failed { reason: None };
    ledger
        .settle(&Settle {
            key: key.clone(),
            attempt,
            owner: None,
            settlement,
        })
        .unwrap();
}

fn attempts<S: Store>(open: &(dyn Fn() -> S + Sync), key: &Key) -> Vec<u32> {
    let history = Ledger::new(open()).show(key, true).unwrap().history;
    let begun = history
        .iter()
        .filter(|row| row.event.kind == EventKind::Reserved);
    begun.map(|row| row.event.attempt).collect()
}
