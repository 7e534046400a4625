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

use super::args::{Asked, FactArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::open::{
    OpenLedger, creation_sql, file, import_into, init as create, open_to_change, open_to_decide,
    open_to_read, open_to_settle, tell_creation,
};
use super::output::Output;
use super::settings::Settings;
use receipt_ledger::decide::Facts;
use receipt_ledger::receipt::Amount;

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
