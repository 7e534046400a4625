//! What went wrong, as it is told: a stable code, a message, a hint.

use std::borrow::Cow;
use std::error::Error as StdError;

use super::exit::Exit;
use receipt_ledger::Error;

/// The one error that is a conflict: an import that says something else than the ledger.
pub(crate) const CONTRADICTION: &str = "contradiction";

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<Cow<'static, str>>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn io(message: &str, source: &dyn StdError) -> Failure {
        Failure::new("io", format!("{message}: {source}"))
    }

    pub(crate) fn hint(self, hint: impl Into<Cow<'static, str>>) -> Failure {
        Failure {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.code == CONTRADICTION {
            Exit::CONFLICT
        } else {
            Exit::NO_ANSWER
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::from(&error)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        let failure = Failure::new(error.code(), error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
