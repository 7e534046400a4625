//! The same promises on a PostgreSQL server, and those that only a server can break. The tests start a throw-away one;
//! where no server is installed they say so and are skipped, unless `RECEIPT_LEDGER_REQUIRE_POSTGRES=1`.
#![cfg(feature = "postgres")]
#![allow(clippy::print_stderr, clippy::unwrap_used)]

#[path = "../readme/block.rs"]
mod block;

#[path = "../model/asking.rs"]
mod asking;
#[path = "../store/conformance.rs"]
mod conformance;
#[path = "../support/contract.rs"]
mod contract;
#[path = "../cli/deciding.rs"]
mod deciding;
#[path = "../store/grouping.rs"]
mod grouping;
#[path = "../model/hand.rs"]
mod hand;
#[path = "../model/life.rs"]
mod life;
#[path = "../model/model.rs"]
mod model;
#[path = "../model/operations.rs"]
mod operations;
#[path = "../cli/prepared.rs"]
mod prepared;
#[allow(dead_code)]
#[path = "../durability/procs.rs"]
mod procs;
#[path = "../store/racing.rs"]
mod racing;
#[path = "../model/runner.rs"]
mod runner;
#[path = "../cli/settling.rs"]
mod settling;
#[path = "../support/table.rs"]
mod table;

mod cluster;
mod groups;
mod keeper;
mod support;

mod applying;
mod clocks;
mod lost;
mod moving;
mod proxy;
mod races;
mod readme;
mod roles;
mod server;
mod standby;
mod suite;
mod tls;

/// Every receipt of the contract's tables but `nothing`.
fn standing() -> Vec<&'static str> {
    let rows = table::rows(contract::RESERVE).into_iter().skip(1);
    rows.map(|row| row[0])
        .filter(|name| *name != "nothing")
        .collect()
}
