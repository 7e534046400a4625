//! Looking and operating (contract §8.2, 8.3, 9.1, 9.3 to 9.6) through the real binary, a file per subject.
#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

#[path = "../support/contract.rs"]
mod contract;
#[path = "../cli/keeper.rs"]
#[allow(dead_code)]
mod keeper;
#[path = "../cli/prepared.rs"]
#[allow(dead_code)]
mod prepared;
#[allow(dead_code)]
#[path = "../durability/procs.rs"]
mod procs;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/table.rs"]
mod table;

mod bulk;
mod past;
mod stage;

mod backup;
mod documents;
mod forget;
mod list;
mod marked;
mod moving;
mod outputs;
mod prometheus;
mod prune_killed;
mod pruned;
mod restore;
mod restore_killed;
mod retention;
mod retired;
mod stats;
mod streaming;
mod terminal;
mod torn;
mod verify;
