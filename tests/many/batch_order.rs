//! Syncs and answers in their order, and how lines are grouped: what strace sees (contract 3.6, 7.4).

use std::fs::{self, File};

use super::support::Scratch;
use super::talk::reserve;
use super::trace::{Disk, Event, can_trace, traced_reading};

const MIB: usize = 1024 * 1024;

/// Runs `batch` on a file; expects each answer after its sync. Returns each write's lines, and the events.
fn groups(ledger: &Scratch, disk: &mut Disk, input: &str) -> (Vec<Vec<String>>, Vec<Event>) {
    let outside = Scratch::new();
    fs::write(outside.path("in"), input).unwrap();
    let stdin = File::open(outside.path("in")).unwrap();
    let (told, events) = traced_reading(ledger, &["batch"], stdin.into());
    assert_eq!(told.stderr, "");
    let mut groups = Vec::new();
    for event in &events {
        if let Event::Said { bytes } = event {
            for name in ["receipts.db", "receipts.db-wal"] {
                let lost = disk.unsynced(ledger.path(name).to_str().unwrap());
                assert!(
                    lost.is_empty(),
                    "answered before the sync of {name}: {lost:?}"
                );
            }
            let text = String::from_utf8(bytes.clone()).unwrap();
            groups.push(text.lines().map(str::to_owned).collect());
        }
        disk.apply(event);
    }
    (groups, events)
}

fn syncs(events: &[Event]) -> usize {
    let is_sync = |event: &&Event| matches!(event, Event::Synced { .. });
    events.iter().filter(is_sync).count()
}

#[test]
fn no_answer_is_written_before_its_sync_and_a_group_is_1_000_lines_at_most() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::new();
    let mut disk = Disk::default();
    // The note of a creation comes first, and is no answer.
    for args in [
        &["init"][..],
        &["reserve", "--key", "first", "--fingerprint", "v1"],
    ] {
        let (told, events) = traced_reading(&ledger, args, std::process::Stdio::null());
        assert_eq!(told.code, 0);
        events.iter().for_each(|event| disk.apply(event));
    }
    let input: String = (0..2_500).map(|n| reserve(&format!("k:{n}"))).collect();
    let (groups, _) = groups(&ledger, &mut disk, &input);
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
}

#[test]
fn a_group_is_synced_once_and_one_of_skips_not_at_all() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    // With another connection open nothing is folded back at the end.
    let open = super::procs::plain(&ledger.path("receipts.db"));
    open.query_row(
        "SELECT count(*) FROM receipt_ledger_receipt",
        [],
        |_| Ok(()),
    )
    .unwrap();
    ledger.run("reserve --key first --fingerprint v1");
    let input: String = (0..600).map(|n| reserve(&format!("k:{n}"))).collect();
    let (first, events) = groups(&ledger, &mut Disk::default(), &input);
    let synced: Vec<&Event> = events
        .iter()
        .filter(|event| matches!(event, Event::Synced { path } if path.contains("receipts.db")))
        .collect();
    assert_eq!((first.len(), synced.len()), (1, 1), "{synced:?}");
    let (again, events) = groups(&ledger, &mut Disk::default(), &(input + "nonsense\n"));
    assert_eq!(
        (again.len(), syncs(&events)),
        (1, 0),
        "what changes nothing costs no sync"
    );
    let wrote =
        |event: &&Event| matches!(event, Event::Wrote { path, .. } if path.contains("receipts.db"));
    assert_eq!(events.iter().find(wrote), None);
}

#[test]
fn a_group_is_8_mib_at_most() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    let padded = |key: &str, bytes: usize| {
        let line = reserve(key);
        format!("{{{}{}", " ".repeat(bytes - line.len()), &line[1..])
    };
    // 3 + 3 MiB are a group, the third line does not go into it any more; nor does one of 4 MiB to two of 2.5.
    let sizes = [
        3 * MIB,
        3 * MIB,
        3 * MIB,
        2 * MIB,
        2 * MIB,
        2 * MIB + MIB / 2,
        2 * MIB + MIB / 2,
        4 * MIB,
        4 * MIB,
    ];
    let input: String = sizes
        .iter()
        .enumerate()
        .map(|(n, size)| padded(&format!("k:{n}"), *size))
        .collect();
    let (groups, _) = groups(&ledger, &mut Disk::default(), &input);
    let mut rest = sizes.iter();
    for group in &groups {
        let bytes: usize = rest.by_ref().take(group.len()).sum();
        assert!(
            bytes <= 8 * MIB,
            "{} lines of {bytes} bytes together",
            group.len()
        );
    }
    assert_eq!(rest.next(), None);
    assert!(groups.len() < sizes.len(), "they are grouped at all");
}
