//! `prune` (contract §9.1): what goes, and what stays however old it is.

use super::past::{DAY, HOUR, Past, With};
use super::stage::{exported, rich};
use super::support::Scratch;

fn run(name: &str) -> With<'_> {
    With {
        run: Some(name),
        ..With::default()
    }
}

fn is_pruned(scratch: &Scratch, key: &str) -> bool {
    let said = scratch.run(&format!("show --key {key}"));
    assert_eq!(said.code, 0, "{said:?}");
    said.stdout.ends_with(" pruned=true\n")
}

#[test]
fn the_clock_of_retention_starts_at_settlement() {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 100 * DAY);
    for key in ["early", "late", "failed-late"] {
        past.reserve(key);
    }
    past.succeed("early", 1, None);
    past.close();
    let mut past = Past::ago(&scratch, DAY);
    past.succeed("late", 1, None);
    past.fail("failed-late", 1);
    past.close();
    scratch.says("prune --older-than 101d", "pruned=0 kept_live=0\n");
    scratch.says("prune --older-than 2d", "pruned=1 kept_live=0\n");
    assert!(is_pruned(&scratch, "early"));
    assert!(!is_pruned(&scratch, "late") && !is_pruned(&scratch, "failed-late"));
    scratch.says("prune --older-than 23h", "pruned=2 kept_live=0\n");
}

#[test]
fn a_failure_that_was_settled_anew_starts_anew() {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 100 * DAY);
    past.reserve("again");
    past.fail("again", 1);
    past.close();
    let mut past = Past::ago(&scratch, DAY);
    past.reserve("again");
    past.fail("again", 2);
    past.close();
    scratch.says("prune --older-than 2d", "pruned=0 kept_live=0\n");
}

#[test]
fn what_is_not_settled_never_goes() {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 1_000 * DAY);
    past.record("recorded", None, None);
    past.reserve("reserved");
    past.reserve_with(
        "ran-out",
        With {
            lease_ms: Some(HOUR),
            ..With::default()
        },
    );
    past.reserve("unknown");
    past.unknown("unknown", 1, None);
    past.close();
    let before = exported(&scratch, "receipts.db");
    for args in [
        "prune --older-than 0s",
        "prune --older-than 0s --forget",
        "prune --older-than 1d --state failed --state succeeded",
    ] {
        scratch.says(args, "pruned=0 kept_live=0\n");
    }
    assert_eq!(exported(&scratch, "receipts.db"), before);
}

#[test]
fn a_run_that_is_still_alive_keeps_what_it_settled_long_ago() {
    for last in ["recorded", "reserved", "ran-out", "unknown"] {
        let scratch = Scratch::with_ledger();
        let mut past = Past::ago(&scratch, 100 * DAY);
        for key in ["of-the-run", "of-the-run-too"] {
            past.reserve_with(key, run("nightly"));
        }
        past.succeed("of-the-run", 1, None);
        past.fail("of-the-run-too", 1);
        past.reserve_with("of-another", run("nightly-2"));
        past.succeed("of-another", 1, None);
        past.reserve("of-none");
        past.succeed("of-none", 1, None);
        past.close();
        let mut today = Past::ago(&scratch, HOUR);
        // --forget goes by the newest settlement.
        today.reserve("settled-today");
        today.succeed("settled-today", 1, None);
        match last {
            "recorded" => today.record("last", Some("nightly"), None),
            "ran-out" => {
                let lease_ms = Some(1);
                today.reserve_with(
                    "last",
                    With {
                        lease_ms,
                        ..run("nightly")
                    },
                );
            }
            _ => {
                today.reserve_with("last", run("nightly"));
            }
        }
        if last == "unknown" {
            today.unknown("last", 1, None);
        }
        today.close();
        scratch.says("prune --older-than 90d --dry-run", "pruned=2 kept_live=2\n");
        scratch.says("prune --older-than 90d", "pruned=2 kept_live=2\n");
        assert!(!is_pruned(&scratch, "of-the-run"), "{last}");
        assert!(is_pruned(&scratch, "of-another") && is_pruned(&scratch, "of-none"));
        scratch.says("prune --older-than 90d --forget", "pruned=0 kept_live=2\n");
        if last != "recorded" && last != "reserved" {
            let end = "resolve --key last --as succeeded --evidence seen";
            scratch.says(end, "state=succeeded attempt=1\n");
            scratch.says("prune --older-than 90d", "pruned=2 kept_live=0\n");
        }
    }
}

#[test]
fn a_dry_run_says_what_is_then_done_and_changes_nothing() {
    for options in [
        "--older-than 0s",
        "--older-than 1h",
        "--older-than 25d",
        "--older-than 31d",
        "--older-than 0s --state failed",
        "--older-than 1d --state succeeded",
        "--older-than 0s --forget",
        "--forget --pruned",
    ] {
        let scratch = rich();
        let before = exported(&scratch, "receipts.db");
        let dry = scratch.run(&format!("prune {options} --dry-run"));
        assert_eq!((dry.code, dry.stderr.as_str()), (0, ""), "{options}");
        assert_eq!(exported(&scratch, "receipts.db"), before);
        let done = scratch.run(&format!("prune {options}"));
        assert_eq!(dry, done, "{options}");
        assert_eq!(scratch.run("verify").code, 0, "{options}");
    }
}

#[test]
fn two_prunes_side_by_side_take_each_receipt_once() {
    let scratch = Scratch::with_ledger();
    super::bulk::succeeded(&scratch, 3_000, "[]");
    let prune = || scratch.command(["prune", "--older-than", "1d", "--busy-timeout", "60s"]);
    let both = super::procs::together(&[prune(), prune()]);
    let pruned = |said: &super::support::Said| -> u32 {
        let figure = said.stdout.strip_prefix("pruned=").unwrap();
        figure.split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(both.iter().map(pruned).sum::<u32>(), 3_000, "{both:?}");
    assert_eq!(scratch.run("verify").stdout, "verify=ok receipts=0\n");
}

#[test]
fn only_the_named_states_go() {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, DAY);
    for key in ["s", "f"] {
        past.reserve(key);
    }
    past.succeed("s", 1, None);
    past.fail("f", 1);
    past.close();
    scratch.says(
        "prune --older-than 0s --state failed",
        "pruned=1 kept_live=0\n",
    );
    assert!(is_pruned(&scratch, "f") && !is_pruned(&scratch, "s"));
    scratch.says(
        "prune --older-than 0s --state succeeded",
        "pruned=1 kept_live=0\n",
    );
    assert!(is_pruned(&scratch, "s"));
    scratch.says(
        "prune --older-than 0s --format json",
        "{\"pruned\":0,\"kept_live\":0}\n",
    );
}

#[test]
fn what_a_pruned_receipt_said_is_no_longer_in_the_file() {
    let scratch = Scratch::with_ledger();
    for args in [
        "record --key SECRET-1 --payload-file payload --keep-payload",
        "reserve --key SECRET-1 --payload-file payload",
        "fail --key SECRET-1 --reason SECRET-2",
    ] {
        std::fs::write(scratch.path("payload"), "SECRET-3").unwrap();
        assert_eq!(scratch.run(args).code, 0, "{args}");
    }
    scratch.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    let tables: Vec<String> = exported(&scratch, "receipts.db")
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(tables.len(), 3);
    assert!(!tables.concat().contains("SECRET"));
}
