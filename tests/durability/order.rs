//! The order of writes, syncs and answers (contract 3.6, 4.7, 10.2), as strace records it.

use super::procs::{names, plain};
use super::support::Scratch;
use super::trace::{Disk, Event, can_trace, traced};

/// Follows a call on a disk, and expects that whatever it said could no longer be lost.
fn expect_durable_answer(ledger: &Scratch, disk: &mut Disk, args: &[&str]) -> Vec<Event> {
    let (told, events) = traced(ledger, args);
    assert_eq!(told.code, 0, "{args:?}: {told:?}");
    let mut answers = 0;
    for event in &events {
        if let Event::Said { .. } = event {
            answers += 1;
            for name in ["receipts.db", "receipts.db-wal"] {
                let lost = disk.unsynced(ledger.path(name).to_str().unwrap());
                assert!(
                    lost.is_empty(),
                    "{args:?} answered before the sync of {name}: {lost:?}"
                );
            }
        }
        disk.apply(event);
    }
    assert_eq!(answers, 1, "{args:?}");
    events
}

fn synced(events: &[Event], ledger: &Scratch) -> Vec<String> {
    let folder = format!(
        "{}/",
        ledger.path("").to_str().unwrap().trim_end_matches('/')
    );
    let path = |event: &Event| {
        let Event::Synced { path } = event else {
            return None;
        };
        Some(path.strip_prefix(&folder).unwrap_or(".").to_owned())
    };
    events.iter().filter_map(path).collect()
}

/// Syncs of the database and its log.
fn file_syncs(events: &[Event], ledger: &Scratch) -> usize {
    let all = synced(events, ledger);
    all.iter()
        .filter(|name| name.starts_with("receipts.db"))
        .count()
}

#[test]
fn no_answer_is_written_before_the_sync_that_covers_it() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::new();
    let mut disk = Disk::default();
    for call in [
        "reserve --key a --fingerprint v1",
        "fail --key a --reason no",
        "reserve --key a --fingerprint v1 --allow-failed-retry --lease 1h",
        "renew --key a --attempt 2 --lease 2h",
        "unknown --key a --attempt 2",
        "resolve --key a --as succeeded --evidence seen",
        "reserve --key b --fingerprint v1",
        "succeed --key b --result-json [1]",
        "reserve --key b --fingerprint v1",
        "show --key b",
    ] {
        let args: Vec<&str> = call.split(' ').collect();
        expect_durable_answer(&ledger, &mut disk, &args);
    }
    // The same while somebody else has the ledger open: nothing is folded back, the log grows.
    let open = plain(&ledger.path("receipts.db"));
    open.query_row(
        "SELECT count(*) FROM receipt_ledger_receipt",
        [],
        |_| Ok(()),
    )
    .unwrap();
    for n in 0..3 {
        let key = format!("c:{n}");
        expect_durable_answer(
            &ledger,
            &mut disk,
            &["reserve", "--key", &key, "--fingerprint", "v1"],
        );
        expect_durable_answer(&ledger, &mut disk, &["succeed", "--key", &key]);
    }
}

#[test]
fn init_answers_only_when_file_and_name_are_on_the_disk() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::new();
    let events = expect_durable_answer(&ledger, &mut Disk::default(), &["init"]);
    let place = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    let file = place(&|event| matches!(event, Event::Synced { path } if path.ends_with(".draft")));
    let renamed = place(&|event| matches!(event, Event::Renamed { .. }));
    let folder = ledger.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    let named = place(&|event| matches!(event, Event::Synced { path } if path == folder));
    let said = place(&|event| matches!(event, Event::Said { .. }));
    assert!(
        file < renamed && renamed < named && named < said,
        "{events:?}"
    );
}

#[test]
fn a_decision_alone_costs_at_most_4_file_syncs_and_no_change_of_the_folder() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key warm --fingerprint v1");
    let before = (folder_time(&ledger), names(&ledger.path("")));
    for n in 0..5 {
        let key = format!("order:{n}");
        for args in [
            vec!["reserve", "--key", &key, "--fingerprint", "v1"],
            vec!["succeed", "--key", &key],
        ] {
            let (told, events) = traced(&ledger, &args);
            assert_eq!(told.code, 0);
            assert!(
                file_syncs(&events, &ledger) <= 4,
                "{:?}",
                synced(&events, &ledger)
            );
            let changes =
                |event: &&Event| matches!(event, Event::Renamed { .. } | Event::Removed { .. });
            assert_eq!(events.iter().find(changes), None);
            assert_eq!(
                (folder_time(&ledger), names(&ledger.path(""))),
                before,
                "{args:?}"
            );
        }
    }
}

/// When an entry of the folder was last created, renamed or removed.
fn folder_time(ledger: &Scratch) -> std::time::SystemTime {
    std::fs::metadata(ledger.path(""))
        .unwrap()
        .modified()
        .unwrap()
}

#[test]
fn a_decision_beside_another_connection_costs_one_file_sync() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    let open = plain(&ledger.path("receipts.db"));
    open.query_row(
        "SELECT count(*) FROM receipt_ledger_receipt",
        [],
        |_| Ok(()),
    )
    .unwrap();
    let mut syncs = 0;
    for n in 0..20 {
        let key = format!("order:{n}");
        let (told, events) = traced(&ledger, &["reserve", "--key", &key, "--fingerprint", "v1"]);
        assert!(told.stdout.starts_with("decision=EXECUTE "));
        syncs += file_syncs(&events, &ledger);
    }
    assert!(syncs <= 24, "{syncs} syncs for 20 decisions");
}

#[test]
fn what_changes_nothing_costs_no_sync_at_all() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key a --fingerprint v1");
    ledger.run("reserve --key b --fingerprint v1");
    ledger.run("succeed --key b");
    ledger.run("reserve --key b --fingerprint other");
    for call in [
        "reserve --key a --fingerprint v1",
        "reserve --key b --fingerprint v1",
        "reserve --key b --fingerprint other",
        "succeed --key b",
        "fail --key b",
        "show --key a --history",
        "show --key nothing",
        "init",
    ] {
        let args: Vec<&str> = call.split(' ').collect();
        let (_, events) = traced(&ledger, &args);
        assert_eq!(synced(&events, &ledger), Vec::<String>::new(), "{call}");
    }
}

#[test]
fn an_old_log_is_surely_gone_before_a_copy_takes_the_ledgers_name() {
    if !can_trace() {
        return;
    }
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key a --fingerprint v1");
    let copied = ledger.run("backup --to copy.db");
    assert_eq!(copied.code, 0, "{copied:?}");
    ledger.run("reserve --key b --fingerprint v1");
    let (told, events) = traced(&ledger, &["restore", "--from", "copy.db"]);
    assert_eq!(told.code, 0, "{told:?}");
    let is = |path: &str, name: &str| ledger.path(name).to_str() == Some(path);
    let folder = ledger.path("");
    let is_folder = |path: &str| std::path::Path::new(path) == folder;
    let (mut removed, mut synced, mut renamed) = (false, false, 0);
    for event in &events {
        match event {
            Event::Removed { path } if is(path, "receipts.db-wal") => removed = true,
            Event::Synced { path } if is_folder(path) => synced = removed,
            Event::Renamed { to, .. } if is(to, "receipts.db") => {
                assert!(synced, "the old log could come back: {events:?}");
                renamed += 1;
                synced = false;
            }
            Event::Opened { .. }
            | Event::Wrote { .. }
            | Event::Cut { .. }
            | Event::Synced { .. }
            | Event::Renamed { .. }
            | Event::Removed { .. }
            | Event::Said { .. } => {}
        }
    }
    assert_eq!(renamed, 1, "{events:?}");
    assert!(synced, "the new name could be lost: {events:?}");
}
