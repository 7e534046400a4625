//! `stats --prometheus FILE` (contract §8.3): what a textfile collector reads.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::procs::{names, untouched};
use super::stage::{AtLast, can_inject, killed_everywhere, mode, rich};
use super::support::Scratch;

/// The samples of a whole and valid file; anything else is a failure.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut typed = Vec::new();
    let mut helped = Vec::new();
    assert!(text.ends_with('\n'), "torn: {text:?}");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            helped.push(rest.split(' ').next().unwrap().to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["gauge", "counter"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            typed.push(name.to_owned());
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap().to_owned();
            assert_eq!(
                (typed.last(), helped.last()),
                (Some(&family), Some(&family)),
                "{line}"
            );
            let value: f64 = value.parse().unwrap();
            assert_eq!(samples.insert(name.to_owned(), value), None, "{line}");
        }
    }
    assert!(
        samples.contains_key("receipt_ledger_forgotten_total"),
        "torn: {text:?}"
    );
    samples
}

#[test]
fn the_series_are_those_of_the_contract_and_say_what_stats_says() {
    let scratch = rich();
    let said = scratch.run("stats --prometheus receipts.prom");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(said.stdout, scratch.run("stats").stdout);
    let samples = samples(&fs::read_to_string(scratch.path("receipts.prom")).unwrap());
    let figure = |name: &str| {
        let start = format!("{name}=");
        let word = said
            .stdout
            .split_whitespace()
            .find_map(|word| word.strip_prefix(&start));
        word.unwrap().to_owned()
    };
    let mut expected = BTreeMap::new();
    for state in ["recorded", "reserved", "succeeded", "failed", "unknown"] {
        let name = format!("receipt_ledger_receipts{{state=\"{state}\"}}");
        expected.insert(name, figure(state).parse().unwrap());
    }
    expected.insert(
        "receipt_ledger_pruned".to_owned(),
        figure("pruned").parse().unwrap(),
    );
    expected.insert(
        "receipt_ledger_forgotten_total".to_owned(),
        figure("forgotten").parse().unwrap(),
    );
    for (word, name) in [
        (
            "oldest_in_flight_at",
            "receipt_ledger_oldest_in_flight_timestamp_seconds",
        ),
        (
            "oldest_unknown_at",
            "receipt_ledger_oldest_unknown_timestamp_seconds",
        ),
    ] {
        let moment = receipt_ledger::receipt::Timestamp::parse(&figure(word)).unwrap();
        let ms: f64 = moment.as_ms().to_string().parse().unwrap();
        expected.insert(name.to_owned(), ms / 1000.0);
    }
    assert_eq!(samples, expected);
}

#[test]
fn there_is_no_series_for_what_is_not() {
    let scratch = Scratch::with_ledger();
    assert_eq!(scratch.run("stats --prometheus receipts.prom").code, 0);
    let text = fs::read_to_string(scratch.path("receipts.prom")).unwrap();
    assert!(!text.contains("timestamp_seconds"), "{text}");
    assert_eq!(samples(&text).len(), 7);
}

#[test]
fn the_only_label_is_the_state_and_nothing_that_a_caller_wrote_is_in_the_file() {
    let scratch = Scratch::with_ledger();
    for args in [
        "reserve --key SECRET-key --fingerprint SECRET-print --owner SECRET-owner --run SECRET-run",
        "unknown --key SECRET-key --reason SECRET-reason",
    ] {
        assert_eq!(scratch.run(args).code, 0);
    }
    assert_eq!(scratch.run("stats --prometheus receipts.prom").code, 0);
    let text = fs::read_to_string(scratch.path("receipts.prom")).unwrap();
    assert!(!text.contains("SECRET"), "{text}");
    let labels = text.lines().filter(|line| line.contains('{'));
    assert!(
        labels
            .into_iter()
            .all(|line| line.starts_with("receipt_ledger_receipts{state=\""))
    );
}

#[test]
fn everybody_may_read_it_and_nothing_else_is_left_in_the_folder() {
    let scratch = rich();
    fs::create_dir(scratch.path("textfile")).unwrap();
    for _ in 0..2 {
        assert_eq!(
            scratch
                .run("stats --prometheus textfile/receipts.prom")
                .code,
            0
        );
        assert_eq!(mode(&scratch.path("textfile/receipts.prom")), 0o644);
        assert_eq!(names(&scratch.path("textfile")), ["receipts.prom"]);
    }
}

#[test]
fn a_reader_finds_it_whole_at_every_moment() {
    let scratch = Scratch::with_ledger();
    assert_eq!(scratch.run("stats --prometheus receipts.prom").code, 0);
    let done = AtomicBool::new(false);
    let path = scratch.path("receipts.prom");
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let samples = samples(&fs::read_to_string(&path).unwrap());
                seen.push(samples["receipt_ledger_receipts{state=\"reserved\"}"]);
            }
            seen
        });
        let at_last = AtLast(&done);
        for number in 0..12 {
            let args = format!("reserve --key k{number} --fingerprint f");
            assert_eq!(scratch.run(&args).code, 0);
            assert_eq!(scratch.run("stats --prometheus receipts.prom").code, 0);
        }
        drop(at_last);
        let seen = reader.join().unwrap();
        assert!(seen.is_sorted(), "{seen:?}");
    });
}

#[test]
fn killed_at_any_moment_it_leaves_the_old_file_or_the_new_one_and_no_draft_that_is_collected() {
    if !can_inject() {
        return;
    }
    let scratch = Scratch::with_ledger();
    assert_eq!(scratch.run("stats --prometheus receipts.prom").code, 0);
    let old = fs::read_to_string(scratch.path("receipts.prom")).unwrap();
    scratch.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let mut command = || scratch.command(["stats", "--prometheus", "receipts.prom"]);
    let kills = killed_everywhere(&mut command, &mut |at| {
        let text = fs::read_to_string(scratch.path("receipts.prom")).unwrap();
        assert_eq!(samples(&text).len(), 7 + usize::from(text != old), "{at}");
        let names = names(&scratch.path("."));
        let prom = names.into_iter().filter(|name| name.ends_with(".prom"));
        assert_eq!(prom.collect::<Vec<_>>(), ["receipts.prom"], "{at}");
        fs::write(scratch.path("receipts.prom"), &old).unwrap();
    });
    assert!(kills >= 3, "only {kills}");
}

#[test]
fn the_ledger_itself_is_never_overwritten_under_whatever_name() {
    let scratch = rich();
    symlink(scratch.path("receipts.db"), scratch.path("link.prom")).unwrap();
    fs::create_dir(scratch.path("sub")).unwrap();
    let before = untouched(&scratch.path("receipts.db"));
    for name in [
        "receipts.db",
        "./receipts.db",
        "sub/../receipts.db",
        "link.prom",
    ] {
        scratch.refuses(&format!("stats --prometheus {name}"), "refused-file");
    }
    for ending in ["-wal", "-shm", "-journal"] {
        scratch.refuses(
            &format!("stats --prometheus receipts.db{ending}"),
            "refused-file",
        );
        scratch.refuses(&format!("export --to receipts.db{ending}"), "refused-file");
        scratch.refuses(&format!("backup --to receipts.db{ending}"), "refused-file");
    }
    assert_eq!(untouched(&scratch.path("receipts.db")), before);
    assert_eq!(scratch.run("verify").code, 0);
}
