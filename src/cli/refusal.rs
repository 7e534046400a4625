//! Refusals of the rules, as they are told: what stands, and the command that would be right.

use super::failure::Failure;
use super::render::quote;
use receipt_ledger::decide::Refusal;
use receipt_ledger::receipt::{Key, State};

/// The verb that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Succeed,
    Fail,
    Unknown,
    Renew,
    ResolveSucceeded,
    ResolveFailed,
}

impl Verb {
    fn as_str(self) -> &'static str {
        match self {
            Verb::Succeed => "succeed",
            Verb::Fail => "fail",
            Verb::Unknown => "unknown",
            Verb::Renew => "renew",
            Verb::ResolveSucceeded => "resolve --as succeeded",
            Verb::ResolveFailed => "resolve --as failed",
        }
    }
}

/// Puts a refusal into words.
pub(crate) fn told(refusal: &Refusal, verb: Verb, key: &Key) -> Failure {
    match refusal {
        Refusal::NotFound => Failure::new("not-found", format!("the ledger holds no receipt for {key}"))
            .hint("a receipt begins with 'reserve' or 'record'; check the key and the ledger's path"),
        Refusal::StaleAttempt { given, current } => Failure::new(
            "stale-attempt",
            format!("{key} is at attempt {current}; attempt {given} is not the current one"),
        )
        .hint("another attempt has its own outcome: what this one did belongs into 'resolve', with evidence"),
        Refusal::AttemptNeeded { current } => Failure::new(
            "stale-attempt",
            format!("{key} is at attempt {current}; {} must say which attempt it speaks for", verb.as_str()),
        )
        .hint("give --attempt as reserve printed it to you"),
        Refusal::NotOwner { owner } => {
            let owner = owner.as_ref().map_or("nobody", |owner| owner.as_str());
            Failure::new("not-owner", format!("{key} is owned by {owner}"))
                .hint("only who was told to perform an attempt can say what came of it")
        }
        Refusal::InvalidTransition { state, attempt, pruned, other_result } => {
            let pruned = if *pruned { ", pruned" } else { "" };
            let message =
                format!("{key} is {state} (attempt {attempt}{pruned}), which {} does not lead from", verb.as_str());
            Failure::new("invalid-transition", message).hint(hint(*state, *attempt, verb, *other_result, key))
        }
    }
}

/// The command that would be right.
fn hint(state: State, attempt: u32, verb: Verb, other_result: bool, key: &Key) -> String {
    let mut quoted = String::new();
    quote(key.as_str(), &mut quoted);
    // What frees a key must say which attempt it speaks for, once there were two.
    let speaks_for = if attempt > 1 {
        format!(" --attempt {attempt}")
    } else {
        String::new()
    };
    match (state, verb) {
        (State::Recorded, _) => {
            format!("nobody was told to perform it yet: ask with 'reserve --key {quoted}' first")
        }
        (State::Reserved, _) => {
            format!(
                "it is being performed: who performs it settles it with 'succeed', 'fail' or 'unknown --key {quoted}'"
            )
        }
        (State::Unknown, Verb::Renew) => {
            format!(
                "it was declared unknown: find out, then 'resolve --key {quoted}{speaks_for} --as succeeded|failed --evidence TEXT'"
            )
        }
        (State::Unknown, _) => {
            format!(
                "find out what happened, then 'resolve --key {quoted}{speaks_for} --as failed --evidence TEXT'"
            )
        }
        (State::Succeeded, Verb::Succeed | Verb::ResolveSucceeded) if other_result => {
            format!("the result on record stands; see 'show --key {quoted}'")
        }
        (State::Succeeded, _) => {
            format!("what has succeeded never becomes anything else; see 'show --key {quoted}'")
        }
        (State::Failed, Verb::Succeed) => {
            format!("if it did happen: 'resolve --key {quoted} --as succeeded --evidence TEXT'")
        }
        (State::Failed, _) => {
            format!(
                "to perform it again: 'reserve --key {quoted} --allow-failed-retry'; if it did happen: 'resolve --key {quoted} --as succeeded --evidence TEXT'"
            )
        }
    }
}
