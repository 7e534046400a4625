//! Contract §4 through the binary: every receipt before × every flag × the fingerprint.

use super::contract;
use super::prepared::{SAME, prepare, rewrite, shown, told};
use super::support::Scratch;
use super::table::cells;

const HOUR_MS: i64 = 3_600_000;

/// The flags of a column; nothing where only a clock that stands still could tell (`exactly`).
fn flags(column: &str, attempt: u32) -> Option<Vec<String>> {
    let mut flags = Vec::new();
    for word in column.split(' ') {
        match word {
            "plain" => {}
            "allow" => flags.push("--allow-failed-retry".to_owned()),
            "younger" => flags.push("--retry-unknown-within=1h".to_owned()),
            "older" => flags.push("--retry-unknown-within=1ms".to_owned()),
            "max" => flags.push(format!("--max-attempts={}", attempt.max(1))),
            "max+1" => flags.push(format!("--max-attempts={}", attempt + 1)),
            "exactly" => return None,
            other => panic!("no such flag: {other}"),
        }
    }
    Some(flags)
}

fn columns_of(skip: impl Fn(&str) -> bool) {
    let ledger = Scratch::with_ledger();
    let mut seen = 0;
    for (index, (name, column, expected)) in cells(contract::RESERVE).into_iter().enumerate() {
        if skip(column) {
            continue;
        }
        let key = format!("key-{index}");
        let attempt = prepare(&ledger, name, &key);
        let Some(flags) = flags(column, attempt) else {
            continue;
        };
        if column == "older" {
            let sql = "UPDATE receipt_ledger_receipt SET first_reserved_at_ms = first_reserved_at_ms - ?1 WHERE key = ?2 AND attempt > 0";
            rewrite(&ledger, sql, &[&HOUR_MS, &key]);
        }
        let before = shown(&ledger, &key);
        let mut args = vec!["reserve", "--key", &key, "--fingerprint", SAME];
        args.extend(flags.iter().map(String::as_str));
        let said = ledger.run_args(&args);
        let (state, after) = match expected {
            "EXECUTE" => ("reserved", 1),
            "RETRY" => ("reserved", attempt + 1),
            _ => (told(name), attempt),
        };
        let line = format!("decision={expected} state={state} attempt={after}\n");
        let case = format!("{name} / {column}");
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            (line.as_str(), "", 0),
            "{case}"
        );
        let now = shown(&ledger, &key);
        if matches!(expected, "EXECUTE" | "RETRY") {
            assert!(
                now.starts_with(&format!("state=reserved attempt={after} key={key} ")),
                "{case}: {now}"
            );
        } else {
            assert_eq!(now, before, "{case}: a skip changes nothing");
        }
        seen += 1;
    }
    assert!(seen >= 19, "{seen}");
}

#[test]
fn every_cell_without_a_flag_and_with_failed_retry_allowed() {
    columns_of(|column| {
        column.contains("younger") || column.contains("older") || column.contains("max")
    });
}

#[test]
fn every_cell_with_trust_in_what_the_provider_remembers() {
    columns_of(|column| {
        !(column.contains("younger") || column == "older") || column.contains("max")
    });
}

#[test]
fn every_cell_with_a_limit_of_attempts() {
    columns_of(|column| !column.contains("max"));
}

#[test]
fn another_fingerprint_is_a_conflict_whatever_stands_and_whatever_is_allowed() {
    let ledger = Scratch::with_ledger();
    for (index, name) in super::standing().iter().enumerate() {
        let key = format!("key-{index}");
        let attempt = prepare(&ledger, name, &key);
        let before = shown(&ledger, &key);
        let state = told(name);
        for flags in [
            "",
            "--allow-failed-retry --retry-unknown-within 1h --skip-exit 9 --wait 1h --lease 1s --owner thief",
        ] {
            ledger.conflicts(
                &format!("reserve --key {key} --fingerprint send-v2 {flags}"),
                &format!("decision=CONFLICT state={state} attempt={attempt}\n"),
            );
        }
        let after = shown(&ledger, &key);
        let first = |text: &str| text.lines().next().unwrap().to_owned();
        assert_eq!(first(&after), first(&before), "{name}");
        let rows = after.lines().count() - before.lines().count();
        assert_eq!(
            rows,
            usize::from(!name.starts_with("pruned")),
            "{name}: one row for one other fingerprint"
        );
    }
}

#[test]
fn a_first_attempt_in_the_future_and_a_clock_set_back_give_no_second_execution() {
    let ledger = Scratch::with_ledger();
    for (name, set) in [
        (
            "first-ahead",
            "first_reserved_at_ms = first_reserved_at_ms + 3600000",
        ),
        (
            "all-ahead",
            "first_reserved_at_ms = first_reserved_at_ms + 3600000, updated_at_ms = updated_at_ms + 7200000",
        ),
        ("changed-ahead", "updated_at_ms = updated_at_ms + 360000000"),
        ("no-first", "first_reserved_at_ms = NULL"),
    ] {
        prepare(&ledger, "unknown", name);
        let sql = format!("UPDATE receipt_ledger_receipt SET {set} WHERE key = ?1");
        rewrite(&ledger, &sql, &[&name]);
        ledger.says(
            &format!("reserve --key {name} --fingerprint {SAME} --retry-unknown-within 24h"),
            "decision=SKIP_UNKNOWN state=unknown attempt=1\n",
        );
    }
}

#[test]
fn a_retry_counts_on_and_the_facts_of_who_performs_win() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f --owner w1 --run r1 --amount 12.50 --currency EUR --lease 1h",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        "reserve --key k --fingerprint f --owner w2 --amount 99 --currency USD",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    let facts = |text: &str| {
        text[text.find("owner=").unwrap()..text.find(" created_at").unwrap()].to_owned()
    };
    assert_eq!(
        facts(&shown(&ledger, "k")),
        "owner=w1 run=r1 amount=12.50 currency=EUR"
    );
    ledger.says("fail --key k", "state=failed attempt=1\n");
    ledger.says("reserve --key k --fingerprint f --allow-failed-retry --owner w2 --amount=-0.10 --currency USD", "decision=RETRY state=reserved attempt=2\n");
    assert_eq!(
        facts(&shown(&ledger, "k")),
        "owner=w2 run=r1 amount=-0.10 currency=USD"
    );
    assert!(
        shown(&ledger, "k").contains(" lease_expires_at= "),
        "the new attempt has no lease of its own"
    );
}
