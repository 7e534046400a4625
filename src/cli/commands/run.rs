//! `run`: perform a command under a receipt.

use super::super::args::RunArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::perform::{self, Performance};
use super::super::render::Line;
use super::super::settings::Settings;
use super::{OpenLedger, open_to_decide, reserve};
use receipt_ledger::child::{Input, Supervisor};
use receipt_ledger::decide::{Decision, Reserve, ReserveAnswer};
use receipt_ledger::ledger::Waiting;
use receipt_ledger::receipt::Entry;

/// A lease for a command: a machine that dies is noticed within a minute.
pub(super) const LEASE_MS: i64 = 60_000;

pub(crate) fn run(
    args: RunArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wait = args.decide.wait;
    let mut request = reserve::request(args.decide)?;
    request.lease_ms.get_or_insert(LEASE_MS);
    let mut ledger = open_to_decide(settings, output)?;
    // Up to here a signal ends this process at once, as any other: a payload or a lock may be long in coming.
    let mut supervisor = supervisor()?;
    let answer = match wait {
        None => ledger.reserve(&request)?,
        Some(wait) => ledger.reserve_waiting(&request, wait, &mut |pause| match supervisor
            .wait_for_signal(pause)
        {
            Some(_) => Waiting::Stop,
            None => Waiting::GoOn,
        })?,
    };
    let ReserveAnswer {
        decision,
        state,
        attempt,
    } = answer;
    let skip_exit = Exit::of_skip(decision, args.skip_exit);
    if !args.perform.quiet || !skip_exit.is_success() {
        output.line_aside(&Line::decision(&request.key, decision, state, attempt));
    }
    if !decision.performs() {
        let exit = match supervisor.pending() {
            Some(signal) if decision == Decision::SkipInFlight => Exit::of_signal(signal),
            Some(_) | None => skip_exit,
        };
        if decision == Decision::SkipSucceeded && args.perform.capture {
            replay(&request, &mut ledger, output)?;
        }
        close_after(ledger, *output);
        return Ok(exit);
    }
    let performance = Performance {
        args: &args.perform,
        settings,
        output: *output,
        stdin: Input::Inherit,
    };
    let performed = perform::perform(performance, &request, attempt, &mut ledger, &mut supervisor)?;
    close_after(ledger, *output);
    Ok(performed.exit)
}

/// Takes the process's signals over, before the ledger decides.
pub(super) fn supervisor() -> Result<Supervisor, Failure> {
    Supervisor::install().map_err(|error| Failure::io("cannot take over signals", &error))
}

/// What was decided and recorded stands; that the log could not be folded back changes nothing of it, but somebody
/// should know.
pub(super) fn close_after(ledger: OpenLedger, output: Output) {
    if let Err(error) = ledger.close() {
        output.note(&format!("what is on record stands, but: {error}"));
    }
}

/// Prints what the command wrote when it succeeded.
fn replay(request: &Reserve, ledger: &mut OpenLedger, output: &mut Output) -> Result<(), Failure> {
    let reading = ledger.show(&request.key, false)?;
    let result = match &reading.entry {
        Some(Entry::Whole(receipt)) => receipt.result.as_ref(),
        Some(Entry::Pruned(_)) | None => None,
    };
    output.raw(&perform::captured_before(result)?)
}
