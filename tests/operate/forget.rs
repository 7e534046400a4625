//! `prune --forget` (contract §9.1): the one way to make a key executable again, and how it is hedged.

use super::past::{DAY, HOUR, Past};
use super::support::Scratch;

const EXECUTE: &str = "decision=EXECUTE state=reserved attempt=1\n";

fn counted(scratch: &Scratch, pruned: u32, forgotten: u32) {
    let said = scratch.run("stats");
    let figures = format!(" pruned={pruned} forgotten={forgotten} ");
    assert!(said.stdout.contains(&figures), "{said:?}");
}

fn with_two_old_ones() -> Scratch {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 100 * DAY);
    for key in ["s", "f"] {
        past.reserve(key);
    }
    past.succeed("s", 1, None);
    past.fail("f", 1);
    past.close();
    scratch
}

fn settled_today(scratch: &Scratch) {
    let mut today = Past::ago(scratch, 0);
    today.reserve("today");
    today.succeed("today", 1, None);
    today.close();
}

#[test]
fn what_is_forgotten_is_executed_again_and_counted_for_ever() {
    let scratch = with_two_old_ones();
    settled_today(&scratch);
    scratch.says("prune --older-than 90d --forget", "pruned=2 kept_live=0\n");
    counted(&scratch, 0, 2);
    for key in ["s", "f"] {
        scratch.refuses(&format!("show --key {key}"), "not-found");
        scratch.says(&format!("reserve --key {key} --fingerprint other"), EXECUTE);
    }
    counted(&scratch, 0, 2);
    assert_eq!(scratch.run("verify").code, 0);
}

#[test]
fn a_clock_set_ahead_frees_nothing() {
    let scratch = with_two_old_ones();
    // Nothing was settled since: by the settlements on record no time has passed.
    scratch.says(
        "prune --older-than 90d --forget --dry-run",
        "pruned=0 kept_live=0\n",
    );
    scratch.says("prune --older-than 90d --forget", "pruned=0 kept_live=0\n");
    settled_today(&scratch);
    scratch.says(
        "prune --older-than 90d --forget --dry-run",
        "pruned=2 kept_live=0\n",
    );
}

#[test]
fn a_settlement_in_the_future_does_not_make_the_clock_run_ahead() {
    let scratch = with_two_old_ones();
    let mut future = Past::ago(&scratch, -1_000 * DAY);
    future.reserve("future");
    future.succeed("future", 1, None);
    future.close();
    scratch.says("prune --older-than 101d --forget", "pruned=0 kept_live=0\n");
    scratch.says("prune --older-than 99d --forget", "pruned=2 kept_live=0\n");
    scratch.says("prune --older-than 0s", "pruned=0 kept_live=0\n");
}

#[test]
fn forgetting_the_pruned_leaves_whole_receipts_and_counts_each_once() {
    let scratch = with_two_old_ones();
    scratch.says("prune --older-than 1d", "pruned=2 kept_live=0\n");
    settled_today(&scratch);
    counted(&scratch, 2, 0);
    scratch.says(
        "prune --forget --pruned --dry-run",
        "pruned=2 kept_live=0\n",
    );
    counted(&scratch, 2, 0);
    scratch.says("prune --forget --pruned", "pruned=2 kept_live=0\n");
    counted(&scratch, 0, 2);
    scratch.says("prune --forget --pruned", "pruned=0 kept_live=0\n");
    counted(&scratch, 0, 2);
    scratch.says(
        "reserve --key today --fingerprint f",
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
    scratch.says("reserve --key s --fingerprint f", EXECUTE);
}

#[test]
fn an_age_never_frees_what_was_pruned_before() {
    let scratch = with_two_old_ones();
    scratch.says("prune --older-than 1d", "pruned=2 kept_live=0\n");
    settled_today(&scratch);
    let mut past = Past::ago(&scratch, HOUR);
    past.reserve("an-hour-old");
    past.succeed("an-hour-old", 1, None);
    past.close();
    scratch.says("prune --older-than 30m --forget", "pruned=1 kept_live=0\n");
    counted(&scratch, 2, 1);
    scratch.says(
        "reserve --key s --fingerprint f",
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
}
