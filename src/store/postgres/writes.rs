//! What a transaction writes, however many keys it speaks of: a statement for each kind of change, all rows in it.
//!
//! Every row that is written carries the transaction's token. What belongs to a receipt finds it by that token, so that
//! nothing is ever put beside a row that somebody else has written.

use std::collections::HashMap;

use super::array::Array;
use super::error::Trouble;
use super::meta::decides;
use super::row::{self, Stored};
use super::session::bytea;
use super::wire::{Answer, Statement};
use crate::decide::Change;
use crate::receipt::{
    Amount, Entry, Event, KeyDigest, Owner, Pruned, Receipt, ResultJson, RunId, SettledBy, State,
    Text, Timestamp,
};

/// A receipt's columns, an array each.
macro_rules! given {
    () => {
        " FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], \
         $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], \
         $16::bigint[], $17::text[], $18::boolean[], $19::boolean[], $20::text[], $21::text[]) \
         AS given (key_digest, attempt, key, fingerprint, state, owner, run, amount, currency, created_at_ms, \
         updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, \
         settled_by, late_success, contested, reason, result)"
    };
}

/// How many arrays that are.
const COLUMNS: usize = 20;
/// And for a row of history.
const HISTORY_COLUMNS: usize = 7;

/// New receipts with their history, which begins with them. `$from` yields the rows, `$id` and `$of` are the column that
/// says in which order they come on record and what fills it, if the server is not to.
macro_rules! insert {
    ($rows:expr, $id:literal, $of:literal, $from:expr) => {
        concat!(
            "WITH ",
            $rows,
            "new AS (INSERT INTO receipt_ledger.receipt (",
            $id,
            "key_digest, token, attempt, key, fingerprint, state, owner, run, amount, \
             currency, created_at_ms, updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, \
             settled_at_ms, settled_by, late_success, contested, reason, result) ",
            $of,
            "key_digest, $1::uuid, attempt, key, fingerprint, state, owner, run, amount, currency, created_at_ms, \
             updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, lease_expires_at_ms, settled_at_ms, settled_by, \
             late_success, contested, reason, result",
            $from,
            " ON CONFLICT (key_digest) DO NOTHING RETURNING id, key_digest), appended AS ( \
             INSERT INTO receipt_ledger.history (receipt, sequence, at_ms, event, attempt, actor, detail) \
             SELECT new.id, given.nth, given.at_ms, given.event, given.attempt, given.actor, given.detail \
             FROM unnest($22::bytea[], $23::bigint[], $24::bigint[], $25::text[], $26::bigint[], $27::text[], $28::text[]) \
                  AS given (key_digest, nth, at_ms, event, attempt, actor, detail) JOIN new USING (key_digest)) \
             SELECT count(*) AS written FROM new"
        )
    };
}

/// One new receipt.
const INSERT: &str = insert!("", "", "SELECT ", concat!(given!(), " WHERE ", decides!()));

/// Many. They come on record in the order in which they are given, and are put into place in the order of their digests:
/// one order for everybody, so that two groups with the same keys do not wait for each other.
const INSERT_MANY: &str = insert!(
    concat!(
        "given AS MATERIALIZED (SELECT nextval('receipt_ledger.receipt_id_seq') AS id, given.*",
        given!(),
        " WHERE ",
        decides!(),
        "), "
    ),
    "id, ",
    "OVERRIDING SYSTEM VALUE SELECT id, ",
    " FROM given ORDER BY key_digest"
);

/// A row becomes what is given, whatever it was.
macro_rules! set {
    () => {
        "token = $1::uuid, attempt = given.attempt, key = given.key, fingerprint = given.fingerprint, \
         state = given.state, owner = given.owner, run = given.run, amount = given.amount, \
         currency = given.currency, created_at_ms = given.created_at_ms, updated_at_ms = given.updated_at_ms, \
         first_reserved_at_ms = given.first_reserved_at_ms, attempt_started_at_ms = given.attempt_started_at_ms, \
         lease_expires_at_ms = given.lease_expires_at_ms, settled_at_ms = given.settled_at_ms, \
         settled_by = given.settled_by, late_success = given.late_success, contested = given.contested, reason = given.reason, \
         result = given.result, fingerprint_digest = NULL, outcome = NULL"
    };
}

const UPDATE: &str = concat!(
    "UPDATE receipt_ledger.receipt SET ",
    set!(),
    given!(),
    " WHERE receipt.key_digest = given.key_digest"
);

/// A pruned receipt that is whole again comes last in the order in which receipts came on record.
const UPDATE_PRUNED: &str = concat!(
    "UPDATE receipt_ledger.receipt SET id = DEFAULT, ",
    set!(),
    given!(),
    " WHERE receipt.key_digest = given.key_digest"
);

const MARK_PRUNED: &str = "\
UPDATE receipt_ledger.receipt SET token = $1::uuid, outcome = given.outcome \
FROM unnest($2::bytea[], $3::smallint[]) AS given (key_digest, outcome) \
WHERE receipt.key_digest = given.key_digest";

const TOUCH: &str = "\
UPDATE receipt_ledger.receipt SET token = $1::uuid WHERE key_digest = ANY($2::bytea[])";

const APPEND: &str = "\
INSERT INTO receipt_ledger.history (receipt, sequence, at_ms, event, attempt, actor, detail) \
SELECT receipt.id, given.nth + coalesce((SELECT max(sequence) FROM receipt_ledger.history \
                                         WHERE history.receipt = receipt.id), 0), \
       given.at_ms, given.event, given.attempt, given.actor, given.detail \
FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::text[]) \
     AS given (key_digest, nth, at_ms, event, attempt, actor, detail) \
JOIN receipt_ledger.receipt ON receipt.key_digest = given.key_digest AND receipt.token = $1::uuid \
WHERE given.event <> 'conflict' \
      OR NOT EXISTS (SELECT FROM receipt_ledger.history WHERE history.receipt = receipt.id \
                     AND history.event = 'conflict' AND history.detail = given.detail)";

const KEEP_PAYLOADS: &str = "\
INSERT INTO receipt_ledger.payload (receipt, payload) \
SELECT receipt.id, given.payload FROM unnest($2::bytea[], $3::bytea[]) AS given (key_digest, payload) \
JOIN receipt_ledger.receipt ON receipt.key_digest = given.key_digest AND receipt.token = $1::uuid";

/// What was performed needs its payload no longer.
const ERASE_PAYLOADS: &str = "DELETE FROM receipt_ledger.payload WHERE receipt = ANY($1::bigint[])";

/// Rows of receipts, column by column.
#[derive(Debug, Default)]
struct Receipts([Array; COLUMNS]);

/// What is to be written.
#[derive(Debug)]
pub(super) struct Writes<'a> {
    token: &'a str,
    new: Receipts,
    new_count: u64,
    changed: Receipts,
    again: Receipts,
    pruned: [Array; 2],
    touched: Array,
    /// History of new receipts, and of others.
    begun: [Array; HISTORY_COLUMNS],
    appended: [Array; HISTORY_COLUMNS],
    /// How many rows of history each key gets.
    nth: HashMap<KeyDigest, u64>,
    payloads: [Array; 2],
    performed: Array,
}

impl<'a> Writes<'a> {
    /// Nothing yet. The token must be this transaction's alone.
    pub(super) fn new(token: &'a str) -> Writes<'a> {
        Writes {
            token,
            new: Receipts::default(),
            new_count: 0,
            changed: Receipts::default(),
            again: Receipts::default(),
            pruned: Default::default(),
            touched: Array::default(),
            begun: Default::default(),
            appended: Default::default(),
            nth: HashMap::new(),
            payloads: Default::default(),
            performed: Array::default(),
        }
    }

    pub(super) fn token(&self) -> &'a str {
        self.token
    }

    /// Whether the first statement wrote all that is new, and nobody else was first with any of it.
    pub(super) fn all_are_new(&self, first: &Answer) -> Result<bool, Trouble> {
        if self.new_count == 0 {
            return Ok(true);
        }
        let row = first.rows.first().ok_or(Trouble::Impossible("written"))?;
        Ok(row::required(row, "written", row::number::<u64>)? == self.new_count)
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
            self.payloads[0].push(Some(&text));
            self.payloads[1].push(Some(&bytea(payload)));
        }
        for event in &change.events {
            self.append(digest, &text, stored.is_none(), event, now);
        }
    }

    fn put(&mut self, digest: &str, stored: Option<&Stored>, receipt: &Receipt) {
        let receipts = match stored.map(|stored| &stored.entry) {
            None => {
                self.new_count += 1;
                &mut self.new
            }
            Some(Entry::Whole(_)) => &mut self.changed,
            Some(Entry::Pruned(_)) => &mut self.again,
        };
        receipts.push(digest, receipt);
        if let Some(stored) = stored
            && receipt.stored_state == State::Succeeded
        {
            self.performed.push(Some(&stored.id.to_string()));
        }
    }

    fn mark(&mut self, digest: &str, pruned: &Pruned) {
        self.pruned[0].push(Some(digest));
        self.pruned[1].push(Some(row::outcome(pruned)));
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
        for (array, value) in appended.iter_mut().zip(values) {
            array.push(value.as_deref());
        }
    }

    /// The statements, in the order in which they must be taken: rows that are new first, if there are any.
    pub(super) fn statements(&self) -> Vec<Statement<'static>> {
        let mut statements = Vec::new();
        let with_token = |sql| Statement::new(sql).with(self.token);
        let insert = if self.new_count > 1 {
            INSERT_MANY
        } else {
            INSERT
        };
        for (sql, receipts) in [
            (insert, &self.new),
            (UPDATE, &self.changed),
            (UPDATE_PRUNED, &self.again),
        ] {
            if !receipts.0[0].is_empty() {
                let arrays = receipts.0.iter();
                let begun = self.begun.iter().filter(|_| sql == insert);
                let arrays = arrays.chain(begun).cloned();
                statements.push(arrays.fold(with_token(sql), Statement::with));
            }
        }
        if !self.pruned[0].is_empty() {
            let arrays = self.pruned.iter().cloned();
            statements.push(arrays.fold(with_token(MARK_PRUNED), Statement::with));
        }
        if !self.touched.is_empty() {
            statements.push(with_token(TOUCH).with(self.touched.clone()));
        }
        if !self.payloads[0].is_empty() {
            let arrays = self.payloads.iter().cloned();
            statements.push(arrays.fold(with_token(KEEP_PAYLOADS), Statement::with));
        }
        if !self.appended[0].is_empty() {
            let arrays = self.appended.iter().cloned();
            statements.push(arrays.fold(with_token(APPEND), Statement::with));
        }
        if !self.performed.is_empty() {
            statements.push(Statement::new(ERASE_PAYLOADS).with(self.performed.clone()));
        }
        statements
    }
}

impl Receipts {
    fn push(&mut self, digest: &str, receipt: &Receipt) {
        let ms = |moment: Option<Timestamp>| moment.map(|moment| moment.as_ms().to_string());
        let owned = |text: &str| Some(text.to_owned());
        let amount = receipt.amount.as_ref();
        let flag = |flag| owned(if flag { "t" } else { "f" });
        let values: [Option<String>; COLUMNS] = [
            owned(digest),
            Some(receipt.attempt.to_string()),
            owned(receipt.key.as_str()),
            owned(receipt.fingerprint.as_str()),
            owned(receipt.stored_state.as_str()),
            receipt.owner.as_ref().map(Owner::as_str).and_then(owned),
            receipt.run.as_ref().map(RunId::as_str).and_then(owned),
            amount.map(Amount::value).and_then(owned),
            amount.map(Amount::currency).and_then(owned),
            ms(Some(receipt.created_at)),
            ms(Some(receipt.updated_at)),
            ms(receipt.first_reserved_at),
            ms(receipt.attempt_started_at),
            ms(receipt.lease_expires_at),
            ms(receipt.settled_at),
            receipt.settled_by.map(SettledBy::as_str).and_then(owned),
            flag(receipt.late_success),
            flag(receipt.contested),
            receipt.reason.as_ref().map(Text::as_str).and_then(owned),
            receipt
                .result
                .as_ref()
                .map(ResultJson::as_str)
                .and_then(owned),
        ];
        for (array, value) in self.0.iter_mut().zip(values) {
            array.push(value.as_deref());
        }
    }
}
