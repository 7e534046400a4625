//! Contract §5.5: what the history tells, and that what is refused leaves only its row.

use super::support::Scratch;

/// Event, attempt, actor and detail of each row.
fn rows(ledger: &Scratch, key: &str) -> Vec<String> {
    let said = ledger.run(&format!("show --key {key} --history"));
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let rows = said.stdout.lines().skip(1);
    rows.map(|row| {
        let (at, rest) = row.split_once(' ').unwrap();
        let moment = at.strip_prefix("at=").unwrap();
        assert!(moment.len() == 24 && moment.ends_with('Z'), "{row}");
        rest.to_owned()
    })
    .collect()
}

#[test]
fn each_change_of_state_and_each_refused_late_settlement_is_one_row() {
    let ledger = Scratch::with_ledger();
    for (args, answer) in [
        (
            "reserve --key k --fingerprint f --owner w1",
            "decision=EXECUTE state=reserved attempt=1\n",
        ),
        (
            "fail --key k --attempt 1 --reason declined --owner w1",
            "state=failed attempt=1\n",
        ),
        (
            "fail --key k --attempt 1 --reason again",
            "state=failed attempt=1\n",
        ),
        (
            "reserve --key k --fingerprint f",
            "decision=SKIP_FAILED state=failed attempt=1\n",
        ),
        (
            "reserve --key k --fingerprint f --allow-failed-retry --owner w2",
            "decision=RETRY state=reserved attempt=2\n",
        ),
        (
            "renew --key k --attempt 2 --lease 1h",
            "state=reserved attempt=2\n",
        ),
        (
            "renew --key k --attempt 2 --lease 1h",
            "state=reserved attempt=2\n",
        ),
    ] {
        ledger.says(args, answer);
    }
    for late in [
        "fail --key k --attempt 1 --reason late",
        "unknown --key k --attempt 1",
        "succeed --key k --attempt 1 --owner w1",
    ] {
        ledger.refuses(late, "stale-attempt");
    }
    for not_late in [
        "fail --key k --attempt 3",
        "fail --key k --attempt 2 --owner w1",
    ] {
        let code = if not_late.contains("owner") {
            "not-owner"
        } else {
            "stale-attempt"
        };
        ledger.refuses(not_late, code);
    }
    ledger.says(
        "unknown --key k --attempt 2 --reason lost",
        "state=unknown attempt=2\n",
    );
    ledger.says(
        "resolve --key k --as succeeded --evidence seen --owner w2",
        "state=succeeded attempt=2\n",
    );
    ledger.says("succeed --key k --attempt 2", "state=succeeded attempt=2\n");
    assert_eq!(
        rows(&ledger, "k"),
        [
            "event=reserved attempt=1 actor=w1 detail=",
            "event=failed attempt=1 actor=w1 detail=declined",
            "event=reserved attempt=2 actor=w2 detail=",
            "event=late_failed attempt=1 actor= detail=late",
            "event=late_unknown attempt=1 actor= detail=",
            "event=late_succeeded attempt=1 actor=w1 detail=",
            "event=unknown attempt=2 actor= detail=lost",
            "event=succeeded attempt=2 actor=w2 detail=seen",
        ]
    );
}

#[test]
fn coming_back_after_the_lease_ran_out_is_told() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f --lease 1h",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    super::prepared::run_out(&ledger, "k");
    ledger.says(
        "renew --key k --attempt 1 --lease 1h",
        "state=reserved attempt=1\n",
    );
    assert_eq!(
        rows(&ledger, "k"),
        [
            "event=reserved attempt=1 actor= detail=",
            "event=renewed attempt=1 actor= detail="
        ]
    );
}

#[test]
fn the_first_conflict_of_each_fingerprint_is_told_once() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    for other in ["g", "h", "g", "g", "h"] {
        let conflict = "decision=CONFLICT state=reserved attempt=1\n";
        ledger.conflicts(
            &format!("reserve --key k --fingerprint {other} --owner thief"),
            conflict,
        );
        let resolve = format!("resolve --key k --as succeeded --evidence e --fingerprint {other}");
        ledger.conflicts(&resolve, conflict);
    }
    assert_eq!(
        rows(&ledger, "k"),
        [
            "event=reserved attempt=1 actor= detail=",
            "event=conflict attempt=1 actor=thief detail=g",
            "event=conflict attempt=1 actor=thief detail=h",
        ]
    );
}

#[test]
fn a_conflict_that_cannot_be_recorded_is_still_a_conflict() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let holder = rusqlite::Connection::open(ledger.path("receipts.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    ledger.conflicts(
        "reserve --key k --fingerprint g --busy-timeout 10ms",
        "decision=CONFLICT state=reserved attempt=1\n",
    );
    ledger.refuses(
        "reserve --key k --fingerprint f --busy-timeout 10ms",
        "busy",
    );
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        rows(&ledger, "k"),
        ["event=reserved attempt=1 actor= detail="]
    );
}

#[test]
fn without_the_flag_no_row_is_printed_and_what_is_not_there_is_not_found() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    assert_eq!(ledger.run("show --key k").stdout.lines().count(), 1);
    let said = ledger.refuses("show --key other --history", "not-found");
    assert!(said.contains("other"), "{said}");
}
