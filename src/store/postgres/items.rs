//! What a group's steps speak of, and what they make of it: every key with what is stored for it and what is to become of
//! it. Nothing here asks the server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::error::Trouble;
use super::fresh::Fresh;
use super::receipts;
use super::row::{self, Stored, number, required};
use super::wire::Answer;
use crate::decide::Change;
use crate::receipt::{Entry, Event, EventKind, HistoryRow, Key, KeyDigest, State, Timestamp};
use crate::store::{Reading, Step};

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
    payload: Option<Arc<[u8]>>,
    /// As far as it was asked for, and behind that what the steps add.
    history: Vec<HistoryRow>,
    known: usize,
}

/// Every key of some steps.
#[derive(Debug)]
pub(super) struct Items {
    items: HashMap<KeyDigest, Item>,
}

/// The digests of some steps' keys.
#[derive(Debug)]
pub(super) struct Digests {
    of_steps: Vec<KeyDigest>,
    /// Each once.
    pub(super) once: Vec<KeyDigest>,
}

impl Digests {
    pub(super) fn of(steps: &[Step<'_>]) -> Digests {
        let of_steps: Vec<_> = steps.iter().map(|step| KeyDigest::of(key(step))).collect();
        let mut seen = HashSet::with_capacity(of_steps.len());
        let once = of_steps.iter().copied();
        let once = once.filter(|digest| seen.insert(*digest)).collect();
        Digests { of_steps, once }
    }
}

/// What is to be written for a key.
pub(super) enum Written<'a> {
    /// A receipt where there was no row.
    Fresh(Fresh<'a>),
    /// A change of what was stored.
    Changed(&'a KeyDigest, &'a Stored, Change),
}

impl Items {
    /// As if nothing were stored.
    pub(super) fn new(digests: &Digests) -> Items {
        Items {
            items: HashMap::with_capacity(digests.once.len()),
        }
    }

    /// What is stored for the steps' keys.
    pub(super) fn of(digests: &Digests, stored: &Answer) -> Result<Items, Trouble> {
        let mut items = Items::new(digests).items;
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
        Ok(Items { items })
    }

    /// Takes in what is known of their history.
    pub(super) fn add_details(&mut self, details: &Answer) -> Result<(), Trouble> {
        let mut item_of: HashMap<i64, &mut Item> = self
            .items
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
                    item.history.push(row);
                    item.known = item.history.len();
                }
                Err(Trouble::Impossible(column)) => item.broken = Some(column),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// Runs the steps over what is known of their keys. A step that cannot be taken fails alone.
    pub(super) fn take(
        &mut self,
        digests: &Digests,
        steps: &mut [Step<'_>],
        now: Timestamp,
    ) -> Vec<Result<(), Trouble>> {
        let steps = steps.iter_mut().zip(&digests.of_steps).enumerate();
        steps
            .map(|(nth, (step, digest))| self.take_one(nth, step, digest, now))
            .collect()
    }

    fn take_one(
        &mut self,
        nth: usize,
        step: &mut Step<'_>,
        digest: &KeyDigest,
        now: Timestamp,
    ) -> Result<(), Trouble> {
        let key = key(step);
        let item = self.items.entry(*digest).or_default();
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
    }

    /// The numbers of receipts whose history must be known to take these steps rightly, and of those that are shown with
    /// the whole of it.
    pub(super) fn in_question(
        &self,
        digests: &Digests,
        steps: &[Step<'_>],
    ) -> (HashSet<i64>, HashSet<i64>) {
        let steps = steps.iter().zip(&digests.of_steps);
        let shown: HashSet<i64> = steps
            .filter(|(step, _)| matches!(step, Step::Read(_, true, _)))
            .filter_map(|(_, digest)| self.items.get(digest)?.id())
            .collect();
        let in_conflict = |item: &&Item| {
            let mut events = item.events();
            events.any(|event| event.kind == EventKind::Conflict)
        };
        let in_conflict = self.items.values().filter(in_conflict);
        let mut asked: HashSet<i64> = in_conflict.filter_map(Item::id).collect();
        asked.extend(&shown);
        (asked, shown)
    }

    /// Whether anything is to be written.
    pub(super) fn change(&self) -> bool {
        self.items.values().any(Item::changes)
    }

    /// Whether something is to be written of which there is a row already.
    pub(super) fn change_what_is_there(&self) -> bool {
        let mut items = self.items.values();
        items.any(|item| item.changes() && item.stored.is_some())
    }

    /// Whether there is no key but new ones, each with a receipt to be written.
    pub(super) fn are_all_fresh(&self) -> bool {
        self.items.values().all(Item::is_fresh)
    }

    /// What is to be written, in the order in which it comes on record.
    pub(super) fn written(&self) -> Vec<Written<'_>> {
        let items = self.items.iter().filter(|(_, item)| item.changes());
        let mut items: Vec<_> = items.collect();
        items.sort_unstable_by_key(|(_, item)| item.changed_by);
        let written = items.into_iter();
        written
            .filter_map(|(digest, item)| match &item.stored {
                None => item.as_fresh(digest).map(Written::Fresh),
                Some(stored) => {
                    let change = item.as_change();
                    Some(Written::Changed(digest, stored, change))
                }
            })
            .collect()
    }
}

fn key<'a>(step: &Step<'a>) -> &'a Key {
    match step {
        Step::Update(key, _) | Step::Read(key, ..) => key,
    }
}

impl Item {
    /// The number its history goes by.
    fn id(&self) -> Option<i64> {
        self.stored.as_ref().map(|stored| stored.id)
    }

    /// What the steps add to its history.
    fn events(&self) -> impl Iterator<Item = &Event> {
        self.history[self.known..].iter().map(|row| &row.event)
    }

    fn changes(&self) -> bool {
        self.entry_changed || self.history.len() > self.known
    }

    /// Whether it is a receipt where there was no row.
    fn is_fresh(&self) -> bool {
        let no_row = self.stored.is_none() && self.broken.is_none();
        no_row && self.entry_changed && matches!(self.entry, Some(Entry::Whole(_)))
    }

    fn as_fresh<'a>(&'a self, digest: &'a KeyDigest) -> Option<Fresh<'a>> {
        let Some(Entry::Whole(receipt)) = &self.entry else {
            return None;
        };
        let performed = receipt.stored_state == State::Succeeded;
        Some(Fresh {
            digest,
            receipt,
            history: &self.history,
            payload: self.payload.as_deref().filter(|_| !performed),
        })
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
            let is_same = |row: &HistoryRow| {
                row.event.kind == EventKind::Conflict && row.event.detail == event.detail
            };
            if event.kind == EventKind::Conflict && self.history.iter().any(is_same) {
                continue;
            }
            self.history.push(HistoryRow { at: now, event });
        }
    }

    fn as_change(&self) -> Change {
        Change {
            entry: self.entry.clone().filter(|_| self.entry_changed),
            events: self.events().cloned().collect(),
            payload: self.payload.clone(),
        }
    }
}
