//! Exit codes: the whole table.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | an answer; a skip is one |
//! | 2 | no answer: the effect must not be performed |
//! | 3 | a conflict: the effect must not be performed |
//! | N | a skip, where `--skip-exit N` was given |

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
