//! Several drains at once (contract 7.2, 4.1): each receipt is performed once.

use std::collections::HashMap;
use std::fmt::Write as _;

use rustix::process::Signal;

use super::procs::{alone, together};
use super::stage::{Running, lines, until};
use super::support::{Said, Scratch};
use super::talk::batch;

const RECEIPTS: usize = 200;

fn with_200() -> Scratch {
    let ledger = Scratch::with_ledger();
    let mut input = String::new();
    for n in 0..RECEIPTS {
        writeln!(
            input,
            "{{\"op\":\"record\",\"key\":\"k:{n}\",\"payload\":{n},\"keep_payload\":true}}"
        )
        .unwrap();
    }
    assert_eq!(batch(&ledger, input).code, 0);
    ledger
}

/// The payload tells whose it is; what the command does is one line, appended in one write.
const SCRIPT: &str = "read n; echo \"$RECEIPT_LEDGER_KEY k:$n\" >>effects";

fn drain(ledger: &Scratch, options: &str, script: &str) -> std::process::Command {
    let mut command = ledger.command(["--busy-timeout", "60s", "drain", "--all", "--quiet"]);
    command
        .args(options.split_whitespace())
        .args(["--", "sh", "-c", script]);
    command
}

fn drained(said: &Said) -> usize {
    let first = said.stdout.split(' ').next().unwrap();
    first
        .strip_prefix("drained=")
        .unwrap_or_else(|| panic!("{said:?}"))
        .parse()
        .unwrap()
}

/// How often each key was performed; its payload was its own.
fn performed(ledger: &Scratch) -> HashMap<String, u32> {
    let mut performed = HashMap::new();
    for line in lines(ledger, "effects") {
        let (key, payload) = line.split_once(' ').unwrap();
        assert_eq!(key, payload, "another receipt's payload");
        *performed.entry(key.to_owned()).or_default() += 1;
    }
    performed
}

#[test]
fn four_at_once_over_200_receipts_perform_each_once() {
    let _alone = alone();
    for options in ["", "--allow-failed-retry --retry-unknown-within 24h"] {
        let ledger = with_200();
        let all = together(&[0; 4].map(|_| drain(&ledger, options, SCRIPT)));
        for said in &all {
            assert_eq!((said.stderr.as_str(), said.code), ("", 0), "{said:?}");
        }
        assert_eq!(all.iter().map(drained).sum::<usize>(), RECEIPTS);
        let performed = performed(&ledger);
        assert_eq!(performed.len(), RECEIPTS);
        assert!(performed.values().all(|times| *times == 1), "{performed:?}");
        let stats = ledger.run("stats").stdout;
        assert!(
            stats.starts_with("recorded=0 reserved=0 succeeded=200 failed=0 unknown=0 "),
            "{stats}"
        );
        assert!(
            ledger
                .run("verify")
                .stdout
                .starts_with("verify=ok receipts=200")
        );
    }
}

#[test]
fn what_one_of_four_fails_no_other_of_them_performs_more_often_than_it_may() {
    let _alone = alone();
    let ledger = with_200();
    let script = format!("{SCRIPT}; exit 9");
    // Without the right to retry nobody performs anything a second time, however the four meet.
    let all = together(&[0; 4].map(|_| drain(&ledger, "--failed-exit 9", &script)));
    assert!(
        all.iter().all(|said| said.code == 75 || drained(said) == 0),
        "{all:?}"
    );
    assert_eq!(all.iter().map(drained).sum::<usize>(), RECEIPTS);
    assert!(performed(&ledger).values().all(|times| *times == 1));
}

/// Without a payload nothing that failed is taken again: two drains that found the same receipt recorded do not count as
/// a retry of each other.
#[test]
fn what_one_of_four_fails_no_other_takes_for_a_retry() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let input: String = (0..RECEIPTS)
        .map(|n| format!("{{\"op\":\"record\",\"key\":\"k:{n}\",\"fingerprint\":\"v1\"}}\n"))
        .collect();
    assert_eq!(batch(&ledger, input).code, 0);
    let script = "echo \"$RECEIPT_LEDGER_KEY $RECEIPT_LEDGER_KEY\" >>effects; exit 9";
    let options = "--failed-exit 9 --allow-failed-retry";
    let all = together(&[0; 4].map(|_| drain(&ledger, options, script)));
    assert_eq!(all.iter().map(drained).sum::<usize>(), RECEIPTS, "{all:?}");
    assert!(performed(&ledger).values().all(|times| *times == 1));
}

#[test]
fn one_of_four_killed_with_9_leaves_an_unknown_and_no_repeat() {
    let _alone = alone();
    let ledger = with_200();
    let mut drains: Vec<Running> = (0..4)
        .map(|_| Running::start(&ledger, &mut drain(&ledger, "--lease 1s", SCRIPT)))
        .collect();
    until("a part is performed", || {
        lines(&ledger, "effects").len() > 20
    });
    drains[0].signal(Signal::KILL);
    let killed = drains.remove(0).said();
    assert_eq!(killed.code, -9);
    for drain in drains {
        let said = drain.said();
        assert_eq!((said.stderr.as_str(), said.code), ("", 0), "{said:?}");
    }
    // The command of the one that was killed may have been started or not, but nobody starts it again.
    let in_flight = || ledger.run("list --state reserved").stdout.lines().count();
    until("its lease is over", || in_flight() == 0);
    let left = ledger.run("list --state unknown").stdout.lines().count();
    assert!(left <= 1, "{left}");
    let last = super::stage::finish(
        &ledger,
        &mut drain(
            &ledger,
            "--allow-failed-retry --retry-unknown-within 24h",
            SCRIPT,
        ),
    );
    assert_eq!(drained(&last), 0);
    let performed = performed(&ledger);
    assert!(performed.len() >= RECEIPTS - left, "{}", performed.len());
    assert!(performed.values().all(|times| *times == 1), "{performed:?}");
}
