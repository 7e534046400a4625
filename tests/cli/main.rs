//! The real binary, a file per subject.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

#[path = "../support/contract.rs"]
mod contract;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/table.rs"]
mod table;

mod deciding;
mod environment;
mod files;
mod first_screen;
mod help;
mod hints;
mod history;
mod input;
mod json;
mod keeper;
mod paths;
mod payloads;
mod prepared;
mod reconcile;
mod results;
mod settling;
mod shell;
mod values;
mod waiting;

/// Every receipt of the contract's tables but `nothing`.
fn standing() -> Vec<&'static str> {
    let rows = table::rows(contract::RESERVE).into_iter().skip(1);
    rows.map(|row| row[0])
        .filter(|name| *name != "nothing")
        .collect()
}
