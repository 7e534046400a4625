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

use super::wire::{Answer, Statement, Wire};
use crate::error::Error;
use crate::receipt::{KeyDigest, Timestamp};
use crate::store::sqlite::Clock;

/// Raises what a commit promises where it is not known what it promises now.
const RAISE: &str = "\
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                  WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// One view of everything, which holds nobody up.
const VIEW: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Whoever changes how the ledger stands waits for us, and we for him.
const ENTER: &str = "LOCK TABLE receipt_ledger.receipt IN ROW EXCLUSIVE MODE";

/// Everybody else's decisions wait; looking goes on.
pub(super) const ALONE: &str = "LOCK TABLE receipt_ledger.receipt IN SHARE ROW EXCLUSIVE MODE";

/// Longest pause before a transaction that lost a race is tried again, in milliseconds.
const PAUSE_MAX_MS: u64 = 20;

/// A session that comes back when it is lost.
#[derive(Debug)]
pub(super) struct Session {
    address: Address,
    pub(super) wire: Option<Wire>,
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
                return self.told(action, Err(trouble), patience);
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
        let done = work(self, patience);
        self.told(action, done, patience)
    }

    /// Goes on with the transaction that was begun.
    pub(super) fn go_on<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&mut Session, Patience) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let patience = Patience::new(self.busy_timeout);
        let done = work(self, patience);
        self.told(action, done, patience)
    }

    /// What came of it, with nothing left open behind what failed.
    fn told<T>(
        &mut self,
        action: &'static str,
        done: Result<T, Trouble>,
        patience: Patience,
    ) -> Result<T, Error> {
        done.map_err(|trouble| {
            self.give_up(patience);
            trouble.told(action, self.name(), self.busy_timeout)
        })
    }

    /// Makes sure that there is a connection without a transaction on it.
    pub(super) fn connected(&mut self, patience: Patience) -> Result<&mut Wire, Trouble> {
        self.give_up(patience);
        let usable = self
            .wire
            .take_if(|wire| wire.is_broken() || wire.in_transaction());
        drop(usable);
        if self.wire.is_none() {
            let connected = connect::connect(&self.address, patience.connecting());
            let wire = connected.map_err(|(host, refused)| Trouble::Unreachable(host, refused))?;
            self.wire = Some(wire);
        }
        Ok(self.wire.as_mut().expect("it is connected"))
    }

    /// Ends the transaction that failed half-way, if one did: it would hold its locks for as long as nothing else is asked.
    fn give_up(&mut self, patience: Patience) {
        if let Some(wire) = &self.wire
            && !wire.is_broken()
            && wire.in_transaction()
        {
            self.roll_back(patience);
        }
    }

    /// Asks from one view, waiting for locks no longer than for anything else, or goes on with the transaction that was
    /// begun.
    pub(super) fn look(
        &mut self,
        statements: &[Statement<'_>],
        patience: Patience,
    ) -> Result<Vec<Answer>, Trouble> {
        if self.wire.as_ref().is_some_and(Wire::in_transaction) {
            return self.ask(statements, patience);
        }
        let mut all: Vec<_> = Session::viewing(patience).into();
        let before = all.len();
        all.extend_from_slice(statements);
        all.push(Statement::new("COMMIT"));
        let mut answers = self.ask(&all, patience)?;
        answers.truncate(before + statements.len());
        Ok(answers.split_off(before))
    }

    /// The statements that open a view that stays open.
    pub(super) fn viewing(patience: Patience) -> [Statement<'static>; 2] {
        [
            Statement::new(VIEW),
            limit("lock_timeout", &patience.lock_ms()),
        ]
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

    /// As [`Session::ask`], for what others may hold, each for no longer than a lock may be waited for: a statement that was
    /// ended by its own limit has waited for several of them.
    pub(super) fn ask_for_locks(
        &mut self,
        statements: &[Statement<'_>],
        patience: Patience,
    ) -> Result<Vec<Answer>, Trouble> {
        match self.ask(statements, patience) {
            Err(Trouble::Server(error)) if error.code == "57014" => Err(Trouble::Rival),
            asked => asked,
        }
    }

    /// As [`Session::ask`], for a part of something long: each may take its time, but none may be silent for longer than a
    /// statement may take.
    pub(super) fn ask_for_page(
        &mut self,
        statements: &[Statement<'_>],
    ) -> Result<Vec<Answer>, Trouble> {
        let silence = Patience::new(self.busy_timeout).silence();
        match &mut self.wire {
            Some(wire) => Ok(wire.exchange_while_it_speaks(statements, silence)?),
            None => Err(Trouble::Lost(io::ErrorKind::NotConnected.into())),
        }
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

    /// The statements that begin a transaction that may decide. The head, where one was read before, spares a part of the
    /// work.
    pub(super) fn entering(patience: Patience, head: Option<&Head>) -> Vec<Statement<'static>> {
        let mut statements = Session::beginning(patience, head);
        statements.push(Statement::new(ENTER));
        statements
    }

    /// The statements that begin a transaction that may write. Before anything is locked, limits are set that hold for it
    /// alone: each by a statement of its own, for which the server has nothing to look up and nothing to plan.
    pub(super) fn beginning(patience: Patience, head: Option<&Head>) -> Vec<Statement<'static>> {
        let mut statements = vec![Statement::new(BEGIN)];
        let statement_ms = patience.statement_ms();
        for (setting, ms) in [
            ("lock_timeout", &patience.lock_ms()),
            ("statement_timeout", &statement_ms),
            ("idle_in_transaction_session_timeout", &statement_ms),
        ] {
            statements.push(limit(setting, ms));
        }
        statements.extend(Session::promises(head));
        statements
    }

    /// The statements that have a commit count only once it is on stable storage, on a synchronous standby's too where there
    /// is one, and that have its warnings heard. A stronger promise is left as it is.
    pub(super) fn promises(head: Option<&Head>) -> [Statement<'static>; 2] {
        let raised = head.map(|head| match &*head.synchronous_commit {
            "remote_apply" => "SET LOCAL synchronous_commit = remote_apply",
            _ => "SET LOCAL synchronous_commit = on",
        });
        [
            Statement::new("SET LOCAL client_min_messages = warning"),
            Statement::new(raised.unwrap_or(RAISE)),
        ]
    }

    /// Gives a transaction up that has written nothing worth keeping.
    pub(super) fn roll_back(&mut self, patience: Patience) {
        if let Some(wire) = &mut self.wire {
            // Where it is not heard, the connection goes, and the transaction with it.
            let _ = wire.exchange(&[Statement::new("ROLLBACK")], Some(patience.deadline()));
        }
    }

    /// Says good-bye.
    pub(super) fn close(self) {
        if let Some(wire) = self.wire {
            wire.terminate();
        }
    }
}

/// The statement that sets a limit for one transaction. Nothing of it is anybody's input.
fn limit(setting: &str, ms: &str) -> Statement<'static> {
    Statement::made(format!("SET LOCAL {setting} = {ms}"))
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
