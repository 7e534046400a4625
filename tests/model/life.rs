//! What is known of one key: a row of attempts, and what was said of the last of them.

use crate::operations::Facts;

/// The last moment that can be written.
pub(crate) const END: i64 = 253_402_300_799_999;

/// What somebody said of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    NothingYet,
    Happened,
    DidNotHappen,
    NobodyKnows,
}

/// A row of history: moment, event, attempt, actor, detail.
pub(crate) type Row = (i64, &'static str, u32, Option<u8>, Option<String>);

/// Everything known of one key.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) content: u8,
    pub(crate) attempts: u32,
    pub(crate) said: Said,
    pub(crate) by_evidence: bool,
    pub(crate) promised_until: Option<i64>,
    pub(crate) owner: Option<u8>,
    pub(crate) run: Option<u8>,
    pub(crate) amount: Option<(&'static str, &'static str)>,
    pub(crate) born: i64,
    pub(crate) changed: i64,
    pub(crate) first_began: Option<i64>,
    pub(crate) began: Option<i64>,
    pub(crate) settled: Option<i64>,
    pub(crate) contradicted: bool,
    pub(crate) unanswered: bool,
    pub(crate) words: Option<&'static str>,
    pub(crate) result: Option<&'static str>,
    pub(crate) history: Vec<Row>,
}

impl Life {
    pub(crate) fn new(content: u8, now: i64) -> Life {
        Life {
            content,
            attempts: 0,
            said: Said::NothingYet,
            by_evidence: false,
            promised_until: None,
            owner: None,
            run: None,
            amount: None,
            born: now,
            changed: now,
            first_began: None,
            began: None,
            settled: None,
            contradicted: false,
            unanswered: false,
            words: None,
            result: None,
            history: Vec::new(),
        }
    }

    /// §1: the word for what it is.
    pub(crate) fn word(&self, now: i64) -> &'static str {
        match self.said {
            Said::Happened => "succeeded",
            Said::DidNotHappen => "failed",
            Said::NobodyKnows => "unknown",
            Said::NothingYet if self.attempts == 0 => "recorded",
            Said::NothingYet if self.promise_is_broken(now) => "unknown",
            Said::NothingYet => "reserved",
        }
    }

    pub(crate) fn promise_is_broken(&self, now: i64) -> bool {
        self.promised_until.is_some_and(|until| now >= until)
    }

    pub(crate) fn in_flight(&self) -> bool {
        self.attempts > 0 && self.said == Said::NothingYet
    }

    pub(crate) fn stands(&self, now: i64) -> String {
        format!("state={} attempt={}", self.word(now), self.attempts)
    }

    pub(crate) fn take_facts(&mut self, facts: &Facts) {
        if facts.owner.is_some() {
            self.owner = facts.owner;
        }
        if facts.run.is_some() {
            self.run = facts.run;
        }
        if facts.amount.is_some() {
            self.amount = facts.amount;
        }
    }

    /// §5.5: the first conflict per fingerprint.
    pub(crate) fn conflict(&mut self, content: u8, actor: Option<u8>, now: i64) -> String {
        let other = Some(fingerprint(content));
        if !self
            .history
            .iter()
            .any(|row| row.1 == "conflict" && row.4 == other)
        {
            self.history
                .push((now, "conflict", self.attempts, actor, other));
        }
        format!("decision=CONFLICT {}", self.stands(now))
    }

    pub(crate) fn settle(&mut self, said: Said, by_evidence: bool, now: i64) {
        self.said = said;
        self.by_evidence = by_evidence;
        self.unanswered = false;
        self.settled = (said != Said::NobodyKnows).then_some(now);
        self.promised_until = None;
        self.changed = self.changed.max(now);
    }
}

pub(crate) fn fingerprint(content: u8) -> String {
    format!("content-{content}")
}
