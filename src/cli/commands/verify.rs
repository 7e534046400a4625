//! `verify`: is the ledger what it says it is?

use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::render::{Line, Value};
use super::super::settings::Settings;
use super::open_to_read;

pub(crate) fn run(settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let mut ledger = open_to_read(settings)?;
    let mut findings = Vec::new();
    let receipts = ledger.verify(&mut |key, finding| {
        findings.push(
            Line::default()
                .word("finding", finding)
                .fact("key", key.into()),
        );
    })?;
    if findings.is_empty() {
        let line = Line::default()
            .word("verify", "ok")
            .fact("receipts", Value::Number(receipts));
        output.lines(&[line])?;
        ledger.close()?;
        return Ok(Exit::ANSWERED);
    }
    output.lines(&findings)?;
    Ok(Exit::NO_ANSWER)
}
