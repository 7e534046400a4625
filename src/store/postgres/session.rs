//! One session with the server: connecting, asking, and the one place where a transaction that may write ends.

use std::io;
use std::thread;
use std::time::Duration;

use rustls::crypto::ring;

use super::address::Address;
use super::connect;
use super::error::Trouble;
use super::meta::Head;
use super::patience::Patience;
use super::row::required;

use super::wire::{Answer, Fault, Statement, Wire};
use crate::error::{Error, Source};
use crate::receipt::{KeyDigest, Timestamp};
use crate::store::sqlite::Clock;

/// Before anything is locked: the limits hold for this transaction alone, and a commit counts only once it is on stable
/// storage, on a synchronous standby's too where there is one. A stronger promise is left as it is.
const LIMITS: &str = "\
SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true), \
       set_config('idle_in_transaction_session_timeout', $2, true), \
       set_config('client_min_messages', 'warning', true), \
       set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                  WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

/// Right before COMMIT, which nothing may cut short, and whose warnings must be heard.
const NO_LIMITS: &str = "\
SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true), \
       set_config('client_min_messages', 'warning', true), \
       set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                  WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

/// The same for the limit that PostgreSQL 17 brought.
const NO_TRANSACTION_LIMIT: &str = "SELECT set_config('transaction_timeout', '0', true)";

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Whoever changes how the ledger stands waits for us, and we for him.
const ENTER: &str = "LOCK TABLE receipt_ledger.receipt IN ROW EXCLUSIVE MODE";

const TOKEN: &str = "\
SELECT token FROM receipt_ledger.receipt WHERE key_digest = $1::bytea FOR UPDATE";

/// How often, and with what pause, it is asked whether a commit went through: it may still be on its way.
const PROOFS_MAX: u32 = 10;
const PROOF_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause before a transaction that lost a race is tried again, in milliseconds.
const PAUSE_MAX_MS: u64 = 20;

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

/// A session that comes back when it is lost.
#[derive(Debug)]
pub(super) struct Session {
    address: Address,
    wire: Option<Wire>,
    busy_timeout: Duration,
    clock: Option<Box<dyn Clock>>,
}

impl Session {
    pub(super) fn new(
        address: Address,
        busy_timeout: Duration,
        clock: Option<Box<dyn Clock>>,
    ) -> Session {
        Session {
            address,
            wire: None,
            busy_timeout,
            clock,
        }
    }

    /// The ledger's name, without a password.
    pub(super) fn name(&self) -> &str {
        self.address.name()
    }

    pub(super) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    pub(super) fn set_busy_timeout(&mut self, busy_timeout: Duration) {
        self.busy_timeout = busy_timeout;
    }

    /// The moment it is: the server's, but for tests.
    pub(super) fn now(&self, head: &Head) -> Timestamp {
        self.clock.as_ref().map_or(head.now, |clock| clock.now())
    }

    /// Does it, on a connection without a transaction, and again while that may help and there is time.
    pub(super) fn again<T>(
        &mut self,
        action: &'static str,
        mut work: impl FnMut(&mut Session, Patience) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let patience = Patience::new(self.busy_timeout);
        let mut tries = 0;
        loop {
            let done = match self.connected(patience) {
                Ok(_) => work(self, patience),
                Err(trouble) => Err(trouble),
            };
            let trouble = match done {
                Ok(done) => return Ok(done),
                Err(trouble) => trouble,
            };
            if !trouble.passes() || patience.is_over() {
                return Err(trouble.told(action, self.name(), self.busy_timeout));
            }
            if tries > 0 {
                let pause_ms = fastrand::u64(0..=PAUSE_MAX_MS);
                thread::sleep(Duration::from_millis(pause_ms));
            }
            tries += 1;
        }
    }

    /// Does it once: what was handed out cannot be taken back.
    pub(super) fn once<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&mut Session, Patience) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let patience = Patience::new(self.busy_timeout);
        work(self, patience).map_err(|trouble| trouble.told(action, self.name(), self.busy_timeout))
    }

    /// Goes on with the transaction that was begun.
    pub(super) fn go_on<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&mut Session, Patience) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        work(self, Patience::new(self.busy_timeout))
            .map_err(|trouble| trouble.told(action, self.name(), self.busy_timeout))
    }

    /// Makes sure that there is a connection without a transaction on it.
    pub(super) fn connected(&mut self, patience: Patience) -> Result<&mut Wire, Trouble> {
        if let Some(wire) = &mut self.wire
            && !wire.is_broken()
            && wire.in_transaction()
        {
            // What failed half-way goes; where even that fails, the connection goes.
            let _ = wire.exchange(&[Statement::new("ROLLBACK")], Some(patience.deadline()));
        }
        let usable = self
            .wire
            .take_if(|wire| wire.is_broken() || wire.in_transaction());
        drop(usable);
        if self.wire.is_none() {
            let connected = connect::connect(&self.address, patience.deadline());
            let wire = connected.map_err(|(host, refused)| Trouble::Unreachable(host, refused))?;
            self.wire = Some(wire);
        }
        Ok(self.wire.as_mut().expect("it is connected"))
    }

    /// Asks outside any transaction, or goes on with the one that was begun.
    pub(super) fn ask(
        &mut self,
        statements: &[Statement<'_>],
        patience: Patience,
    ) -> Result<Vec<Answer>, Trouble> {
        let begun = self.wire.as_ref().is_some_and(Wire::in_transaction);
        let wire = match &mut self.wire {
            Some(wire) if begun => wire,
            Some(_) | None => self.connected(patience)?,
        };
        Ok(wire.exchange(statements, Some(patience.deadline()))?)
    }

    /// As [`Session::ask`], for as long as it takes.
    pub(super) fn ask_without_limit(
        &mut self,
        statements: &[Statement<'_>],
    ) -> Result<Vec<Answer>, Trouble> {
        match &mut self.wire {
            Some(wire) => Ok(wire.exchange(statements, None)?),
            None => Err(Trouble::Lost(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Runs a script of many statements.
    pub(super) fn script(&mut self, sql: &str, patience: Patience) -> Result<(), Trouble> {
        match &mut self.wire {
            Some(wire) => Ok(wire.script(sql, Some(patience.deadline()))?),
            None => Err(Trouble::Lost(io::ErrorKind::NotConnected.into())),
        }
    }

    /// The statements that begin a transaction that may decide.
    pub(super) fn entering(patience: Patience) -> Vec<Statement<'static>> {
        let mut statements = Session::beginning(patience);
        statements.push(Statement::new(ENTER));
        statements
    }

    /// The statements that begin a transaction that may write.
    pub(super) fn beginning(patience: Patience) -> Vec<Statement<'static>> {
        let limits = Statement::new(LIMITS)
            .with(patience.lock_ms())
            .with(patience.statement_ms());
        vec![Statement::new(BEGIN), limits]
    }

    /// Gives a transaction up that has written nothing worth keeping.
    pub(super) fn roll_back(&mut self, patience: Patience) {
        if let Some(wire) = &mut self.wire {
            // Where it is not heard, the connection goes, and the transaction with it.
            let _ = wire.exchange(&[Statement::new("ROLLBACK")], Some(patience.deadline()));
        }
    }

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
        statements.push(Statement::new(NO_LIMITS));
        if has_transaction_limit(wire) {
            statements.push(Statement::new(NO_TRANSACTION_LIMIT));
        }
        statements.push(Statement::new("COMMIT"));
        let last = statements.len() - 1;
        let lost: Source = match wire.exchange(&statements, None) {
            Ok(answers) => return self.heard(answers),
            // Refused: nothing was kept. What ends the session before COMMIT was its turn undoes all of it.
            Err(Fault::Server(error)) if !error.fatal || error.statement < last => {
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
        let patience = Patience::new(self.busy_timeout);
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
        let mut statements = Session::beginning(patience);
        statements.push(Statement::new(TOKEN).with(bytea(&proof.digest.0)));
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

    /// Says good-bye.
    pub(super) fn close(self) {
        if let Some(wire) = self.wire {
            wire.terminate();
        }
    }
}

fn has_transaction_limit(wire: &Wire) -> bool {
    const SINCE: u32 = 17;
    let version = wire.parameter("server_version").unwrap_or_default();
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    let major: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    major.is_some_and(|major| major >= SINCE)
}

/// A token that nobody else can come by, as a UUID.
pub(super) fn token() -> Result<String, Trouble> {
    let mut bytes = [0; 16];
    let random = ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| Trouble::Lost(io::Error::other("the system gives no random numbers")))?;
    let hex = KeyDigest(bytes).to_string();
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

/// Bytes as a value of type `bytea`.
pub(super) fn bytea(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        for digit in [byte >> 4, byte & 0x0F] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text
}
