//! What a pruned receipt answers (contract §9.1): as before, for ever.

use super::contract;
use super::prepared::{RESULT, SAME, prepare, rewrite, told};
use super::support::Scratch;
use super::table;

/// The receipts of the contract's tables that are settled and whole.
fn settled() -> Vec<&'static str> {
    let rows = table::rows(contract::RESERVE).into_iter().skip(1);
    rows.map(|row| row[0])
        .filter(|name| name.starts_with("succeeded") || name.starts_with("failed"))
        .collect()
}

/// reserve's options of a column; all first attempts are some moments old.
fn options(column: &str, attempt: u32) -> String {
    let mut options = String::new();
    for word in column.split(' ') {
        options.push_str(&match word {
            "allow" => " --allow-failed-retry".to_owned(),
            "younger" => " --retry-unknown-within 24h".to_owned(),
            "exactly" | "older" => " --retry-unknown-within 1ms".to_owned(),
            "max" => format!(" --max-attempts {attempt}"),
            "max+1" => format!(" --max-attempts {}", attempt + 1),
            _ => String::new(),
        });
    }
    options
}

#[test]
fn every_decision_is_the_same_before_and_after_for_every_state_and_fingerprint() {
    let columns = &table::rows(contract::RESERVE)[0][1..];
    for name in settled() {
        let scratch = Scratch::with_ledger();
        let keys: Vec<String> = (0..columns.len()).map(|n| format!("k:{n}")).collect();
        let twins: Vec<String> = (0..columns.len()).map(|n| format!("twin:{n}")).collect();
        for key in keys.iter().chain(&twins) {
            prepare(&scratch, name, key);
        }
        let attempt = if name.ends_with("late") { 2 } else { 1 };
        let decide = |key: &str, column: &str, fingerprint: &str| {
            let options = options(column, attempt);
            let said = scratch.run(&format!(
                "reserve --key {key} --fingerprint {fingerprint}{options}"
            ));
            (said.code, said.stdout, said.stderr)
        };
        // A conflict first: it leaves a trace in the history of the whole one, and must not in what is pruned.
        let whole: Vec<_> = keys
            .iter()
            .zip(columns)
            .flat_map(|(key, column)| [decide(key, column, "other"), decide(key, column, SAME)])
            .collect();
        let sql = "UPDATE receipt_ledger_receipt SET run = 'done' WHERE key LIKE 'twin:%'";
        rewrite(&scratch, sql, &[]);
        let said = scratch.run("prune --older-than 0s");
        assert!(said.stdout.starts_with("pruned="), "{said:?}");
        let pruned: Vec<_> = twins
            .iter()
            .zip(columns)
            .flat_map(|(key, column)| [decide(key, column, "other"), decide(key, column, SAME)])
            .collect();
        assert_eq!(whole, pruned, "{name}");
        let retries = whole
            .iter()
            .filter(|said| said.1.starts_with("decision=RETRY"))
            .count();
        let contested = name == "failed, late" || name.starts_with("succeeded");
        assert_eq!(retries > 0, !contested, "{name}");
        assert_eq!(scratch.run("verify").code, 0, "{name}");
    }
}

#[test]
fn a_retry_makes_it_a_whole_receipt_again_with_the_next_attempt() {
    let scratch = Scratch::with_ledger();
    prepare(&scratch, "failed, reconciled, late", "k");
    scratch.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    scratch.says(
        &format!(
            "reserve --key k --fingerprint {SAME} --allow-failed-retry --run again --lease 1h"
        ),
        "decision=RETRY state=reserved attempt=3\n",
    );
    let shown = scratch.run("show --key k --history").stdout;
    let start = format!("state=reserved attempt=3 key=k fingerprint={SAME} owner= run=again ");
    assert!(shown.starts_with(&start), "{shown}");
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains("event=reserved attempt=3"), "{shown}");
    scratch.refuses("succeed --key k --attempt 2", "stale-attempt");
    scratch.says("succeed --key k --attempt 3", "state=succeeded attempt=3\n");
    let said = scratch.run("stats");
    assert!(
        said.stdout.contains(" succeeded=1 ") && said.stdout.contains(" pruned=0 "),
        "{said:?}"
    );
    scratch.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    scratch.says(
        "show --key k",
        "state=succeeded attempt=3 key=k pruned=true\n",
    );
    assert_eq!(scratch.run("verify").code, 0);
}

#[test]
fn show_record_and_list_tell_that_it_is_pruned() {
    for name in settled() {
        let scratch = Scratch::with_ledger();
        let attempt = prepare(&scratch, name, "k");
        scratch.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
        let state = told(name);
        let shown = format!("state={state} attempt={attempt} key=k pruned=true\n");
        scratch.says("show --key k", &shown);
        scratch.says("show --key k --history", &shown);
        scratch.says(
            "show --key k --format json",
            &format!(
                "{{\"state\":\"{state}\",\"attempt\":{attempt},\"key\":\"k\",\"pruned\":true}}\n"
            ),
        );
        scratch.says(
            &format!("record --key k --fingerprint {SAME}"),
            &format!("created=false state={state} attempt={attempt}\n"),
        );
        scratch.conflicts(
            "record --key k --fingerprint other",
            &format!("decision=CONFLICT state={state} attempt={attempt}\n"),
        );
        scratch.says("list", "");
        scratch.says("show --key k", &shown);
        assert_eq!(scratch.run("verify").stdout, "verify=ok receipts=0\n");
    }
}

#[test]
fn settling_it_is_refused_unless_it_says_the_same_without_a_result() {
    for name in ["succeeded", "succeeded, result", "failed"] {
        let scratch = Scratch::with_ledger();
        prepare(&scratch, name, "k");
        scratch.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
        let state = told(name);
        let (same, other) = match state {
            "succeeded" => ("succeed", "fail"),
            _ => ("fail", "succeed"),
        };
        scratch.says(
            &format!("{same} --key k --attempt 1"),
            &format!("state={state} attempt=1\n"),
        );
        for args in [
            format!("{other} --key k --attempt 1"),
            "unknown --key k --attempt 1".to_owned(),
            "renew --key k --attempt 1 --lease 1h".to_owned(),
            format!("succeed --key k --attempt 1 --result-json {RESULT}"),
        ] {
            scratch.refuses(&args, "invalid-transition");
        }
        let shown = format!("state={state} attempt=1 key=k pruned=true\n");
        scratch.says("show --key k", &shown);
    }
}
