//! What a transaction writes, however many keys it speaks of: a statement for each kind of change, all rows in it.
//!
//! Every row that is written carries the transaction's token. What belongs to a receipt finds it by that token, so that
//! nothing is ever put beside a row that somebody else has written.

use std::collections::HashMap;

use super::array::Array;
use super::columns::{self, HISTORY, PAYLOAD, PRUNED, RECEIPT};
use super::error::Trouble;
use super::meta::{COUNTS, DECIDES};
use super::row::{self, Stored};
use super::rows::{Given, Rows};
use super::session::bytea;
use super::wire::{Answer, Statement};
use crate::decide::Change;
use crate::receipt::{Entry, Event, KeyDigest, Pruned, Receipt, State, Timestamp};

const TOUCH: &str = "\
UPDATE receipt_ledger.receipt SET token = $1::uuid WHERE key_digest = ANY($2::bytea[])";

/// The receipt that a row is of, if this transaction has written it.
const OURS: &str = "receipt.key_digest = given.key_digest AND receipt.token = $1::uuid";

/// What was performed needs its payload no longer.
const ERASE_PAYLOADS: &str = "DELETE FROM receipt_ledger.payload WHERE receipt = ANY($1::bigint[])";

/// What is to be written.
#[derive(Debug)]
pub(super) struct Writes<'a> {
    token: &'a str,
    /// Whether a copy takes new rows, too.
    into_copy: bool,
    new: Rows,
    changed: Rows,
    /// Pruned receipts that are whole again, each by itself: they come on record one after the other.
    again: Vec<Rows>,
    pruned: Rows,
    touched: Array,
    /// History of new receipts, and of others.
    begun: Rows,
    appended: Rows,
    /// How many rows of history each key gets.
    nth: HashMap<KeyDigest, u64>,
    payloads: Rows,
    performed: Array,
}

impl<'a> Writes<'a> {
    /// Nothing yet. The token must be this transaction's alone. A ledger that does not decide takes nothing new.
    pub(super) fn new(token: &'a str) -> Writes<'a> {
        Writes {
            token,
            into_copy: false,
            new: Rows::new(RECEIPT),
            changed: Rows::new(RECEIPT),
            again: Vec::new(),
            pruned: Rows::new(PRUNED),
            touched: Array::default(),
            begun: Rows::new(HISTORY),
            appended: Rows::new(HISTORY),
            nth: HashMap::new(),
            payloads: Rows::new(PAYLOAD),
            performed: Array::default(),
        }
    }

    /// The same for an import, which a copy may take, too.
    pub(super) fn of_import(token: &'a str) -> Writes<'a> {
        Writes {
            into_copy: true,
            ..Writes::new(token)
        }
    }

    pub(super) fn token(&self) -> &'a str {
        self.token
    }

    /// Whether the first statement wrote all that is new, and nobody else was first with any of it.
    pub(super) fn all_are_new(&self, first: &Answer) -> Result<bool, Trouble> {
        if self.new.count() == 0 {
            return Ok(true);
        }
        let written = match first.rows.first() {
            Some(row) => row::required(row, "written", row::number::<u64>)?,
            None => 0,
        };
        Ok(written == self.new.count())
    }

    /// What a rule wants kept for a key. A key may come once.
    pub(super) fn add(
        &mut self,
        digest: &KeyDigest,
        stored: Option<&Stored>,
        change: &Change,
        now: Timestamp,
    ) {
        let text = bytea(&digest.0);
        match &change.entry {
            Some(Entry::Whole(receipt)) => self.put(&text, stored, receipt),
            Some(Entry::Pruned(pruned)) => self.mark(&text, pruned),
            None if stored.is_some() => self.touched.push(Some(&text)),
            None => return,
        }
        let performed = |entry: &Entry| matches!(entry, Entry::Whole(receipt) if receipt.stored_state == State::Succeeded);
        if let Some(payload) = &change.payload
            && stored.is_none()
            && !change.entry.as_ref().is_some_and(performed)
        {
            self.payloads
                .push([Some(text.clone()), Some(bytea(payload))]);
        }
        for event in &change.events {
            self.append(digest, &text, stored.is_none(), event, now);
        }
    }

    fn put(&mut self, digest: &str, stored: Option<&Stored>, receipt: &Receipt) {
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
            self.performed.push(Some(&stored.id.to_string()));
        }
    }

    fn mark(&mut self, digest: &str, pruned: &Pruned) {
        let outcome = row::outcome(pruned).to_owned();
        self.pruned.push([Some(digest.to_owned()), Some(outcome)]);
    }

    /// A row of history, of a new receipt or of one that is there. A conflict with a fingerprint that is known is left out.
    pub(super) fn append(
        &mut self,
        digest: &KeyDigest,
        text: &str,
        is_new: bool,
        event: &Event,
        at: Timestamp,
    ) {
        let nth = self.nth.entry(*digest).or_default();
        *nth += 1;
        let values = [
            Some(text.to_owned()),
            Some(nth.to_string()),
            Some(at.as_ms().to_string()),
            Some(event.kind.as_str().to_owned()),
            Some(event.attempt.to_string()),
            event.actor.as_ref().map(|actor| actor.as_str().to_owned()),
            event.detail.clone(),
        ];
        let appended = if is_new {
            &mut self.begun
        } else {
            &mut self.appended
        };
        appended.push(values);
    }

    /// The statements, in the order in which they must be taken: rows that are new first, if there are any.
    pub(super) fn statements(&self) -> Vec<Statement<'static>> {
        let mut statements = Vec::new();
        if self.new.count() > 0 {
            statements.push(self.insert());
        }
        if self.changed.count() > 0 {
            statements.push(self.update(&self.changed, ""));
        }
        for again in &self.again {
            statements.push(self.update(again, "id = DEFAULT, "));
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
        if self.payloads.count() > 0 {
            statements.push(self.with_rows(&self.payloads, |given| {
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
        let given = rows.given(1);
        let statement = Statement::made(sql(&given)).with(self.token);
        given
            .values
            .into_iter()
            .fold(statement, Statement::with_optional)
    }

    /// New receipts with their history, which begins with them.
    fn insert(&self) -> Statement<'static> {
        let receipts = self.new.given(1);
        let (behind, of_each) = (1 + receipts.values.len(), self.begun.count());
        // One row each, for there is none that is not the first of its receipt.
        let alike = self.begun.alike(behind);
        let alike = alike.filter(|_| of_each == self.new.count());
        let (sql, history) = match alike {
            Some(history) if of_each == 1 => (self.insert_one(&receipts, &history), history),
            Some(history) => {
                let (columns, values) = (history.names(), history.only());
                let appended = format!("(receipt, {columns}) SELECT id, {values} FROM given");
                (self.insert_many(&receipts, Some(&appended)), history)
            }
            None if of_each == 0 => (self.insert_many(&receipts, None), Given::default()),
            None => {
                let history = self.begun.given(behind);
                let columns = history.names().replacen("key_digest", "receipt", 1);
                let values = history.names().replacen("key_digest", "new.id", 1);
                let appended = format!(
                    "({columns}) SELECT {values} FROM {} JOIN new USING (key_digest)",
                    history.sql
                );
                (self.insert_many(&receipts, Some(&appended)), history)
            }
        };
        let statement = Statement::made(sql).with(self.token);
        let values = receipts.values.into_iter().chain(history.values);
        values.fold(statement, Statement::with_optional)
    }

    /// What must hold where new rows are written.
    fn only_if(&self) -> String {
        if self.into_copy {
            COUNTS.to_owned()
        } else {
            format!("{COUNTS} AND {DECIDES}")
        }
    }

    /// A new receipt with one row of history: the most frequent of all, and the quickest to plan.
    fn insert_one(&self, receipt: &Given, history: &Given) -> String {
        format!(
            "WITH new AS (INSERT INTO receipt_ledger.receipt (token, {}) SELECT $1::uuid, {} WHERE {} \
             ON CONFLICT (key_digest) DO NOTHING RETURNING id), \
             appended AS (INSERT INTO receipt_ledger.history (receipt, {}) SELECT id, {} FROM new) \
             SELECT 1 AS written FROM new",
            receipt.names(),
            receipt.only(),
            self.only_if(),
            history.names(),
            history.only(),
        )
    }

    /// They come on record in the order in which they are given, and are put into place in the order of their digests: one
    /// order for everybody, so that two groups with the same keys do not wait for each other. Where somebody was first with one
    /// of them, the server refuses them all, which costs the others less than asking for each beforehand.
    fn insert_many(&self, receipts: &Given, history: Option<&str>) -> String {
        let names = receipts.names();
        let appended = history.map_or_else(String::new, |history| {
            format!(", appended AS (INSERT INTO receipt_ledger.history {history})")
        });
        format!(
            "WITH given AS MATERIALIZED (SELECT nextval('receipt_ledger.receipt_id_seq') AS id, given.* FROM {} WHERE {}), \
             new AS (INSERT INTO receipt_ledger.receipt (id, token, {names}) OVERRIDING SYSTEM VALUE \
             SELECT id, $1::uuid, {names} FROM given ORDER BY key_digest RETURNING id, key_digest){appended} \
             SELECT count(*) AS written FROM new",
            receipts.sql,
            self.only_if(),
        )
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
