//! Power is lost at any instant (contract 10.7): of what was not synced, any part may be gone. Calls are traced, and
//! the disk is played back to every moment between two of their steps.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use fastrand::Rng;
use receipt_ledger::receipt::Key;
use receipt_ledger::store::Store;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};

use super::procs::{alone, chance, integrity, plain, scale};
use super::support::Scratch;
use super::trace::{Disk, Event, can_trace, change, traced};

/// A write reaches the device in pieces of this size.
const SECTOR_BYTES: usize = 512;

/// A file's content after the power came back.
fn survives(content: &[u8], pending: &[Event], rng: &mut Rng) -> Vec<u8> {
    // All, none, or any of them; torn or whole.
    let (keep, torn) = (rng.f32() * 1.4 - 0.2, rng.bool());
    let mut content = content.to_vec();
    let mut end = content.len();
    for event in pending {
        let Event::Wrote { path, at, bytes } = event else {
            if rng.f32() < keep {
                change(&mut content, event);
            }
            continue;
        };
        let at = if *at == usize::MAX { end } else { *at };
        end = end.max(at + bytes.len());
        let piece = if torn {
            SECTOR_BYTES
        } else {
            bytes.len().max(1)
        };
        for (n, bytes) in bytes.chunks(piece).enumerate() {
            if rng.f32() < keep {
                let at = at + n * piece;
                let (path, bytes) = (path.clone(), bytes.to_vec());
                change(&mut content, &Event::Wrote { path, at, bytes });
            }
        }
    }
    content
}

/// The folder after the power came back, written out somewhere else.
fn after_power_loss(disk: &Disk, from: &Path, to: &Path, rng: &mut Rng) {
    let mut names = disk.synced_names.clone();
    let keep = rng.f32() * 1.4 - 0.2;
    for (old, new, number) in &disk.pending_names {
        if rng.f32() < keep {
            if let Some(old) = old {
                names.remove(old);
            }
            if let Some(new) = new {
                names.insert(new.clone(), *number);
            }
        }
    }
    for (path, number) in names {
        let (content, pending) = &disk.files[number];
        let name = Path::new(&path).strip_prefix(from).unwrap();
        fs::write(to.join(name), survives(content, pending, rng)).unwrap();
    }
    // Whatever was in shared memory means nothing after a start.
    if rng.bool() && to.join("receipts.db-wal").exists() {
        let garbage: Vec<u8> = (0..32_768).map(|_| rng.u8(..)).collect();
        fs::write(to.join("receipts.db-shm"), garbage).unwrap();
    }
}

/// Where a key stood after each answer, in order; and how far that has been told.
#[derive(Debug, Default)]
struct Story {
    steps: Vec<(String, u32)>,
    told: usize,
}

fn standing(path: &Path, key: &str) -> Option<(String, u32)> {
    let mut store = SqliteStore::open_to_read(OpenOptions::new(path)).unwrap();
    let reading = store.read(&Key::parse(key).unwrap(), false).unwrap();
    let entry = reading.entry?;
    Some((
        entry.state(reading.now).as_str().to_owned(),
        entry.attempt(),
    ))
}

fn expect_what_was_told(
    disk: &Disk,
    from: &Path,
    stories: &HashMap<&str, Story>,
    rng: &mut Rng,
    now: &str,
) {
    let after = Scratch::new();
    after_power_loss(disk, from, &after.path(""), rng);
    let path = after.path("receipts.db");
    if !path.exists() {
        assert!(
            stories.values().all(|story| story.told == 0),
            "{now}: the ledger is gone"
        );
        assert!(!after.path("receipts.db-wal").exists() || !path.exists());
        return;
    }
    for (key, story) in stories {
        let found = standing(&path, key);
        let at = match &found {
            None => 0,
            Some(found) => 1 + story.steps.iter().position(|step| step == found).unwrap(),
        };
        // The call in progress may have got further than what was told.
        let held = at == story.told || at == story.told + 1;
        assert!(held, "{now}: {key} is {found:?}, step {at} of {story:?}");
    }
    assert_eq!(integrity(&path), "ok", "{now}");
}

const CALLS: &[(&str, &str, &str, u32)] = &[
    ("reserve --key a --fingerprint v1", "a", "reserved", 1),
    ("fail --key a", "a", "failed", 1),
    ("reserve --key b --fingerprint v1", "b", "reserved", 1),
    (
        "reserve --key a --fingerprint v1 --allow-failed-retry",
        "a",
        "reserved",
        2,
    ),
    (
        "succeed --key a --attempt 2 --result-file result",
        "a",
        "succeeded",
        2,
    ),
    ("unknown --key b", "b", "unknown", 1),
    ("reserve --key c --fingerprint v1", "c", "reserved", 1),
    ("succeed --key c", "c", "succeeded", 1),
    ("succeed --key b", "b", "succeeded", 1),
];

/// Plays the calls; before the one with this number somebody else opens the ledger, before the other one they leave.
fn play(opens_before: usize, leaves_before: usize, rng: &mut Rng, times: u32) {
    let ledger = Scratch::new();
    let from = ledger.path("");
    fs::write(ledger.path("result"), format!("\"{}\"", "x".repeat(30_000))).unwrap();
    let mut stories: HashMap<&str, Story> = HashMap::new();
    for (_, key, state, attempt) in CALLS {
        let story = stories.entry(key).or_default();
        story.steps.push(((*state).to_owned(), *attempt));
    }
    let mut disk = Disk::default();
    let mut other = None;
    for (n, (call, key, _, _)) in CALLS.iter().enumerate() {
        if n == opens_before {
            let open = plain(&ledger.path("receipts.db"));
            let no_fold = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            open.set_db_config(no_fold, true).unwrap();
            open.query_row(
                "SELECT count(*) FROM receipt_ledger_receipt",
                [],
                |_| Ok(()),
            )
            .unwrap();
            other = Some(open);
        }
        if n == leaves_before {
            other = None;
        }
        let args: Vec<&str> = call.split(' ').collect();
        let (told, events) = traced(&ledger, &args);
        assert_eq!(told.code, 0, "{call}: {told:?}");
        for (step, event) in events.iter().enumerate() {
            disk.apply(event);
            if let Event::Said { .. } = event {
                stories.get_mut(key).unwrap().told += 1;
            } else if let Event::Opened { create: false, .. } = event {
                continue;
            }
            for _ in 0..times {
                let now = format!("{call}, step {step}");
                expect_what_was_told(&disk, &from, &stories, rng, &now);
            }
        }
    }
    drop(other);
}

#[test]
fn whatever_was_told_is_there_after_a_loss_of_power_at_any_step() {
    if !can_trace() {
        return;
    }
    let _alone = alone();
    let mut rng = chance("power loss");
    let never = usize::MAX;
    play(never, never, &mut rng, 2 * scale());
    play(2, 6, &mut rng, 2 * scale());
    play(1, never, &mut rng, 2 * scale());
}
