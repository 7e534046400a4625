//! COMMIT: the one place where a transaction that has written ends, and what counts as its answer.

use std::io;
use std::thread;
use std::time::Duration;

use super::error::Trouble;
use super::patience::Patience;
use super::row::required;
use super::session::Session;
use super::value::Value;
use super::wire::{Answer, Fault, Statement, Wire};
use crate::error::{Error, Source};
use crate::receipt::KeyDigest;

/// Right before COMMIT, which nothing may cut short.
const NO_LIMITS: [&str; 2] = [
    "SET LOCAL lock_timeout = 0",
    "SET LOCAL statement_timeout = 0",
];

/// The same for the limit that PostgreSQL 17 brought.
const NO_TRANSACTION_LIMIT: &str = "SET LOCAL transaction_timeout = 0";

const TOKEN: &str = "\
SELECT token FROM receipt_ledger.receipt WHERE key_digest = $1::bytea FOR UPDATE";

/// How often, and with what pause, it is asked whether a commit went through: it may still be on its way.
const PROOFS_MAX: u32 = 10;
const PROOF_PAUSE: Duration = Duration::from_millis(100);

/// What a transaction leaves that only it can have written: a token on one of its rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof<'a> {
    pub(super) digest: KeyDigest,
    pub(super) token: &'a str,
}

/// What came of a COMMIT.
#[derive(Debug)]
pub(super) enum Committed {
    /// The server answered.
    Told(Vec<Answer>),
    /// The answer was lost, and what was written was found.
    Proven,
}

impl Session {
    /// The one place where a transaction that has written ends: takes the last statements and commits, for as long as
    /// that takes. Nothing but the server's plain word counts, or the proof where its word was lost.
    pub(super) fn commit<'a>(
        &mut self,
        mut statements: Vec<Statement<'a>>,
        proof: Option<Proof<'_>>,
        patience: Patience,
    ) -> Result<Committed, Trouble> {
        let begun = self.wire.as_ref().is_some_and(Wire::in_transaction);
        if !begun {
            self.connected(patience)?;
        }
        let Some(wire) = &mut self.wire else {
            return Err(Trouble::Lost(io::ErrorKind::NotConnected.into()));
        };
        statements.extend(NO_LIMITS.map(Statement::new));
        if has_transaction_limit(wire) {
            statements.push(Statement::new(NO_TRANSACTION_LIMIT));
        }
        statements.push(Statement::new("COMMIT"));
        let last = statements.len() - 1;
        let lost: Source = match wire.exchange(&statements, None) {
            Ok(answers) => return self.heard(answers),
            // Refused: nothing was kept. A server that ends a session before it was COMMIT's turn undoes all of it, as it does
            // when it shuts down or was left waiting; what else ends one may be a pooler's word, which says nothing of the
            // server.
            Err(Fault::Server(error))
                if !error.fatal || (error.statement < last && is_the_servers(&error.code)) =>
            {
                return Err(Fault::Server(error).into());
            }
            Err(Fault::Server(error)) => error.message.into(),
            Err(Fault::Lost(error)) => error.into(),
            Err(Fault::Late) => "the server no longer answers".into(),
        };
        self.wire = None;
        match proof {
            Some(proof) if self.is_proven(proof) => Ok(Committed::Proven),
            Some(_) | None => Err(self.uncertain(lost)),
        }
    }

    /// What the server said to a COMMIT.
    fn heard(&self, answers: Vec<Answer>) -> Result<Committed, Trouble> {
        let commit = answers.last().cloned().unwrap_or_default();
        match commit.warning {
            Some(warning) => Err(self.uncertain(warning.into())),
            None if commit.tag == "COMMIT" => Ok(Committed::Told(answers)),
            None => Err(Trouble::Ledger(Error::Io {
                action: "commit to",
                ledger: self.name().to_owned(),
                source: format!("the server answered {}", commit.tag).into(),
            })),
        }
    }

    fn uncertain(&self, source: Source) -> Trouble {
        Trouble::Ledger(Error::Uncertain {
            ledger: self.name().to_owned(),
            source,
        })
    }

    /// Looks for what only the lost transaction can have written. Finding it proves that it was committed; not finding it
    /// proves nothing.
    fn is_proven(&mut self, proof: Proof<'_>) -> bool {
        let patience = Patience::new(self.busy_timeout());
        for _ in 0..PROOFS_MAX {
            match self.look_for(proof, patience) {
                Ok(true) => return true,
                Ok(false) => {}
                Err(trouble) if trouble.passes() => {}
                Err(_) => return false,
            }
            if patience.is_over() {
                return false;
            }
            thread::sleep(PROOF_PAUSE);
        }
        false
    }

    fn look_for(&mut self, proof: Proof<'_>, patience: Patience) -> Result<bool, Trouble> {
        self.connected(patience)?;
        let mut statements = Session::beginning(patience, None);
        statements.push(Statement::new(TOKEN).with(Value::bytes(&proof.digest.0)));
        let answers = self.ask(&statements, patience)?;
        let row = answers.last().and_then(|answer| answer.rows.first());
        let found = match row {
            Some(row) => required(row, "token", |token| Some(token == proof.token))?,
            None => false,
        };
        if !found {
            self.roll_back(patience);
            return Ok(false);
        }
        // That it can be seen does not say that it has reached a synchronous standby. A commit behind it does: what is
        // on stable storage there is so in the order in which it was written, and the row's lock is a write.
        let committed = self.commit(Vec::new(), None, patience)?;
        Ok(matches!(committed, Committed::Told(_)))
    }
}

/// Codes with which a server, and nothing before it, ends a session: it shuts down, or a limit for transactions was over.
fn is_the_servers(code: &str) -> bool {
    code.starts_with("57P") || matches!(code, "25P03" | "25P04")
}

fn has_transaction_limit(wire: &Wire) -> bool {
    const SINCE: u32 = 17;
    let version = wire.parameter("server_version").unwrap_or_default();
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    let major: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    major.is_some_and(|major| major >= SINCE)
}
