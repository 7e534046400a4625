//! The machine's clock jumps (contract 1.2, 4.2): never a second execution. A jump of the clock by D is the same as a
//! jump of everything on record by -D, which is what happens here.

use super::procs::plain;
use super::support::Scratch;

const HOUR_MS: i64 = 3_600_000;
const TEN_YEARS_MS: i64 = 3_652 * 24 * HOUR_MS;

/// As if the clock had been moved by this much since everything on record happened.
fn move_clock(ledger: &Scratch, by_ms: i64) {
    let sql = "UPDATE receipt_ledger_receipt SET created_at_ms = created_at_ms - ?1, updated_at_ms = updated_at_ms - ?1, \
               first_reserved_at_ms = first_reserved_at_ms - ?1, attempt_started_at_ms = attempt_started_at_ms - ?1, \
               lease_expires_at_ms = lease_expires_at_ms - ?1, settled_at_ms = settled_at_ms - ?1";
    plain(&ledger.path("receipts.db"))
        .execute(sql, [by_ms])
        .unwrap();
}

/// Every way to ask for another execution without anybody having said that it failed.
fn never_executes(ledger: &Scratch, key: &str) {
    for flags in ["", "--allow-failed-retry", "--lease 1m", "--max-attempts 9"] {
        let said = ledger.run(&format!("reserve --key {key} --fingerprint v1 {flags}"));
        assert!(
            said.code == 0 && said.stdout.starts_with("decision=SKIP_"),
            "{key} {flags}: {said:?}"
        );
    }
}

#[test]
fn a_clock_that_jumps_an_hour_back_or_ten_years_ahead_executes_nothing_again() {
    for by_ms in [-HOUR_MS, TEN_YEARS_MS, -TEN_YEARS_MS, 1, -1] {
        let ledger = Scratch::with_ledger();
        for (key, flags) in [
            ("leased", "--lease 1m"),
            ("bare", ""),
            ("done", "--lease 1s"),
            ("undecided", ""),
        ] {
            ledger.says(
                &format!("reserve --key {key} --fingerprint v1 {flags}"),
                "decision=EXECUTE state=reserved attempt=1\n",
            );
        }
        ledger.says("succeed --key done", "state=succeeded attempt=1\n");
        ledger.says("unknown --key undecided", "state=unknown attempt=1\n");
        move_clock(&ledger, by_ms);
        for key in ["leased", "bare", "done", "undecided"] {
            never_executes(&ledger, key);
        }
        // What came of it can still be said.
        ledger.says(
            "succeed --key leased --attempt 1",
            "state=succeeded attempt=1\n",
        );
        ledger.says(
            "succeed --key bare --attempt 1",
            "state=succeeded attempt=1\n",
        );
    }
}

#[test]
fn a_first_attempt_in_the_future_is_not_retried_on_the_word_of_a_duration() {
    for by_ms in [-1_000, -HOUR_MS, -TEN_YEARS_MS] {
        let ledger = Scratch::with_ledger();
        ledger.run("reserve --key order:1 --fingerprint v1");
        ledger.says("unknown --key order:1", "state=unknown attempt=1\n");
        // The first attempt now lies further ahead than the call can take.
        move_clock(&ledger, by_ms - 60_000);
        ledger.says(
            "reserve --key order:1 --fingerprint v1 --retry-unknown-within 52w",
            "decision=SKIP_UNKNOWN state=unknown attempt=1\n",
        );
    }
}

#[test]
fn a_clock_set_ahead_takes_the_safer_reading_of_a_duration() {
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1 --lease 1h");
    move_clock(&ledger, TEN_YEARS_MS);
    ledger.says(
        "reserve --key order:1 --fingerprint v1 --retry-unknown-within 24h",
        "decision=SKIP_UNKNOWN state=unknown attempt=1\n",
    );
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1");
    ledger.run("unknown --key order:1");
    ledger.says(
        "reserve --key order:1 --fingerprint v1 --retry-unknown-within 24h",
        "decision=RETRY state=reserved attempt=2\n",
    );
}
