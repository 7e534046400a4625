//! A whole ledger from elsewhere: taken in one transaction, while nobody decides.

use std::collections::HashMap;

use super::array::Array;
use super::create;
use super::error::Trouble;
use super::fresh::{self, Fresh};
use super::meta::{self, Head};
use super::patience::Patience;
use super::portable::{histories, payload_of, with_payload};
use super::receipts::{digests, find};
use super::row::{self, Stored, bytes, required};
use super::session::{ALONE, Session, token};
use super::value::Value;
use super::wire::Statement;
use crate::error::Error;
use crate::receipt::{Entry, HistoryRow, KeyDigest, Pruned};
use crate::store::{Imported, Portable, Source, Standing};

/// Items that are compared and written together, and the bytes of payload and result that end such a group early.
const ITEMS_A_GROUP: usize = 500;
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// The source may take its time, and much may come of it.
const NO_LIMITS: [&str; 2] = [
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL statement_timeout = 0",
];

const INSERT_PRUNED: &str = "\
INSERT INTO receipt_ledger.receipt (key_digest, token, attempt, fingerprint_digest, outcome) \
SELECT key_digest, $1::uuid, attempt, fingerprint_digest, outcome \
FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[]) \
     AS given (key_digest, attempt, fingerprint_digest, outcome)";

/// Takes everything in, or nothing, in the transaction that was begun.
pub(super) fn import(
    session: &mut Session,
    patience: Patience,
    head: &Head,
    source: &mut dyn Source,
    mark: bool,
) -> Result<Imported, Trouble> {
    if head.standing == Standing::Retired {
        session.roll_back(patience);
        let ledger = session.name().to_owned();
        return Err(Trouble::Ledger(Error::Retired { ledger }));
    }
    session.ask(&NO_LIMITS.map(Statement::new), patience)?;
    let mut import = Import {
        token: token()?,
        forgotten: head.forgotten,
        added: 0,
        unchanged: 0,
    };
    let imported = import.all(session, source)?;
    let Imported::Taken { added, .. } = imported else {
        session.roll_back(patience);
        return Ok(imported);
    };
    let mut last = Vec::new();
    if import.forgotten > head.forgotten {
        last.push(meta::set("forgotten", import.forgotten.to_string()));
    }
    if mark && added > 0 {
        last.push(meta::set("standing", Standing::Copy.as_str()));
    }
    session.commit(last, None, patience)?;
    Ok(imported)
}

/// Begins a transaction beside which nobody decides. Where there is no ledger and one may be created, it is, in this very
/// transaction. Returns whether it was.
pub(super) fn begin(
    session: &mut Session,
    patience: Patience,
    create: bool,
) -> Result<(Head, bool), Trouble> {
    let script = match create {
        true => create::script(session, patience)?,
        false => None,
    };
    session.ask(&Session::beginning(patience, None), patience)?;
    if let Some(script) = &script {
        create::run(session, script, patience)?;
    }
    let alone = [Statement::new(ALONE), Statement::new(meta::HEAD)];
    let answers = session.ask(&alone, patience)?;
    let head = Head::of(&answers[1], session)?;
    head.writes(session)?;
    head.commit_counts(session)?;
    Ok((head, script.is_some()))
}

struct Import {
    token: String,
    forgotten: u64,
    added: u64,
    unchanged: u64,
}

/// Items to be compared and written together, no key among them twice.
#[derive(Default)]
struct Group {
    items: Vec<(KeyDigest, Portable)>,
    at: HashMap<KeyDigest, usize>,
    bytes: usize,
}

impl Group {
    fn takes(&self, digest: &KeyDigest) -> bool {
        self.items.len() < ITEMS_A_GROUP
            && self.bytes < GROUP_BYTES
            && !self.at.contains_key(digest)
    }

    fn push(&mut self, digest: KeyDigest, item: Portable) {
        if let Portable::Receipt {
            receipt, payload, ..
        } = &item
        {
            self.bytes += payload.as_ref().map_or(0, Vec::len);
            self.bytes += receipt
                .result
                .as_ref()
                .map_or(0, |json| json.as_str().len());
        }
        self.at.insert(digest, self.items.len());
        self.items.push((digest, item));
    }
}

impl Import {
    fn all(&mut self, session: &mut Session, source: &mut dyn Source) -> Result<Imported, Trouble> {
        let mut group = Group::default();
        loop {
            let item = match source.next() {
                Ok(Some(item)) => item,
                Ok(None) => break,
                Err(_) => return Ok(Imported::Abandoned),
            };
            let digest = match &item {
                Portable::Receipt { receipt, .. } => KeyDigest::of(&receipt.key),
                Portable::Pruned { key, .. } => *key,
                Portable::Forgotten(count) => {
                    self.forgotten = self.forgotten.max(*count);
                    continue;
                }
            };
            if !group.takes(&digest)
                && let Some(key) = self.take(session, std::mem::take(&mut group))?
            {
                return Ok(Imported::Contradicts { key });
            }
            group.push(digest, item);
        }
        if let Some(key) = self.take(session, group)? {
            return Ok(Imported::Contradicts { key });
        }
        Ok(Imported::Taken {
            added: self.added,
            unchanged: self.unchanged,
        })
    }

    /// Writes what is not there. Returns the first key of which something else is said than the ledger says.
    fn take(&mut self, session: &mut Session, group: Group) -> Result<Option<String>, Trouble> {
        if group.items.is_empty() {
            return Ok(None);
        }
        let known = Known::of(session, group.items.iter().map(|(digest, _)| digest))?;
        let (mut fresh, mut pruned_rows) = (Vec::new(), <[Array; 4]>::default());
        for (digest, item) in &group.items {
            match known.compare(session, digest, item)? {
                Found::Same => self.unchanged += 1,
                Found::Other(key) => return Ok(Some(key)),
                Found::Nothing => {
                    self.added += 1;
                    match item {
                        Portable::Receipt {
                            receipt,
                            history,
                            payload,
                        } => fresh.push(Fresh {
                            digest,
                            receipt,
                            history,
                            payload: payload.as_deref(),
                        }),
                        Portable::Pruned { pruned, .. } => {
                            add_pruned(&mut pruned_rows, digest, pruned);
                        }
                        Portable::Forgotten(_) => {}
                    }
                }
            }
        }
        let mut statements = Vec::new();
        if !fresh.is_empty() {
            let answers = session.ask_without_limit(&[fresh::numbers(fresh.len())])?;
            let numbers = fresh::drawn(&answers[0])?;
            statements = fresh::statements(&self.token, &fresh, &numbers)?;
        }
        if !pruned_rows[0].is_empty() {
            let insert = Statement::new(INSERT_PRUNED).with(self.token.as_str());
            statements.push(pruned_rows.into_iter().fold(insert, Statement::with));
        }
        if statements.is_empty() {
            return Ok(None);
        }
        let answers = session.ask_without_limit(&statements)?;
        if !fresh.is_empty() && !fresh::all_are_there(&answers, &fresh) {
            let why = "the server did not take all of it";
            return Err(meta::refuse(session, why.to_owned()));
        }
        Ok(None)
    }
}

fn add_pruned(rows: &mut [Array; 4], digest: &KeyDigest, pruned: &Pruned) {
    let values = [
        Value::bytes(&digest.0),
        Value::Number(pruned.attempt.into()),
        Value::bytes(&pruned.fingerprint.0),
        Value::Number(row::outcome(pruned)),
    ];
    for (array, value) in rows.iter_mut().zip(values) {
        array.push(Some(&value));
    }
}

/// Whether an item was there before.
enum Found {
    Nothing,
    Same,
    Other(String),
}

/// What the ledger says of the keys of a group.
struct Known {
    stored: HashMap<KeyDigest, Stored>,
    histories: HashMap<i64, Vec<HistoryRow>>,
    with_payload: Vec<i64>,
}

impl Known {
    fn of<'a>(
        session: &mut Session,
        keys: impl Iterator<Item = &'a KeyDigest>,
    ) -> Result<Known, Trouble> {
        let answers = session.ask_without_limit(&[find(&digests(keys))])?;
        let mut stored = HashMap::new();
        for row in &answers[0].rows {
            let digest = required(row, "key_digest", |hex| bytes(hex).map(KeyDigest))?;
            stored.insert(digest, row::stored(row)?);
        }
        let ids: Vec<i64> = stored.values().map(|stored: &Stored| stored.id).collect();
        let (mut known_histories, mut payloads) = (HashMap::new(), Vec::new());
        if !ids.is_empty() {
            known_histories = histories(session, &ids)?;
            payloads = with_payload(session, &ids)?;
        }
        Ok(Known {
            stored,
            histories: known_histories,
            with_payload: payloads,
        })
    }

    fn compare(
        &self,
        session: &mut Session,
        digest: &KeyDigest,
        item: &Portable,
    ) -> Result<Found, Trouble> {
        let Some(stored) = self.stored.get(digest) else {
            return Ok(Found::Nothing);
        };
        let (same, key) = match (item, &stored.entry) {
            (
                Portable::Receipt {
                    receipt,
                    history,
                    payload,
                },
                entry,
            ) => {
                let key = receipt.key.to_string();
                let known = self
                    .histories
                    .get(&stored.id)
                    .map_or(&[][..], Vec::as_slice);
                let mut same = *entry == Entry::Whole(receipt.clone()) && known == history;
                if same && (payload.is_some() || self.with_payload.contains(&stored.id)) {
                    same = payload_of(session, stored.id)? == *payload;
                }
                (same, key)
            }
            (Portable::Pruned { pruned, .. }, Entry::Pruned(known)) => {
                (known == pruned, digest.to_string())
            }
            (Portable::Pruned { .. }, Entry::Whole(receipt)) => (false, receipt.key.to_string()),
            (Portable::Forgotten(_), _) => (true, String::new()),
        };
        Ok(if same { Found::Same } else { Found::Other(key) })
    }
}
