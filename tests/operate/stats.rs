//! `stats` (contract §8.3): the ledger in figures.

use receipt_ledger::receipt::Timestamp;

use super::past::{DAY, HOUR, Past, With};
use super::stage::rich;
use super::support::Scratch;

const NAMES: [&str; 9] = [
    "recorded",
    "reserved",
    "succeeded",
    "failed",
    "unknown",
    "pruned",
    "forgotten",
    "oldest_in_flight_at",
    "oldest_unknown_at",
];

/// The figures by name; the names are checked.
fn figures(scratch: &Scratch) -> Vec<String> {
    let said = scratch.run("stats");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let words: Vec<&str> = said.stdout.trim_end().split(' ').collect();
    assert_eq!(words.len(), NAMES.len(), "{said:?}");
    let value = |(word, name): (&&str, &&str)| {
        let value = word
            .strip_prefix(name)
            .and_then(|word| word.strip_prefix('='));
        value.unwrap().to_owned()
    };
    words.iter().zip(&NAMES).map(value).collect()
}

#[test]
fn an_empty_ledger_counts_nothing() {
    let scratch = Scratch::with_ledger();
    scratch.says(
        "stats",
        "recorded=0 reserved=0 succeeded=0 failed=0 unknown=0 pruned=0 forgotten=0 oldest_in_flight_at= oldest_unknown_at=\n",
    );
    scratch.says(
        "stats --format json",
        concat!(
            r#"{"recorded":0,"reserved":0,"succeeded":0,"failed":0,"unknown":0,"pruned":0,"forgotten":0,"#,
            "\"oldest_in_flight_at\":null,\"oldest_unknown_at\":null}\n"
        ),
    );
}

#[test]
fn every_receipt_is_counted_once_in_the_state_that_list_tells() {
    let scratch = rich();
    let figures = figures(&scratch);
    for (state, counted) in NAMES.iter().zip(&figures).take(5) {
        let listed = scratch.run(&format!("list --state {state}")).stdout;
        assert_eq!(*counted, listed.lines().count().to_string(), "{state}");
    }
    assert_eq!(figures[5..7], ["2".to_owned(), "0".to_owned()]);
}

#[test]
fn the_oldest_in_flight_is_told_by_when_its_attempt_began_not_by_when_it_came_on_record() {
    let scratch = Scratch::with_ledger();
    let at = |ago: i64| {
        let now = Timestamp::from_system(std::time::SystemTime::now());
        now.plus_ms(-ago)
    };
    let mut past = Past::at(&scratch, at(9 * DAY));
    past.reserve("first-failed");
    past.fail("first-failed", 1);
    past.record("recorded", None, None);
    past.close();
    let began = at(2 * DAY);
    let mut past = Past::at(&scratch, began);
    past.reserve("first-failed");
    past.close();
    let mut past = Past::at(&scratch, at(HOUR));
    past.reserve("later");
    past.close();
    assert_eq!(figures(&scratch)[7..], [began.to_string(), String::new()]);
}

#[test]
fn an_unknown_one_is_as_old_as_its_declaration_or_the_end_of_its_lease() {
    let scratch = Scratch::with_ledger();
    let now = Timestamp::from_system(std::time::SystemTime::now());
    let mut past = Past::at(&scratch, now.plus_ms(-5 * DAY));
    past.reserve("declared");
    past.reserve_with(
        "ran-out",
        With {
            lease_ms: Some(DAY),
            ..With::default()
        },
    );
    past.close();
    let ran_out = now.plus_ms(-4 * DAY);
    let declared = now.plus_ms(-DAY);
    let mut past = Past::at(&scratch, declared);
    past.unknown("declared", 1, None);
    past.close();
    let told = figures(&scratch);
    assert_eq!(told[4], "2");
    assert_eq!(told[7..], [String::new(), ran_out.to_string()]);
    scratch.says(
        "resolve --key ran-out --as succeeded --evidence seen",
        "state=succeeded attempt=1\n",
    );
    assert_eq!(
        figures(&scratch)[7..],
        [String::new(), declared.to_string()]
    );
}

#[test]
fn a_skip_leaves_no_trace() {
    let scratch = rich();
    let before = figures(&scratch);
    for key in ["reserved", "failed", "unknown", "result:0"] {
        let said = scratch.run(&format!("reserve --key {key} --fingerprint f"));
        assert!(said.stdout.starts_with("decision=SKIP_"), "{said:?}");
    }
    assert_eq!(figures(&scratch), before);
}
