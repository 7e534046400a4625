//! One small file a command: arguments -> ledger -> reply.

mod apply;
mod batch;
mod copies;
mod documents;
mod drain;
mod init;
mod list;
mod move_;
mod prune;
mod reconcile;
pub(super) mod record;
mod renew;
mod reserve;
pub(super) mod resolve;
mod run;
pub(super) mod settle;
mod show;
mod stats;
mod verify;

use std::time::Duration;

use super::args::{Asked, FactArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::output::Output;
use super::settings::Settings;
use receipt_ledger::Ledger;
use receipt_ledger::decide::Facts;
use receipt_ledger::receipt::Amount;
use receipt_ledger::store::sqlite::{OpenOptions, SqliteStore};
use receipt_ledger::store::{Imported, Source, Store};

/// How long a call waits for locks unless it is told otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for a call that says what already happened: it must get through.
pub(super) const SETTLE_BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// A ledger over whichever store was named.
pub(super) type OpenLedger = Ledger<Box<dyn Store>>;

/// Runs one command.
pub(crate) fn answer(
    asked: Asked,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match asked {
        Asked::Reserve(args) => reserve::run(args, settings, output),
        Asked::Run(args) => run::run(args, settings, output),
        Asked::Record(args) => record::run(args, settings, output),
        Asked::Drain(args) => drain::run(args, settings, output),
        Asked::Apply(args) => apply::run(args, settings, output),
        Asked::Batch(_) => batch::run(settings, output),
        Asked::Succeed(args) => settle::succeed(args, settings, output),
        Asked::Fail(args) => settle::fail(args, settings, output),
        Asked::Unknown(args) => settle::unknown(args, settings, output),
        Asked::Renew(args) => renew::run(args, settings, output),
        Asked::Resolve(args) => resolve::run(args, settings, output),
        Asked::Show(args) => show::run(args, settings, output),
        Asked::List(args) => list::run(args, settings, output),
        Asked::Stats(args) => stats::run(args, settings, output),
        Asked::Reconcile(args) => reconcile::run(args, settings, output),
        Asked::Prune(args) => prune::run(args, settings, output),
        Asked::Backup(args) => copies::backup(args, settings, output),
        Asked::Restore(args) => copies::restore(args, settings, output),
        Asked::Export(args) => move_::export(args, settings, output),
        Asked::Import(args) => move_::import(args, settings, output),
        Asked::Verify(_) => verify::run(settings, output),
        Asked::Completions(args) => documents::completions(args, output),
        Asked::Man(args) => documents::man(args, output),
        Asked::Init(args) => init::run(args, settings, output),
    }
}

fn options(settings: &Settings, busy_timeout: Duration) -> Result<OpenOptions, Failure> {
    let db = settings.db()?;
    let url = db
        .to_str()
        .is_some_and(|db| db.starts_with("postgres://") || db.starts_with("postgresql://"));
    if url {
        return Err(Failure::new(
            "usage",
            "this receipt-ledger keeps ledgers in files only, not in PostgreSQL",
        ));
    }
    let mut options = OpenOptions::new(db);
    options.busy_timeout = settings.busy_timeout.unwrap_or(busy_timeout);
    Ok(options)
}

/// Opens the ledger to decide; it is created if it is not there, unless that was forbidden.
pub(super) fn open_to_decide(
    settings: &Settings,
    output: &mut Output,
) -> Result<OpenLedger, Failure> {
    let mut options = options(settings, BUSY_TIMEOUT)?;
    options.create = !settings.no_create;
    let mut ledger: OpenLedger = Ledger::new(Box::new(SqliteStore::open(options)?));
    tell_creation(&mut ledger, output);
    Ok(ledger)
}

/// A ledger that came into being is told once.
fn tell_creation(ledger: &mut OpenLedger, output: &mut Output) {
    if ledger.store().created() {
        output.note(&format!(
            "created ledger {}",
            ledger.store().name().display()
        ));
    }
}

/// Takes an export into the ledger; it is created if it is not there, unless that was forbidden.
fn import_into(
    settings: &Settings,
    source: &mut dyn Source,
    mark: bool,
) -> Result<(Imported, OpenLedger), Failure> {
    let mut options = options(settings, BUSY_TIMEOUT)?;
    options.create = !settings.no_create;
    let (imported, store) = SqliteStore::import_into(options, source, mark)?;
    Ok((imported, Ledger::new(Box::new(store))))
}

/// Opens the ledger to say what came of an effect.
pub(super) fn open_to_settle(settings: &Settings) -> Result<OpenLedger, Failure> {
    let mut options = options(settings, SETTLE_BUSY_TIMEOUT)?;
    options.create = false;
    Ok(Ledger::new(Box::new(SqliteStore::open(options)?)))
}

/// Opens a ledger that is there to change it.
fn open_to_change(settings: &Settings, output: &mut Output) -> Result<OpenLedger, Failure> {
    open_to_decide(
        &Settings {
            no_create: true,
            ..settings.clone()
        },
        output,
    )
}

/// Opens the ledger to look at it.
fn open_to_read(settings: &Settings) -> Result<OpenLedger, Failure> {
    let options = options(settings, BUSY_TIMEOUT)?;
    Ok(Ledger::new(Box::new(SqliteStore::open_to_read(options)?)))
}

fn facts(args: FactArgs) -> Facts {
    let amount = args.amount.zip(args.currency);
    let amount = amount.map(|(value, currency)| {
        Amount::parse(&value, &currency).expect("both were checked when they were read")
    });
    Facts {
        owner: args.owner,
        run: args.run,
        amount,
    }
}
