//! Many steps in one transaction: their keys are read, or locked, together, the rules run in order over what was read,
//! and what they want kept is written together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::alone;
use super::array::Array;
use super::commit::Proof;
use super::error::Trouble;
use super::meta::{self, Head};
use super::patience::Patience;
use super::receipts::{self, RIVAL_WAIT, find, lock};
use super::row::{self, Stored, number, required};
use super::session::{Session, token};
use super::wire::{Answer, Statement};
use super::writes::Writes;
use crate::decide::Change;
use crate::error::Error;
use crate::receipt::{Entry, Event, EventKind, HistoryRow, Key, KeyDigest, Timestamp};
use crate::store::{Reading, Step};

/// Which conflicts are known, and the whole history where it is asked for.
const DETAILS: &str = "\
SELECT history.* FROM unnest($1::bigint[]) AS wanted (id) CROSS JOIN LATERAL ( \
    SELECT receipt, at_ms, event, attempt, actor, detail FROM receipt_ledger.history \
    WHERE receipt = wanted.id AND (event = 'conflict' OR receipt = ANY($2::bigint[])) \
    ORDER BY sequence) AS history";

/// What is known of a key while the steps are taken.
#[derive(Debug, Default)]
struct Item {
    /// What was stored before the first step.
    stored: Option<Stored>,
    /// A column of it that holds what no ledger writes.
    broken: Option<&'static str>,
    entry: Option<Entry>,
    entry_changed: bool,
    /// The first step that changed it: receipts come on record in that order.
    changed_by: usize,
    events: Vec<Event>,
    payload: Option<Arc<[u8]>>,
    conflicts: Vec<Option<String>>,
    history: Vec<HistoryRow>,
}

/// Every key of the steps.
type Items = HashMap<KeyDigest, Item>;

/// Takes the steps. A step that cannot be read fails alone; where the server refuses to write one, all are taken again,
/// one at a time.
pub(super) fn group(
    session: &mut Session,
    patience: Patience,
    steps: &mut [Step<'_>],
) -> Result<Vec<Result<(), Error>>, Trouble> {
    let array = receipts::digests(&keys(steps));
    let mut statements = vec![find(&array), Statement::new(meta::HEAD)];
    // A receipt that is shown with its history is shown as both were at one moment.
    let shows = steps
        .iter()
        .any(|step| matches!(step, Step::Read(_, true, _)));
    if shows {
        statements.insert(0, Statement::new(receipts::VIEW));
    }
    let mut answers = session.ask(&statements, patience)?;
    let answers = answers.split_off(answers.len() - 2);
    let head = Head::of(&answers[1], session)?;
    head.decides(session)?;
    let mut now = session.now(&head);
    let (mut items, mut done) = take(session, patience, steps, &answers[0], now)?;
    if shows {
        session.roll_back(patience);
    }
    let changes = |items: &Items| items.values().any(Item::changes);
    if !changes(&items) {
        return Ok(done);
    }
    let decides_what_is_there = |item: &Item| item.changes() && item.stored.is_some();
    let mut statements = Session::entering(patience.at_most(RIVAL_WAIT));
    if items.values().any(decides_what_is_there) {
        statements = Session::entering(patience);
        statements.extend([lock(&array), Statement::new(meta::HEAD)]);
        let mut answers = session.ask(&statements, patience)?;
        let answers = answers.split_off(answers.len() - 2);
        let head = Head::of(&answers[1], session)?;
        head.decides(session)?;
        head.commit_counts(session)?;
        now = session.now(&head);
        (items, done) = take(session, patience, steps, &answers[0], now)?;
        if !changes(&items) {
            session.roll_back(patience);
            return Ok(done);
        }
        statements = Vec::new();
    }
    match write(session, patience, statements, &items, now) {
        Ok(()) => Ok(done),
        // Somebody is creating one of them: then the clock is read again.
        Err(Trouble::Server(error)) if error.code == "55P03" && !patience.is_over() => {
            Err(Trouble::Rival)
        }
        // Something in one of them: only taken one at a time do they tell which.
        Err(Trouble::Server(error))
            if error.code.starts_with("22") || error.code.starts_with("23") =>
        {
            session.connected(patience)?;
            alone::group(session, patience, steps)
        }
        Err(trouble) => Err(trouble),
    }
}

/// Each key once.
fn keys(steps: &[Step<'_>]) -> Vec<KeyDigest> {
    let mut seen = HashSet::new();
    let digests = steps.iter().map(|step| KeyDigest::of(key(step)));
    digests.filter(|digest| seen.insert(*digest)).collect()
}

fn key<'a>(step: &Step<'a>) -> &'a Key {
    match step {
        Step::Update(key, _) | Step::Read(key, ..) => key,
    }
}

/// Runs the steps over what is stored for their keys. History is read, and the steps run again, only where one of them
/// asks for it: to show it, or because a conflict may be known already.
fn take(
    session: &mut Session,
    patience: Patience,
    steps: &mut [Step<'_>],
    stored: &Answer,
    now: Timestamp,
) -> Result<(Items, Vec<Result<(), Error>>), Trouble> {
    let mut items = items(stored)?;
    let done = take_all(session, steps, &mut items, now);
    let shown: HashSet<i64> = steps
        .iter()
        .filter(|step| matches!(step, Step::Read(_, true, _)))
        .filter_map(|step| items.get(&KeyDigest::of(key(step)))?.id())
        .collect();
    let in_conflict = |item: &Item| {
        let is_conflict = |event: &Event| event.kind == EventKind::Conflict;
        item.events.iter().any(is_conflict)
    };
    let in_conflict = items.values().filter(|item| in_conflict(item));
    let mut asked: HashSet<i64> = in_conflict.filter_map(Item::id).collect();
    asked.extend(&shown);
    if asked.is_empty() {
        return Ok((items, done));
    }
    let mut items = self::items(stored)?;
    let array = |ids: &HashSet<i64>| ids.iter().map(i64::to_string).collect::<Array>();
    let details = Statement::new(DETAILS)
        .with(array(&asked))
        .with(array(&shown));
    let answers = session.ask(&[details], patience)?;
    add_details(&mut items, &answers[0])?;
    let done = take_all(session, steps, &mut items, now);
    Ok((items, done))
}

/// What is stored for the steps' keys.
fn items(stored: &Answer) -> Result<Items, Trouble> {
    let mut items = Items::new();
    for row in &stored.rows {
        let digest = required(row, "key_digest", |text| row::bytes(text).map(KeyDigest))?;
        let item = items.entry(digest).or_default();
        match row::stored(row) {
            Ok(stored) => {
                item.entry = Some(stored.entry.clone());
                item.stored = Some(stored);
            }
            Err(Trouble::Impossible(column)) => item.broken = Some(column),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(items)
}

fn add_details(items: &mut Items, details: &Answer) -> Result<(), Trouble> {
    let mut item_of: HashMap<i64, &mut Item> = items
        .values_mut()
        .filter_map(|item| Some((item.id()?, item)))
        .collect();
    for row in &details.rows {
        let id: i64 = required(row, "receipt", number)?;
        let Some(item) = item_of.get_mut(&id) else {
            continue;
        };
        match row::history(row) {
            Ok(row) => {
                if row.event.kind == EventKind::Conflict {
                    item.conflicts.push(row.event.detail.clone());
                }
                item.history.push(row);
            }
            Err(Trouble::Impossible(column)) => item.broken = Some(column),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

/// Runs the steps over what is known of their keys.
fn take_all(
    session: &Session,
    steps: &mut [Step<'_>],
    items: &mut Items,
    now: Timestamp,
) -> Vec<Result<(), Error>> {
    let mut take_one = |(nth, step): (usize, &mut Step<'_>)| {
        let key = key(step);
        let item = items.entry(KeyDigest::of(key)).or_default();
        if let Some(stored) = &item.stored {
            receipts::refuse_other_key(stored, key)?;
        }
        if let Some(column) = item.broken {
            return Err(Trouble::Impossible(column));
        }
        match step {
            Step::Update(_, rule) => {
                let changed = item.changes();
                item.change(rule(item.entry.as_ref(), now), now);
                if !changed {
                    item.changed_by = nth;
                }
            }
            Step::Read(_, with_history, reading) => {
                let history = if *with_history {
                    item.history.clone()
                } else {
                    Vec::new()
                };
                **reading = Some(Reading {
                    entry: item.entry.clone(),
                    now,
                    history,
                });
            }
        }
        Ok(())
    };
    let told = |trouble: Trouble| trouble.told("write to", session.name(), session.busy_timeout());
    steps
        .iter_mut()
        .enumerate()
        .map(|step| take_one(step).map_err(told))
        .collect()
}

impl Item {
    /// The number its history goes by.
    fn id(&self) -> Option<i64> {
        self.stored.as_ref().map(|stored| stored.id)
    }

    fn changes(&self) -> bool {
        self.entry_changed || !self.events.is_empty()
    }

    fn change(&mut self, change: Change, now: Timestamp) {
        if let Some(entry) = change.entry {
            self.entry = Some(entry);
            self.entry_changed = true;
            self.payload = self.payload.take().or(change.payload);
        }
        if !matches!(self.entry, Some(Entry::Whole(_))) {
            return;
        }
        for event in change.events {
            if event.kind == EventKind::Conflict {
                if self.conflicts.contains(&event.detail) {
                    continue;
                }
                self.conflicts.push(event.detail.clone());
            }
            self.history.push(HistoryRow {
                at: now,
                event: event.clone(),
            });
            self.events.push(event);
        }
    }

    fn as_change(&self) -> Change {
        Change {
            entry: self.entry.clone().filter(|_| self.entry_changed),
            events: self.events.clone(),
            payload: self.payload.clone(),
        }
    }
}

/// Writes what has changed and commits it.
fn write(
    session: &mut Session,
    patience: Patience,
    mut statements: Vec<Statement<'_>>,
    items: &Items,
    now: Timestamp,
) -> Result<(), Trouble> {
    let token = token()?;
    let mut writes = Writes::new(&token);
    let mut changed: Vec<_> = items.iter().filter(|(_, item)| item.changes()).collect();
    changed.sort_by_key(|(_, item)| item.changed_by);
    for (digest, item) in &changed {
        writes.add(digest, item.stored.as_ref(), &item.as_change(), now);
    }
    let first = statements.len();
    statements.extend(writes.statements());
    let answers = session.ask(&statements, patience)?;
    if !writes.all_are_new(&answers[first])? {
        return Err(Trouble::Rival);
    }
    let proof = changed.first().map(|(digest, _)| Proof {
        digest: **digest,
        token: &token,
    });
    session.commit(Vec::new(), proof, patience)?;
    Ok(())
}
