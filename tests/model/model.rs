//! The model: what the contract says, written as sentences about one key, in no way like the program.
//!
//! A key's life is a list of attempts; what the receipt *is* is read off the last of them. Times are plain milliseconds,
//! answers are the words that would be printed.

use std::collections::HashMap;

use crate::life::{END, Life, Said};
use crate::operations::{Facts, Step};

/// What `resolve` is always given.
const EVIDENCE: &str = "seen in the provider's export";

/// All keys.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) lives: HashMap<usize, Life>,
}

impl Model {
    /// The attempt of a key, 0 if there is none.
    pub(crate) fn attempt(&self, key: usize) -> u32 {
        self.lives.get(&key).map_or(0, |life| life.attempts)
    }

    /// Does the step and gives the answer in words. `attempt` is the one the call names.
    pub(crate) fn answer(&mut self, step: &Step, attempt: Option<u32>, now: i64) -> String {
        match step.clone() {
            Step::Reserve { .. } => self.reserve(step, now),
            Step::Record {
                key,
                content,
                facts,
            } => self.record(key, content, &facts, now),
            Step::Succeed {
                key, owner, result, ..
            } => self.settling(key, attempt, owner, now, "succeed", |life| {
                if life.in_flight() || life.said == Said::NobodyKnows {
                    life.settle(Said::Happened, false, now);
                    life.result = result;
                    life.words = None;
                    life.history
                        .push((now, "succeeded", life.attempts, owner, None));
                    return true;
                }
                if life.said == Said::DidNotHappen {
                    life.contradicted = true;
                    life.unanswered = true;
                    life.history
                        .push((now, "late_succeeded", life.attempts, owner, None));
                }
                life.said == Said::Happened && (result.is_none() || result == life.result)
            }),
            Step::Fail {
                key, owner, reason, ..
            } => self.settling(key, attempt, owner, now, "fail", |life| {
                if life.in_flight() {
                    let knows = !life.contradicted;
                    let said = if knows {
                        Said::DidNotHappen
                    } else {
                        Said::NobodyKnows
                    };
                    life.settle(said, false, now);
                    life.words = reason;
                    let event = if knows { "failed" } else { "unknown" };
                    life.history.push((
                        now,
                        event,
                        life.attempts,
                        owner,
                        reason.map(str::to_owned),
                    ));
                    return true;
                }
                life.said == Said::DidNotHappen
                    || (life.said == Said::NobodyKnows && life.contradicted)
            }),
            Step::Unknown {
                key, owner, reason, ..
            } => self.settling(key, attempt, owner, now, "unknown", |life| {
                if life.in_flight() {
                    life.settle(Said::NobodyKnows, false, now);
                    life.words = reason;
                    life.history.push((
                        now,
                        "unknown",
                        life.attempts,
                        owner,
                        reason.map(str::to_owned),
                    ));
                }
                life.said == Said::NobodyKnows
            }),
            Step::Renew {
                key, owner, lease, ..
            } => self.settling(key, attempt, owner, now, "renew", |life| {
                if !life.in_flight() {
                    return false;
                }
                if life.promise_is_broken(now) {
                    life.history
                        .push((now, "renewed", life.attempts, owner, None));
                }
                life.promised_until = Some((now + lease).min(END));
                life.changed = life.changed.max(now);
                true
            }),
            Step::Resolve { .. } => self.resolve(step, attempt, now),
            Step::MoveClock(_) | Step::PastEveryLease | Step::Reopen => unreachable!(),
        }
    }

    fn reserve(&mut self, step: &Step, now: i64) -> String {
        let Step::Reserve {
            key,
            content,
            allow_failed_retry,
            within,
            max_attempts,
            lease,
            facts,
        } = step
        else {
            unreachable!()
        };
        let life = self
            .lives
            .entry(*key)
            .or_insert_with(|| Life::new(*content, now));
        if life.content != *content {
            return life.conflict(*content, facts.owner, now);
        }
        let more = max_attempts.is_none_or(|most| life.attempts < most);
        let remembered = within.is_some_and(|within| {
            life.first_began
                .is_some_and(|first| first <= now && now.max(life.changed) - first < within)
        });
        let unanswered = life.unanswered;
        let decision = match life.word(now) {
            "recorded" => "EXECUTE",
            "reserved" => "SKIP_IN_FLIGHT",
            "succeeded" => "SKIP_SUCCEEDED",
            "failed" if *allow_failed_retry && more && !unanswered => "RETRY",
            "failed" => "SKIP_FAILED",
            _ if remembered && more => "RETRY",
            _ => "SKIP_UNKNOWN",
        };
        if matches!(decision, "EXECUTE" | "RETRY") {
            life.attempts += 1;
            life.said = Said::NothingYet;
            life.by_evidence = false;
            life.unanswered = false;
            life.settled = None;
            life.words = None;
            life.began = Some(now);
            life.changed = life.changed.max(now);
            if life.attempts == 1 {
                life.first_began = Some(now);
            }
            life.promised_until = lease.map(|lease| (now + lease).min(END));
            life.take_facts(facts);
            life.history
                .push((now, "reserved", life.attempts, facts.owner, None));
            // The promise may lie at the end of all time; the answer is told as reserved all the same.
            return format!(
                "decision={decision} state=reserved attempt={}",
                life.attempts
            );
        }
        format!("decision={decision} {}", life.stands(now))
    }

    fn record(&mut self, key: usize, content: u8, facts: &Facts, now: i64) -> String {
        if let Some(life) = self.lives.get_mut(&key) {
            if life.content != content {
                return life.conflict(content, facts.owner, now);
            }
            return format!("created=false {}", life.stands(now));
        }
        let mut life = Life::new(content, now);
        life.take_facts(facts);
        life.history.push((now, "recorded", 0, facts.owner, None));
        self.lives.insert(key, life);
        "created=true state=recorded attempt=0".to_owned()
    }

    /// §5.1, then what the verb does; it says whether the receipt now is what the verb wanted.
    fn settling(
        &mut self,
        key: usize,
        attempt: Option<u32>,
        owner: Option<u8>,
        now: i64,
        verb: &str,
        act: impl FnOnce(&mut Life) -> bool,
    ) -> String {
        let Some(life) = self.lives.get_mut(&key) else {
            return "not-found".to_owned();
        };
        if let Some(attempt) = attempt.filter(|attempt| *attempt != life.attempts) {
            let late = match verb {
                "succeed" | "resolve succeeded" => Some("late_succeeded"),
                "fail" => Some("late_failed"),
                "unknown" => Some("late_unknown"),
                _ => None,
            };
            if let Some(event) = late.filter(|_| attempt < life.attempts) {
                if event == "late_succeeded" {
                    life.contradicted = true;
                    life.unanswered = life.said == Said::DidNotHappen;
                }
                // The reason of a late failure is kept with its row; the caller fills it in.
                let evidence = (verb == "resolve succeeded").then(|| EVIDENCE.to_owned());
                life.history.push((now, event, attempt, owner, evidence));
            }
            return "stale-attempt".to_owned();
        }
        if owner.is_some() && owner != life.owner {
            return "not-owner".to_owned();
        }
        if matches!(verb, "fail" | "resolve failed") && attempt.is_none() && life.attempts > 1 {
            return "stale-attempt".to_owned();
        }
        let before = life.word(now);
        if act(life) {
            // What was promised for no time at all is told as the verb left it.
            let word = if verb == "renew" {
                "reserved"
            } else {
                life.word(now)
            };
            format!("state={word} attempt={}", life.attempts)
        } else {
            format!("invalid-transition {before}")
        }
    }

    fn resolve(&mut self, step: &Step, attempt: Option<u32>, now: i64) -> String {
        let Step::Resolve {
            key,
            content,
            owner,
            succeeded,
            result,
            ..
        } = step
        else {
            unreachable!()
        };
        let (key, owner, succeeded, result) = (*key, *owner, *succeeded, *result);
        let evidence = EVIDENCE;
        if let (Some(life), Some(content)) = (self.lives.get_mut(&key), content)
            && life.content != *content
        {
            return life.conflict(*content, owner, now);
        }
        if let (false, Some(content), true, None) =
            (self.lives.contains_key(&key), content, succeeded, attempt)
        {
            let mut life = Life::new(*content, now);
            life.owner = owner;
            self.lives.insert(key, life);
        }
        let verb = if succeeded {
            "resolve succeeded"
        } else {
            "resolve failed"
        };
        self.settling(key, attempt, owner, now, verb, |life| {
            let unanswered = life.unanswered;
            let open = match life.word(now) {
                "unknown" | "recorded" => true,
                "failed" => succeeded || unanswered,
                _ => false,
            };
            if open {
                life.attempts = life.attempts.max(1);
                life.settle(
                    if succeeded {
                        Said::Happened
                    } else {
                        Said::DidNotHappen
                    },
                    true,
                    now,
                );
                life.words = Some(evidence);
                life.result = result;
                let event = if succeeded { "succeeded" } else { "failed" };
                life.history
                    .push((now, event, life.attempts, owner, Some(evidence.to_owned())));
                return true;
            }
            match life.said {
                Said::Happened => succeeded && (result.is_none() || result == life.result),
                Said::DidNotHappen => !succeeded,
                Said::NothingYet | Said::NobodyKnows => false,
            }
        })
    }
}
