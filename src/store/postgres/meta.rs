//! What the ledger and its server say of themselves, with the server's clock.

use super::error::Trouble;
use super::row::{flag, number, required, seconds};
use super::schema;
use super::session::Session;
use super::value::Parameter;
use super::wire::{Answer, Statement};
use crate::error::Error;
use crate::receipt::Timestamp;
use crate::store::Standing;

/// The columns that [`Head::of`] reads, for each word that the ledger keeps of itself; there is always one.
macro_rules! head_columns {
    () => {
        "name, value, extract(epoch FROM clock_timestamp()) AS now_s, \
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit, \
         pg_is_in_recovery() AS standby, current_setting('synchronous_standby_names') <> '' AS waits"
    };
}
pub(super) use head_columns;

/// Asked behind whatever was locked, so that the clock is read after.
pub(super) const HEAD: &str = concat!("SELECT ", head_columns!(), " FROM receipt_ledger.meta");

/// What is asked of a transaction in the same statement that writes its first row: that its commit counts.
pub(super) const COUNTS: &str = "current_setting('synchronous_commit') IN ('on', 'remote_apply') AND current_setting('fsync') = 'on'";

/// The same, that the ledger decides. (`LOCK TABLE` stands before it, so nobody changes that meanwhile.)
pub(super) const DECIDES: &str = "\
NOT EXISTS (SELECT FROM receipt_ledger.meta WHERE name = 'standing' AND value <> 'in_use')";

pub(super) const SET: &str = "\
INSERT INTO receipt_ledger.meta (name, value) VALUES ($1, $2) \
ON CONFLICT (name) DO UPDATE SET value = excluded.value";

pub(super) const FSYNC_OFF: &str =
    "the server runs with fsync=off: what it commits is lost with the next power cut";

/// The answer to [`HEAD`].
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) now: Timestamp,
    pub(super) standing: Standing,
    pub(super) forgotten: u64,
    fsync: bool,
    pub(super) synchronous_commit: String,
    standby: bool,
    /// Whether a commit waits for standbys.
    pub(super) waits: bool,
}

impl Head {
    /// Reads the answer, and refuses a ledger that a newer version of the program has changed.
    pub(super) fn of(answer: &Answer, session: &Session) -> Result<Head, Trouble> {
        let row = answer.rows.first();
        let row = row.ok_or(Trouble::Impossible("schema_version"))?;
        let kept = |wanted: &str| {
            let mut rows = answer.rows.iter();
            let found = rows.find(|row| row.get("name") == Some(Some(wanted)))?;
            found.get("value").flatten()
        };
        let version = kept("schema_version").and_then(number);
        let found = version.ok_or(Trouble::Impossible("schema_version"))?;
        let known = schema::version();
        if found > known {
            return Err(Trouble::Ledger(Error::NewerLedger {
                ledger: session.name().to_owned(),
                found,
                known,
            }));
        }
        let owned = |text: &str| Some(text.to_owned());
        Ok(Head {
            now: required(row, "now_s", seconds)?,
            standing: kept("standing")
                .map_or(Some(Standing::InUse), Standing::parse)
                .ok_or(Trouble::Impossible("standing"))?,
            forgotten: kept("forgotten")
                .map_or(Some(0), number)
                .ok_or(Trouble::Impossible("forgotten"))?,
            fsync: required(row, "fsync", owned)? == "on",
            synchronous_commit: required(row, "synchronous_commit", owned)?,
            standby: required(row, "standby", flag)?,
            waits: required(row, "waits", flag)?,
        })
    }

    /// Refuses a ledger that does not decide, and a server whose commits do not count.
    pub(super) fn decides(&self, session: &Session) -> Result<(), Trouble> {
        self.writes(session)?;
        self.standing
            .refuse_idle(session.name())
            .map_err(Trouble::Ledger)
    }

    /// Refuses a server whose commits do not count.
    pub(super) fn writes(&self, session: &Session) -> Result<(), Trouble> {
        let refused = if self.standby {
            "the server is a standby, which can only be read"
        } else if !self.fsync {
            FSYNC_OFF
        } else {
            return Ok(());
        };
        Err(refuse(session, refused.to_owned()))
    }

    /// Inside a transaction that is to be committed: that its commit will count.
    pub(super) fn commit_counts(&self, session: &Session) -> Result<(), Trouble> {
        match &*self.synchronous_commit {
            "on" | "remote_apply" => Ok(()),
            other => Err(refuse(
                session,
                format!("the server keeps synchronous_commit={other}"),
            )),
        }
    }
}

/// A reason not to write.
pub(super) fn refuse(session: &Session, why: String) -> Trouble {
    Trouble::Ledger(Error::Io {
        action: "write to",
        ledger: session.name().to_owned(),
        source: why.into(),
    })
}

/// A statement that keeps a value under a name.
pub(super) fn set(name: &'static str, value: impl Into<Parameter>) -> Statement<'static> {
    Statement::new(SET).with(name).with(value)
}
