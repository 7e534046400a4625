//! The model's plain values as the ledger's types, and the ledger's answers in the model's words.

use receipt_ledger::Ledger;
use receipt_ledger::decide::{
    Facts, Record, RecordAnswer, Refusal, Renew, Reserve, Resolve, ResolveAnswer, Settle,
    SettleAnswer, Settlement, Verdict,
};
use receipt_ledger::receipt::{
    Amount, Fingerprint, Key, Owner, Receipt, ResultJson, RunId, SettledBy, State, Text, Timestamp,
};
use receipt_ledger::store::Store;

use crate::life::{Life, Said, fingerprint};
use crate::operations::{self, Step};

fn bound_to(content: u8) -> Fingerprint {
    Fingerprint::parse(fingerprint(content)).unwrap()
}

fn named(owner: Option<u8>) -> Option<Owner> {
    owner.map(|owner| Owner::parse(format!("owner-{owner}")).unwrap())
}

fn run(run: Option<u8>) -> Option<RunId> {
    run.map(|run| RunId::parse(format!("run-{run}")).unwrap())
}

fn money(amount: Option<(&str, &str)>) -> Option<Amount> {
    amount.map(|(value, currency)| Amount::parse(value, currency).unwrap())
}

fn json(result: Option<&str>) -> Option<ResultJson> {
    result.map(|result| ResultJson::parse(result.as_bytes()).unwrap())
}

fn words(text: Option<&str>) -> Option<Text> {
    text.map(|text| Text::parse(text).unwrap())
}

fn facts(facts: &operations::Facts) -> Facts {
    Facts {
        owner: named(facts.owner),
        run: run(facts.run),
        amount: money(facts.amount),
    }
}

/// Asks the ledger, and puts the answer into the model's words.
pub(crate) fn ask<S: Store>(
    ledger: &mut Ledger<S>,
    step: &Step,
    key: Key,
    attempt: Option<u32>,
) -> String {
    let standing = |state: State, attempt: u32| format!("state={state} attempt={attempt}");
    let settlement = match step {
        Step::Reserve {
            content,
            allow_failed_retry,
            within,
            max_attempts,
            lease,
            facts: given,
            ..
        } => {
            let mut request = Reserve::new(key, bound_to(*content));
            request.allow_failed_retry = *allow_failed_retry;
            request.retry_unknown_within_ms = *within;
            request.max_attempts = *max_attempts;
            request.lease_ms = *lease;
            request.facts = facts(given);
            let answer = ledger.reserve(&request).unwrap();
            return format!(
                "decision={} {}",
                answer.decision.as_str(),
                standing(answer.state, answer.attempt)
            );
        }
        Step::Record {
            content,
            facts: given,
            ..
        } => {
            let request = Record {
                key,
                fingerprint: bound_to(*content),
                facts: facts(given),
                payload: None,
            };
            return match ledger.record(&request).unwrap() {
                RecordAnswer::Created => "created=true state=recorded attempt=0".to_owned(),
                RecordAnswer::Exists { state, attempt } => {
                    format!("created=false {}", standing(state, attempt))
                }
                RecordAnswer::Conflict { state, attempt } => {
                    format!("decision=CONFLICT {}", standing(state, attempt))
                }
            };
        }
        Step::Renew { owner, lease, .. } => {
            let request = Renew {
                key,
                attempt: attempt.unwrap(),
                owner: named(*owner),
                lease_ms: *lease,
            };
            return settled(ledger.renew(&request).unwrap());
        }
        Step::Resolve {
            content,
            owner,
            succeeded,
            result,
            ..
        } => {
            let verdict = if *succeeded {
                Verdict::Succeeded {
                    result: json(*result),
                }
            } else {
                Verdict::Failed
            };
            let request = Resolve {
                key,
                fingerprint: content.map(bound_to),
                attempt,
                owner: named(*owner),
                verdict,
                evidence: Text::parse("seen in the provider's export").unwrap(),
            };
            return match ledger.resolve(&request).unwrap() {
                ResolveAnswer::Resolved { state, attempt } => standing(state, attempt),
                ResolveAnswer::Refused(refusal) => refused(&refusal),
                ResolveAnswer::Conflict { state, attempt } => {
                    format!("decision=CONFLICT {}", standing(state, attempt))
                }
            };
        }
        Step::Succeed { owner, result, .. } => (
            owner,
            Settlement::Succeeded {
                result: json(*result),
            },
        ),
        Step::Fail { owner, reason, .. } => (
            owner,
            Settlement::Failed {
                reason: words(*reason),
            },
        ),
        Step::Unknown { owner, reason, .. } => (
            owner,
            Settlement::Unknown {
                reason: words(*reason),
            },
        ),
        Step::MoveClock(_) | Step::PastEveryLease | Step::Reopen => unreachable!(),
    };
    let (owner, settlement) = settlement;
    settled(
        ledger
            .settle(&Settle {
                key,
                attempt,
                owner: named(*owner),
                settlement,
            })
            .unwrap(),
    )
}

fn settled(answer: SettleAnswer) -> String {
    match answer {
        SettleAnswer::Settled { state, attempt } => format!("state={state} attempt={attempt}"),
        SettleAnswer::Refused(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotFound => "not-found".to_owned(),
        Refusal::StaleAttempt { .. } | Refusal::AttemptNeeded { .. } => "stale-attempt".to_owned(),
        Refusal::NotOwner { .. } => "not-owner".to_owned(),
        Refusal::InvalidTransition { state, .. } => format!("invalid-transition {state}"),
    }
}

/// The receipt that the model's knowledge amounts to.
pub(crate) fn receipt(life: &Life, key: Key) -> Receipt {
    let at = |ms: i64| Timestamp::from_ms(ms).unwrap();
    let by = if life.by_evidence {
        SettledBy::Reconciled
    } else {
        SettledBy::Caller
    };
    Receipt {
        key,
        fingerprint: bound_to(life.content),
        stored_state: match life.said {
            Said::NothingYet if life.attempts == 0 => State::Recorded,
            Said::NothingYet => State::Reserved,
            Said::Happened => State::Succeeded,
            Said::DidNotHappen => State::Failed,
            Said::NobodyKnows => State::Unknown,
        },
        attempt: life.attempts,
        owner: named(life.owner),
        run: run(life.run),
        amount: money(life.amount),
        created_at: at(life.born),
        updated_at: at(life.changed),
        first_reserved_at: life.first_began.map(at),
        attempt_started_at: life.began.map(at),
        lease_expires_at: life.promised_until.map(at),
        settled_at: life.settled.map(at),
        settled_by: life.settled.map(|_| by),
        late_success: life.contradicted,
        contested: life.unanswered,
        reason: words(life.words),
        result: json(life.result),
    }
}
