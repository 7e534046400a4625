//! `renew`: promise that the attempt goes on.

use super::super::args::RenewArgs;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::refusal::Verb;
use super::super::settings::Settings;
use super::{open_to_settle, settle};
use receipt_ledger::decide::Renew;

pub(crate) fn run(
    args: RenewArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let RenewArgs {
        key,
        attempt,
        owner,
        lease,
    } = args;
    let request = Renew {
        key,
        attempt,
        owner,
        lease_ms: lease,
    };
    let mut ledger = open_to_settle(settings)?;
    let answer = ledger.renew(&request)?;
    let told = settle::tell(&answer, Verb::Renew, &request.key, output);
    ledger.close()?;
    told
}
