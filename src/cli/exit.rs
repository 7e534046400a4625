//! Exit codes: the whole table.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | an answer; a skip is one |
//! | 2 | no answer: the effect must not be performed |
//! | 3 | a conflict: the effect must not be performed; from `reconcile`, drift |
//! | N | a skip, where `--skip-exit N` was given |
//!
//! `run` and `drain` end as their command does, and besides:
//!
//! | code | meaning |
//! |---|---|
//! | 0 | success is on record |
//! | 75 | not performed: in flight, failed or unknown (`--skip-exit` gives another code) |
//! | 124 | the command ran into its `--timeout` |
//! | 126, 127 | the command could not be started, was not found |
//! | 128+n | signal n ended the command, or came before it |

use std::process::ExitCode;

use receipt_ledger::decide::Decision;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// An answer was given.
    pub(crate) const ANSWERED: Exit = Exit(0);
    /// No answer could be given.
    pub(crate) const NO_ANSWER: Exit = Exit(2);
    /// The key means something else.
    pub(crate) const CONFLICT: Exit = Exit(3);

    /// Not performed, and not known to have happened.
    pub(crate) const NOT_PERFORMED: Exit = Exit(75);
    /// The command ran into its timeout.
    pub(crate) const TIMED_OUT: Exit = Exit(124);
    /// The command could not be started.
    pub(crate) const CANNOT_START: Exit = Exit(126);
    /// The command was not found.
    pub(crate) const NOT_FOUND: Exit = Exit(127);

    /// The exit of a command that exited with this code.
    pub(crate) fn of_code(code: i32) -> Exit {
        Exit(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// The exit for a signal.
    pub(crate) fn of_signal(signal: i32) -> Exit {
        Exit::of_code(signal.saturating_add(128))
    }

    /// The exit of `drain`.
    pub(crate) fn of_drain(all_succeeded: bool) -> Exit {
        if all_succeeded {
            Exit::ANSWERED
        } else {
            Exit::NOT_PERFORMED
        }
    }

    /// The exit of `reconcile`.
    pub(crate) fn of_reconcile(drift: u64) -> Exit {
        if drift == 0 {
            Exit::ANSWERED
        } else {
            Exit::CONFLICT
        }
    }

    /// The exit of `batch`: any error before any conflict.
    pub(crate) fn of_batch(errors: bool, conflicts: bool) -> Exit {
        match (errors, conflicts) {
            (true, _) => Exit::NO_ANSWER,
            (false, true) => Exit::CONFLICT,
            (false, false) => Exit::ANSWERED,
        }
    }

    /// Whether this says that all is well.
    pub(crate) fn is_success(self) -> bool {
        self == Exit::ANSWERED
    }

    /// The exit of `run` where nothing was started.
    pub(crate) fn of_skip(decision: Decision, skip_exit: Option<u8>) -> Exit {
        match decision {
            Decision::Conflict => Exit::CONFLICT,
            Decision::Execute | Decision::Retry | Decision::SkipSucceeded => Exit::ANSWERED,
            Decision::SkipInFlight | Decision::SkipFailed | Decision::SkipUnknown => {
                skip_exit.map_or(Exit::NOT_PERFORMED, Exit)
            }
        }
    }

    /// The exit of `reserve`.
    pub(crate) fn of_decision(decision: Decision, skip_exit: Option<u8>) -> Exit {
        match decision {
            Decision::Execute | Decision::Retry => Exit::ANSWERED,
            Decision::Conflict => Exit::CONFLICT,
            Decision::SkipInFlight
            | Decision::SkipSucceeded
            | Decision::SkipFailed
            | Decision::SkipUnknown => Exit(skip_exit.unwrap_or(0)),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_conflict_is_3_and_only_skips_take_the_given_code() {
        for decision in Decision::ALL {
            let plain = Exit::of_decision(decision, None);
            let given = Exit::of_decision(decision, Some(9));
            match decision {
                Decision::Execute | Decision::Retry => {
                    assert_eq!((plain, given), (Exit(0), Exit(0)))
                }
                Decision::Conflict => assert_eq!((plain, given), (Exit(3), Exit(3))),
                Decision::SkipInFlight
                | Decision::SkipSucceeded
                | Decision::SkipFailed
                | Decision::SkipUnknown => assert_eq!((plain, given), (Exit(0), Exit(9))),
            }
        }
    }
}
