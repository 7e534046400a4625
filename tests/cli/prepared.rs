//! The receipts that stand before a call, made by real calls; only what takes time is written into the file by hand.

use receipt_ledger::Ledger;
use receipt_ledger::decide::{
    Facts, Record, Reserve, Resolve, Settle, SettleAnswer, Settlement, Verdict,
};
use receipt_ledger::receipt::{
    Fingerprint, FingerprintDigest, Key, KeyDigest, Owner, ResultJson, Text,
};
use receipt_ledger::store::Store;

pub(crate) use super::keeper::rewrite;
use super::keeper::{self, open};
use super::support::Scratch;

/// The fingerprint everything is bound to, and the owner of everything.
pub(crate) const SAME: &str = "send-v1";
pub(crate) const RIGHT: &str = "worker-1";
/// The result of `succeeded, result`.
pub(crate) const RESULT: &str = r#"{"id":"d_42"}"#;

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn fingerprint() -> Fingerprint {
    Fingerprint::parse(SAME).unwrap()
}

/// Makes the lease of a reserved receipt one that ran out in 1970.
pub(crate) fn run_out(ledger: &Scratch, key: &str) {
    let sql = "UPDATE receipt_ledger_receipt SET lease_expires_at_ms = 1 WHERE key = ?1";
    rewrite(ledger, sql, &[&key]);
}

struct Maker {
    ledger: Ledger<Box<dyn Store>>,
    key: Key,
}

impl Maker {
    fn reserve(&mut self, lease_ms: Option<i64>) {
        let mut request = Reserve::new(self.key.clone(), fingerprint());
        request.allow_failed_retry = true;
        request.facts.owner = Some(Owner::parse(RIGHT).unwrap());
        request.lease_ms = lease_ms;
        assert!(self.ledger.reserve(&request).unwrap().decision.performs());
    }

    fn settle(&mut self, attempt: u32, settlement: Settlement) -> bool {
        let request = Settle {
            key: self.key.clone(),
            attempt: Some(attempt),
            owner: None,
            settlement,
        };
        matches!(
            self.ledger.settle(&request).unwrap(),
            SettleAnswer::Settled { .. }
        )
    }

    fn fail(&mut self, attempt: u32) {
        assert!(self.settle(attempt, Settlement::Failed { reason: None }));
    }

    /// The second attempt, the first having failed.
    fn second(&mut self, lease_ms: Option<i64>) {
        self.reserve(None);
        self.fail(1);
        self.reserve(lease_ms);
    }

    fn late_success(&mut self) {
        assert!(!self.settle(1, Settlement::Succeeded { result: None }));
    }

    fn resolve_failed(&mut self, attempt: u32) {
        let request = Resolve {
            key: self.key.clone(),
            fingerprint: None,
            attempt: Some(attempt),
            owner: None,
            verdict: Verdict::Failed,
            evidence: Text::parse("not in the dashboard").unwrap(),
        };
        self.ledger.resolve(&request).unwrap();
    }
}

/// Puts the receipt of that name under that key; its attempt.
pub(crate) fn prepare(scratch: &Scratch, name: &str, key_text: &str) -> u32 {
    if name == "nothing" {
        return 0;
    }
    if let Some(rest) = name.strip_prefix("pruned ") {
        prune(scratch, rest, key_text);
        return 1;
    }
    let mut make = Maker {
        ledger: Ledger::new(open(scratch)),
        key: key(key_text),
    };
    let attempt = make_standing(&mut make, name);
    make.ledger.close().unwrap();
    if name.contains("run out") {
        run_out(scratch, key_text);
    }
    attempt
}

fn make_standing(make: &mut Maker, name: &str) -> u32 {
    let unknown = || Settlement::Unknown { reason: None };
    let late = name.ends_with(", late");
    let hour = Some(3_600_000);
    match name {
        "recorded" => {
            let facts = Facts {
                owner: Some(Owner::parse(RIGHT).unwrap()),
                ..Facts::default()
            };
            let request = Record {
                key: make.key.clone(),
                fingerprint: fingerprint(),
                facts,
                payload: None,
            };
            make.ledger.record(&request).unwrap();
            return 0;
        }
        "reserved, no lease, late" => make.second(None),
        "reserved, lease run out, late" => make.second(hour),
        "unknown, late" | "succeeded, late" | "failed, late" | "failed, reconciled, late" => {
            make.second(None)
        }
        "reserved, lease running" | "reserved, lease run out" => make.reserve(hour),
        _ => make.reserve(None),
    }
    match name {
        "unknown" => assert!(make.settle(1, unknown())),
        "unknown, late" => assert!(make.settle(2, unknown())),
        "succeeded" => assert!(make.settle(1, Settlement::Succeeded { result: None })),
        "succeeded, result" => {
            let result = Some(ResultJson::parse(RESULT.as_bytes()).unwrap());
            assert!(make.settle(1, Settlement::Succeeded { result }));
        }
        "succeeded, late" => assert!(make.settle(2, Settlement::Succeeded { result: None })),
        "failed" => make.fail(1),
        "failed, late" => make.fail(2),
        "failed, reconciled" => {
            assert!(make.settle(1, unknown()));
            make.resolve_failed(1);
        }
        "failed, reconciled, late" => {
            make.fail(2);
            make.late_success();
            make.resolve_failed(2);
        }
        _ => {}
    }
    if late {
        if name != "failed, reconciled, late" {
            make.late_success();
        }
        return 2;
    }
    1
}

/// There is no command yet that prunes: the digests are written as contract §9.1 keeps them.
fn prune(scratch: &Scratch, rest: &str, key_text: &str) {
    let outcome = match rest {
        "succeeded" => 1,
        "failed" => 2,
        _ => 3,
    };
    let fingerprint = FingerprintDigest::of(&fingerprint());
    keeper::put_pruned(scratch, KeyDigest::of(&key(key_text)), fingerprint, outcome);
}

/// The state that the ledger tells of a receipt of that name.
pub(crate) fn told(name: &str) -> &str {
    if name.contains("run out") {
        return "unknown";
    }
    let name = name.strip_prefix("pruned ").unwrap_or(name);
    name.split(',').next().unwrap()
}

/// What `show` prints, up to the key: a receipt that was not touched prints the same again.
pub(crate) fn shown(scratch: &Scratch, key: &str) -> String {
    let said = scratch.run_args(&["show", "--key", key, "--history"]);
    format!("{}{}", said.stdout, said.stderr)
}
