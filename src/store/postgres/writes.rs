//! What a transaction writes, however many keys it speaks of: a statement for each kind of change, all rows in it.
//!
//! Every row that is written carries the transaction's token. What belongs to a receipt finds it by that token, or by the
//! number that this transaction drew for it, so that nothing is ever put beside a row that somebody else has written.

use std::collections::HashMap;

use super::array::Array;
use super::columns::{self, HISTORY, PAYLOAD, PRUNED, RECEIPT};
use super::error::Trouble;
use super::meta::{COUNTS, DECIDES};
use super::row::{self, Stored};
use super::rows::{Given, Rows};
use super::value::Value;
use super::wire::{Answer, Statement};
use crate::decide::Change;
use crate::receipt::{Entry, Event, KeyDigest, Pruned, Receipt, State, Timestamp};

const TOUCH: &str = "\
UPDATE receipt_ledger.receipt SET token = $1::uuid WHERE key_digest = ANY($2::bytea[])";

/// What comes on record again comes behind everything that is there.
const AS_NEW: &str = "id = DEFAULT, ";

/// The receipt that a row is of, if this transaction has written it.
const OURS: &str = "receipt.key_digest = given.key_digest AND receipt.token = $1::uuid";

/// What was performed needs its payload no longer.
const ERASE_PAYLOADS: &str = "DELETE FROM receipt_ledger.payload WHERE receipt = ANY($1::bigint[])";

/// What is to be written.
#[derive(Debug)]
pub(super) struct Writes<'a> {
    token: &'a str,
    /// A new receipt that is numbered as it is written, and what belongs to it.
    new: Rows,
    begun: Rows,
    payload: Rows,
    changed: Rows,
    /// Pruned receipts that are whole again, each by itself: they come on record one after the other.
    again: Vec<Rows>,
    pruned: Rows,
    touched: Array,
    appended: Rows,
    /// How many rows of history each key gets.
    nth: HashMap<KeyDigest, u32>,
    performed: Array,
}

impl<'a> Writes<'a> {
    /// Nothing yet. The token must be this transaction's alone.
    pub(super) fn new(token: &'a str) -> Writes<'a> {
        Writes {
            token,
            new: Rows::new(RECEIPT),
            begun: Rows::new(HISTORY),
            payload: Rows::new(PAYLOAD),
            changed: Rows::new(RECEIPT),
            again: Vec::new(),
            pruned: Rows::new(PRUNED),
            touched: Array::default(),
            appended: Rows::new(HISTORY),
            nth: HashMap::new(),
            performed: Array::default(),
        }
    }

    pub(super) fn token(&self) -> &'a str {
        self.token
    }

    /// Whether the first statement wrote what is new, and nobody else was first with it.
    pub(super) fn is_new(&self, first: &Answer) -> Result<bool, Trouble> {
        if self.new.count() == 0 {
            return Ok(true);
        }
        let written = |row| row::required(row, "written", row::number::<u64>);
        let written = first.rows.first().map(written).transpose()?;
        Ok(written == Some(1))
    }

    /// What a rule wants kept for a key. A key may come once, and one of them may be new: many are [`super::fresh`]'s.
    pub(super) fn add(
        &mut self,
        digest: &KeyDigest,
        stored: Option<&Stored>,
        change: &Change,
        now: Timestamp,
    ) {
        match &change.entry {
            Some(Entry::Whole(receipt)) => self.put(digest, stored, receipt),
            Some(Entry::Pruned(pruned)) => self.mark(digest, pruned),
            None if stored.is_some() => self.touched.push(Some(&Value::bytes(&digest.0))),
            None => return,
        }
        if let (None, Some(payload)) = (stored, kept_payload(change)) {
            self.payload
                .push([Some(Value::bytes(&digest.0)), Some(Value::bytes(payload))]);
        }
        for event in &change.events {
            self.append(digest, stored.is_none(), event, now);
        }
    }

    fn put(&mut self, digest: &KeyDigest, stored: Option<&Stored>, receipt: &Receipt) {
        let columns = columns::of(digest, receipt);
        match stored.map(|stored| &stored.entry) {
            None => self.new.push(columns),
            Some(Entry::Whole(_)) => self.changed.push(columns),
            Some(Entry::Pruned(_)) => {
                let mut again = Rows::new(RECEIPT);
                again.push(columns);
                self.again.push(again);
            }
        }
        if let Some(stored) = stored
            && receipt.stored_state == State::Succeeded
        {
            self.performed.push(Some(&Value::Number(stored.id)));
        }
    }

    fn mark(&mut self, digest: &KeyDigest, pruned: &Pruned) {
        let outcome = Value::Number(row::outcome(pruned));
        self.pruned
            .push([Some(Value::bytes(&digest.0)), Some(outcome)]);
    }

    /// A row of history, of a new receipt or of one that is there. A conflict with a fingerprint that is known is left out.
    fn append(&mut self, digest: &KeyDigest, is_new: bool, event: &Event, at: Timestamp) {
        let nth = self.nth.entry(*digest).or_default();
        *nth += 1;
        let of = Value::bytes(&digest.0);
        let values = columns::of_event(of, *nth, event, at);
        if is_new {
            self.begun.push(values);
        } else {
            self.appended.push(values);
        }
    }

    /// The statement with which the pruned receipt that was added last is whole again, if it was one: it gets a new number
    /// then, and not with the others.
    pub(super) fn take_again(&mut self) -> Option<Statement<'static>> {
        let again = self.again.pop()?;
        Some(self.update(&again, AS_NEW))
    }

    /// The statements, in the order in which they must be taken: the row that is new first, if there is one.
    pub(super) fn statements(&self) -> Vec<Statement<'static>> {
        let mut statements = Vec::new();
        if self.new.count() > 0 {
            statements.push(self.insert());
        }
        if self.changed.count() > 0 {
            statements.push(self.update(&self.changed, ""));
        }
        for again in &self.again {
            statements.push(self.update(again, AS_NEW));
        }
        if self.pruned.count() > 0 {
            statements.push(self.with_rows(&self.pruned, |given| {
                format!(
                    "UPDATE receipt_ledger.receipt SET token = $1::uuid, outcome = given.outcome FROM {} \
                     WHERE receipt.key_digest = given.key_digest",
                    given.sql
                )
            }));
        }
        if !self.touched.is_empty() {
            let touch = Statement::new(TOUCH).with(self.token);
            statements.push(touch.with(self.touched.clone()));
        }
        if self.payload.count() > 0 {
            statements.push(self.with_rows(&self.payload, |given| {
                format!(
                    "INSERT INTO receipt_ledger.payload (receipt, payload) SELECT receipt.id, given.payload FROM {} \
                     JOIN receipt_ledger.receipt ON {OURS}",
                    given.sql
                )
            }));
        }
        if self.appended.count() > 0 {
            statements.push(self.append_statement());
        }
        if !self.performed.is_empty() {
            statements.push(Statement::new(ERASE_PAYLOADS).with(self.performed.clone()));
        }
        statements
    }

    /// A statement over rows, whose first value is the token.
    fn with_rows(&self, rows: &Rows, sql: impl FnOnce(&Given) -> String) -> Statement<'static> {
        with_rows(Some(self.token), rows, sql)
    }

    /// A new receipt with its history, which begins with it: the most frequent of all, and the quickest to plan. Where somebody
    /// was first it writes nothing, and so it does in a ledger that does not decide.
    fn insert(&self) -> Statement<'static> {
        let receipt = self.new.given(1);
        let behind = 1 + receipt.values.len();
        let (history, appended) = self.begin(behind);
        let sql = format!(
            "WITH new AS (INSERT INTO receipt_ledger.receipt (token, {}) SELECT $1::uuid, {} WHERE {COUNTS} AND {DECIDES} \
             ON CONFLICT (key_digest) DO NOTHING RETURNING id){appended} \
             SELECT 1 AS written FROM new",
            receipt.names(),
            receipt.only(),
        );
        let statement = Statement::made(sql).with(self.token);
        let values = receipt.values.into_iter().chain(history.values);
        values.fold(statement, Statement::with_optional)
    }

    /// The history of the new receipt, if there is any, and the part of the statement that takes it.
    fn begin(&self, behind: usize) -> (Given, String) {
        let insert = "appended AS (INSERT INTO receipt_ledger.history";
        match (self.begun.count(), self.begun.alike(behind)) {
            (0, _) => (Given::default(), String::new()),
            (1, Some(history)) => {
                let (names, values) = (history.names(), history.only());
                let appended =
                    format!(", {insert} (receipt, {names}) SELECT id, {values} FROM new)");
                (history, appended)
            }
            (_, _) => {
                let history = self.begun.given(behind);
                let names = history.names().replacen("key_digest", "receipt", 1);
                let values = history.names().replacen("key_digest", "new.id", 1);
                let from = &history.sql;
                let appended =
                    format!(", {insert} ({names}) SELECT {values} FROM new CROSS JOIN {from})");
                (history, appended)
            }
        }
    }

    /// Rows become what is given, whatever they were.
    fn update(&self, receipts: &Rows, first: &str) -> Statement<'static> {
        self.with_rows(receipts, |given| {
            format!(
                "UPDATE receipt_ledger.receipt SET {first}token = $1::uuid, {}, fingerprint_digest = NULL, outcome = NULL \
                 FROM {} WHERE receipt.key_digest = given.key_digest",
                receipts.set(),
                given.sql
            )
        })
    }

    /// History of receipts that were there, behind what there is. A conflict that is known already is left out.
    fn append_statement(&self) -> Statement<'static> {
        self.with_rows(&self.appended, |given| {
            let columns = given.names().replacen("key_digest", "receipt", 1);
            let values = given.qualified();
            let values = values.replacen("given.key_digest", "receipt.id", 1);
            let values = values.replacen("given.sequence", "given.sequence + last.sequence", 1);
            // A conflict has the other fingerprint as its detail: without any, there is none.
            let is_new = if given.has("detail") {
                "given.event <> 'conflict' \
                 OR NOT EXISTS (SELECT FROM receipt_ledger.history WHERE history.receipt = receipt.id \
                                AND history.event = 'conflict' AND history.detail = given.detail)"
            } else {
                "true"
            };
            format!(
                "INSERT INTO receipt_ledger.history ({columns}) SELECT {values} FROM {} \
                 JOIN receipt_ledger.receipt ON {OURS} \
                 CROSS JOIN LATERAL (SELECT coalesce(max(history.sequence), 0) AS sequence FROM receipt_ledger.history \
                                     WHERE history.receipt = receipt.id) AS last \
                 WHERE {is_new}",
                given.sql
            )
        })
    }
}

/// The payload that a new receipt keeps: what has succeeded needs none.
fn kept_payload(change: &Change) -> Option<&[u8]> {
    let performed = |entry: &Entry| matches!(entry, Entry::Whole(receipt) if receipt.stored_state == State::Succeeded);
    let performed = change.entry.as_ref().is_some_and(performed);
    change.payload.as_deref().filter(|_| !performed)
}

/// A statement over rows, whose values stand behind the first one, if there is one.
pub(super) fn with_rows(
    first: Option<&str>,
    rows: &Rows,
    sql: impl FnOnce(&Given) -> String,
) -> Statement<'static> {
    let given = rows.given(usize::from(first.is_some()));
    let statement = Statement::made(sql(&given));
    let first = first.map(|first| Some(first.into()));
    first
        .into_iter()
        .chain(given.values)
        .fold(statement, Statement::with_optional)
}
