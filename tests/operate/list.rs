//! `list` (contract §8.2): the filters against a model that knows nothing of SQL.

use std::collections::BTreeMap;

use super::past::{HOUR, Past, With};
use super::procs::{chance, scale};
use super::stage::{self, rich};
use super::support::Scratch;

const STATES: [&str; 5] = ["recorded", "reserved", "succeeded", "failed", "unknown"];

/// What the model knows of a receipt.
#[derive(Debug)]
struct Known {
    key: String,
    state: &'static str,
    run: Option<String>,
    hours: i64,
}

fn make(scratch: &Scratch, rng: &mut fastrand::Rng, number: usize, hours: i64) -> Known {
    let mut past = Past::ago(scratch, hours * HOUR + HOUR / 2);
    let prefix = ["a", "a%", "a_", "a*", "a[", "A", "b:", "_"][rng.usize(..8)];
    let key = format!("{prefix}{number}");
    let run = ["night", "night-2", "NIGHT"]
        .get(rng.usize(..5))
        .map(|run| (*run).to_owned());
    let with = With {
        run: run.as_deref(),
        ..With::default()
    };
    let leased = |lease_ms| With {
        lease_ms: Some(lease_ms),
        ..with
    };
    let state = match rng.u32(0..7) {
        0 => {
            past.record(&key, run.as_deref(), None);
            "recorded"
        }
        1 => {
            past.reserve_with(&key, leased(1));
            "unknown"
        }
        2 => {
            past.reserve_with(&key, leased((hours + 1) * HOUR));
            "reserved"
        }
        3 => {
            past.reserve_with(&key, with);
            "reserved"
        }
        4 => {
            past.reserve_with(&key, with);
            past.unknown(&key, 1, None);
            "unknown"
        }
        5 => {
            past.reserve_with(&key, with);
            past.fail(&key, 1);
            "failed"
        }
        _ => {
            past.reserve_with(&key, with);
            past.succeed(&key, 1, None);
            "succeeded"
        }
    };
    past.close();
    Known {
        key,
        state,
        run,
        hours,
    }
}

/// The keys of `list`'s lines.
fn keys(stdout: &str) -> Vec<String> {
    let key = |line: &str| {
        let words = line.split_whitespace();
        let mut keys = words.filter_map(|word| word.strip_prefix("key="));
        keys.next().unwrap().trim_matches('\'').to_owned()
    };
    stdout.lines().map(key).collect()
}

#[test]
fn every_combination_of_filters_gives_what_a_naive_filter_gives_oldest_first() {
    let mut rng = chance("list");
    let scratch = Scratch::with_ledger();
    let known: Vec<Known> = (0..40)
        .map(|number| {
            make(
                &scratch,
                &mut rng,
                number,
                40 - i64::try_from(number).unwrap(),
            )
        })
        .collect();
    for _ in 0..120 * scale() {
        let mut args = vec!["list".to_owned()];
        let mut give = |name: &str, value: String| args.push(format!("--{name}={value}"));
        let states: Vec<&str> = match rng.u32(0..3) {
            0 => Vec::new(),
            _ => (0..rng.usize(1..4))
                .map(|_| STATES[rng.usize(..5)])
                .collect(),
        };
        states
            .iter()
            .for_each(|state| give("state", (*state).to_owned()));
        let prefix = [
            "", "a", "a%", "a_", "a*", "a[", "A", "b", "_", "%", "a1", "zz", "é",
        ][rng.usize(..13)];
        let prefix = Some(prefix).filter(|prefix| !prefix.is_empty() && rng.bool());
        if let Some(prefix) = prefix {
            give("prefix", prefix.to_owned());
        }
        let run = ["night", "night-2", "NIGHT", "nig"][rng.usize(..4)];
        let run = Some(run).filter(|_| rng.u32(0..3) == 0);
        if let Some(run) = run {
            give("run", run.to_owned());
        }
        let older = Some(rng.i64(0..42)).filter(|_| rng.bool());
        if let Some(hours) = older {
            give("older-than", format!("{hours}h"));
        }
        let limit = Some(rng.usize(1..8)).filter(|_| rng.u32(0..3) == 0);
        if let Some(limit) = limit {
            give("limit", limit.to_string());
        }
        let expected: Vec<String> = known
            .iter()
            .filter(|receipt| states.is_empty() || states.contains(&receipt.state))
            .filter(|receipt| prefix.is_none_or(|prefix| receipt.key.starts_with(prefix)))
            .filter(|receipt| run.is_none_or(|run| receipt.run.as_deref() == Some(run)))
            .filter(|receipt| older.is_none_or(|hours| receipt.hours >= hours))
            .map(|receipt| receipt.key.clone())
            .take(limit.unwrap_or(usize::MAX))
            .collect();
        let said = scratch.run_args(&args);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{args:?}");
        assert_eq!(keys(&said.stdout), expected, "{args:?}");
    }
}

#[test]
fn a_state_named_twice_lists_no_receipt_twice() {
    let scratch = rich();
    for state in STATES {
        let once = scratch.run(&format!("list --state {state}"));
        let twice = scratch.run(&format!("list --state {state} --state {state}"));
        assert_eq!(once, twice);
        assert!(!once.stdout.is_empty(), "{state}");
    }
}

#[test]
fn each_line_is_the_line_of_show_and_in_json_the_object_of_show() {
    let scratch = rich();
    for format in ["text", "json"] {
        let list = scratch.run(&format!("list --format {format}"));
        let all = keys(&scratch.run("list").stdout);
        let shown: String = all
            .iter()
            .map(|key| {
                scratch
                    .run_args(&["show", "--format", format, "--key", key])
                    .stdout
            })
            .collect();
        assert_eq!(list.stdout, shown);
    }
}

#[test]
fn states_are_those_of_the_ledgers_clock_and_none_is_left_out_or_in_two() {
    let scratch = rich();
    let mut seen = BTreeMap::new();
    for state in STATES {
        for key in keys(&scratch.run(&format!("list --state {state}")).stdout) {
            assert_eq!(seen.insert(key, state), None);
        }
    }
    let all = keys(&scratch.run("list").stdout);
    assert_eq!(seen.len(), all.len());
    let mut leased = Past::ago(&scratch, HOUR);
    leased.reserve_with(
        "leased",
        With {
            lease_ms: Some(HOUR - 1),
            ..With::default()
        },
    );
    leased.close();
    assert!(keys(&scratch.run("list --state unknown").stdout).contains(&"leased".to_owned()));
    assert!(!keys(&scratch.run("list --state reserved").stdout).contains(&"leased".to_owned()));
}

#[test]
fn what_is_pruned_is_left_out_and_comes_last_once_it_is_whole_again() {
    let scratch = rich();
    let all = keys(&scratch.run("list").stdout);
    for pruned in ["old:failed", "old:contested"] {
        assert!(!all.contains(&pruned.to_owned()));
    }
    assert_eq!(all.last().map(String::as_str), Some("old:again"));
}

#[test]
fn an_empty_ledger_lists_nothing_and_a_missing_one_is_not_created() {
    let scratch = Scratch::new();
    for args in [
        "list",
        "stats",
        "verify",
        "export",
        "backup --to b.db",
        "prune --older-than 0s",
    ] {
        scratch.refuses(args, "no-ledger");
    }
    assert_eq!(std::fs::read_dir(scratch.path(".")).unwrap().count(), 0);
    let scratch = Scratch::with_ledger();
    scratch.says("list", "");
    scratch.says("list --format json --state unknown", "");
}

#[test]
fn what_is_no_filter_is_refused() {
    let scratch = rich();
    let before = stage::exported(&scratch, "receipts.db");
    for args in [
        "list --state settled",
        "list --state pruned",
        "list --limit 0",
        "list --limit -1",
        "list --older-than 5",
        "list --run=",
        "list --prefix=",
        "list --prefix=a --prefix=b",
        "prune",
        "prune --older-than 1d --state unknown",
        "prune --older-than 1d --state recorded",
        "prune --pruned",
        "prune --forget",
        "prune --forget --pruned --older-than 1d",
        "prune --older-than=-1s",
        "restore",
        "restore --from x --accept-gap",
        "export x",
        "import",
        "backup",
        "completions ash",
        "man nothing",
    ] {
        let said = scratch.run(args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args}");
        let usage = said.stderr.starts_with("error[usage]: ")
            || said.stderr.starts_with("error[invalid-input]: ");
        assert!(usage, "{args}: {}", said.stderr);
    }
    assert_eq!(stage::exported(&scratch, "receipts.db"), before);
}
