//! Receipts whose life lies in the past: made by the library's own calls, on a clock that stands where the test wants it.

use std::time::SystemTime;

use receipt_ledger::Ledger;
use receipt_ledger::decide::{Facts, Record, Reserve, Settle, SettleAnswer, Settlement};
use receipt_ledger::receipt::{Amount, Fingerprint, Key, ResultJson, RunId, Text, Timestamp};
use receipt_ledger::store::sqlite::{Clock, OpenOptions, SqliteStore};

use super::support::Scratch;

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const HOUR: i64 = 3_600 * SECOND;
pub(crate) const DAY: i64 = 24 * HOUR;
/// Every receipt's fingerprint.
pub(crate) const SAME: &str = "f";

#[derive(Debug)]
struct Stands(Timestamp);

impl Clock for Stands {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A ledger opened so many milliseconds ago; less than 0 is the future.
pub(crate) struct Past {
    ledger: Ledger<SqliteStore>,
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn fingerprint() -> Fingerprint {
    Fingerprint::parse(SAME).unwrap()
}

/// What an attempt is begun with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct With<'a> {
    pub(crate) run: Option<&'a str>,
    pub(crate) lease_ms: Option<i64>,
    pub(crate) amount: Option<(&'a str, &'a str)>,
}

impl Past {
    pub(crate) fn ago(scratch: &Scratch, ms: i64) -> Past {
        let now = Timestamp::from_system(SystemTime::now());
        Past::at(scratch, now.plus_ms(-ms))
    }

    pub(crate) fn at(scratch: &Scratch, moment: Timestamp) -> Past {
        let mut options = OpenOptions::new(scratch.path("receipts.db"));
        options.clock = Box::new(Stands(moment));
        Past {
            ledger: Ledger::new(SqliteStore::open(options).unwrap()),
        }
    }

    pub(crate) fn record(&mut self, name: &str, run: Option<&str>, payload: Option<&[u8]>) {
        let facts = Facts {
            run: run.map(|run| RunId::parse(run).unwrap()),
            ..Facts::default()
        };
        let request = Record {
            key: key(name),
            fingerprint: fingerprint(),
            facts,
            payload: payload.map(Into::into),
        };
        self.ledger.record(&request).unwrap();
    }

    pub(crate) fn reserve(&mut self, name: &str) -> u32 {
        self.reserve_with(name, With::default())
    }

    pub(crate) fn reserve_with(&mut self, name: &str, with: With<'_>) -> u32 {
        let mut request = Reserve::new(key(name), fingerprint());
        request.allow_failed_retry = true;
        request.lease_ms = with.lease_ms;
        request.facts.run = with.run.map(|run| RunId::parse(run).unwrap());
        request.facts.amount = with
            .amount
            .map(|(value, currency)| Amount::parse(value, currency).unwrap());
        let answer = self.ledger.reserve(&request).unwrap();
        assert!(answer.decision.performs(), "{name}: {answer:?}");
        answer.attempt
    }

    fn settle(&mut self, name: &str, attempt: u32, settlement: Settlement) -> bool {
        let request = Settle {
            key: key(name),
            attempt: Some(attempt),
            owner: None,
            settlement,
        };
        let answer = self.ledger.settle(&request).unwrap();
        matches!(answer, SettleAnswer::Settled { .. })
    }

    pub(crate) fn succeed(&mut self, name: &str, attempt: u32, result: Option<&str>) {
        let result = result.map(|result| ResultJson::parse(result.as_bytes()).unwrap());
        assert!(self.settle(name, attempt, Settlement::Succeeded { result }));
    }

    /// A success that comes too late, and is kept as evidence.
    pub(crate) fn succeed_late(&mut self, name: &str, attempt: u32) {
        assert!(!self.settle(name, attempt, Settlement::Succeeded { result: None }));
    }

    pub(crate) fn fail(&mut self, name: &str, attempt: u32) {
        assert!(self.settle(name, attempt, Settlement::Failed { reason: None }));
    }

    pub(crate) fn unknown(&mut self, name: &str, attempt: u32, reason: Option<&str>) {
        let reason = reason.map(|reason| Text::parse(reason).unwrap());
        assert!(self.settle(name, attempt, Settlement::Unknown { reason }));
    }

    pub(crate) fn close(self) {
        self.ledger.close().unwrap();
    }
}
