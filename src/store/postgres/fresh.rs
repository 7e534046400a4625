//! Many new receipts at once: numbered before they are written, so that whatever belongs to them goes along.

use super::columns::{self, HISTORY, ID, OF_RECEIPT, PAYLOAD, RECEIPT};
use super::error::Trouble;
use super::meta::{self, Head};
use super::patience::Patience;
use super::row::required;
use super::rows::Rows;
use super::session::Session;
use super::value::Value;
use super::wire::{Answer, Statement};
use super::writes::with_rows;
use crate::receipt::{HistoryRow, KeyDigest, Receipt};

const NUMBERS: &str = "\
SELECT string_agg(nextval('receipt_ledger.receipt_id_seq')::text, ',') AS numbers FROM generate_series(1, $1::bigint)";

/// A new receipt, and what belongs to it.
#[derive(Debug)]
pub(super) struct Fresh<'a> {
    pub(super) digest: &'a KeyDigest,
    pub(super) receipt: &'a Receipt,
    pub(super) history: &'a [HistoryRow],
    pub(super) payload: Option<&'a [u8]>,
}

/// The statement that draws so many numbers, which are then nobody else's.
pub(super) fn numbers(count: usize) -> Statement<'static> {
    Statement::new(NUMBERS).with(count.to_string())
}

/// The answer to [`numbers`], in rising order.
pub(super) fn drawn(answer: &Answer) -> Result<Vec<i64>, Trouble> {
    let row = answer.rows.first();
    let row = row.ok_or(Trouble::Impossible("numbers"))?;
    let mut numbers = required(row, "numbers", |text| {
        text.split(',')
            .map(|number| number.parse().ok())
            .collect::<Option<Vec<i64>>>()
    })?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Whether the first of the [`statements`] put all of them into place, whatever somebody may have had the server do at an
/// insert.
pub(super) fn all_are_there(answers: &[Answer], receipts: &[Fresh<'_>]) -> bool {
    let written = answers.first().map_or(0, Answer::count);
    u64::try_from(receipts.len()) == Ok(written)
}

/// The statements that put receipts into place, which must stand behind [`super::meta::Head::decides`] in a transaction that
/// has entered. They come on record in the order in which they are given, with these numbers, and are put into place in the
/// order of their digests: one order for everybody, so that two groups with the same keys do not wait for each other. Where
/// somebody was first with one of them, the server refuses them all, which costs the others less than asking for each
/// beforehand.
pub(super) fn statements(
    token: &str,
    receipts: &[Fresh<'_>],
    numbers: &[i64],
) -> Result<Vec<Statement<'static>>, Trouble> {
    if receipts.len() != numbers.len() {
        return Err(Trouble::Impossible("numbers"));
    }
    let mut in_place: Vec<_> = receipts.iter().zip(numbers).collect();
    in_place.sort_unstable_by_key(|(fresh, _)| fresh.digest);
    let mut rows = Rows::new([ID].iter().chain(RECEIPT));
    for (fresh, number) in in_place {
        let values = columns::of(fresh.digest, fresh.receipt);
        rows.push([Some(Value::Number(*number))].into_iter().chain(values));
    }
    let mut statements = vec![with_rows(Some(token), &rows, |given| {
        let names = given.names();
        format!(
            "INSERT INTO receipt_ledger.receipt (token, {names}) OVERRIDING SYSTEM VALUE SELECT $1::uuid, {names} FROM {}",
            given.sql
        )
    })];
    let mut history = Rows::new([OF_RECEIPT].iter().chain(&HISTORY[1..]));
    let mut payloads = Rows::new([OF_RECEIPT].iter().chain(&PAYLOAD[1..]));
    for (fresh, number) in receipts.iter().zip(numbers) {
        for (sequence, row) in (1..).zip(fresh.history) {
            let of = Value::Number(*number);
            history.push(columns::of_event(of, sequence, &row.event, row.at));
        }
        if let Some(payload) = fresh.payload {
            payloads.push([Some(Value::Number(*number)), Some(Value::bytes(payload))]);
        }
    }
    for (table, rows) in [("history", history), ("payload", payloads)] {
        if rows.count() > 0 {
            statements.push(with_rows(None, &rows, |given| {
                let names = given.names();
                let from = &given.sql;
                format!("INSERT INTO receipt_ledger.{table} ({names}) SELECT {names} FROM {from}")
            }));
        }
    }
    Ok(statements)
}

/// Statements that number receipts in the order in which they come on record, and whether each draws numbers for new ones.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    statements: Vec<(Statement<'static>, bool)>,
    unnumbered: usize,
}

impl Numbering {
    /// For so many new receipts.
    pub(super) fn of(count: usize) -> Numbering {
        Numbering {
            unnumbered: count,
            ..Numbering::default()
        }
    }

    /// A new receipt is next.
    pub(super) fn add(&mut self) {
        self.unnumbered += 1;
    }

    /// Next is one that this statement numbers anew.
    pub(super) fn renumber(&mut self, statement: Statement<'static>) {
        self.draw();
        self.statements.push((statement, false));
    }

    /// The statements alone, where none of the receipts is new.
    pub(super) fn statements(self) -> Vec<Statement<'static>> {
        let statements = self.statements.into_iter();
        statements.map(|(statement, _)| statement).collect()
    }

    /// Draws numbers for the new receipts that have none.
    fn draw(&mut self) {
        let count = std::mem::take(&mut self.unnumbered);
        if count > 0 {
            self.statements.push((numbers(count), true));
        }
    }
}

/// Numbers receipts in a transaction that has entered, once it is known that what it writes will count. Returns the numbers
/// of the new ones.
pub(super) fn number(
    session: &mut Session,
    patience: Patience,
    begin: Vec<Statement<'_>>,
    mut numbering: Numbering,
) -> Result<(Head, Vec<i64>), Trouble> {
    numbering.draw();
    let mut statements = begin;
    statements.push(Statement::new(meta::HEAD));
    let head_at = statements.len() - 1;
    let (all, draws): (Vec<_>, Vec<_>) = numbering.statements.into_iter().unzip();
    statements.extend(all);
    let answers = session.ask(&statements, patience)?;
    let head = Head::of(&answers[head_at], session)?;
    head.decides(session)?;
    head.commit_counts(session)?;
    let mut numbers = Vec::new();
    for (answer, draws) in answers[head_at + 1..].iter().zip(draws) {
        if draws {
            numbers.extend(drawn(answer)?);
        }
    }
    Ok((head, numbers))
}

/// Writes new receipts, all of them or none.
pub(super) fn put_in_place(
    session: &mut Session,
    patience: Patience,
    token: &str,
    fresh: &[Fresh<'_>],
    numbers: &[i64],
) -> Result<(), Trouble> {
    let statements = statements(token, fresh, numbers)?;
    let answers = session.ask_for_locks(&statements, patience)?;
    if all_are_there(&answers, fresh) {
        Ok(())
    } else {
        Err(meta::refuse(
            session,
            "the server did not take all of it".to_owned(),
        ))
    }
}
