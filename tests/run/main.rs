//! `run` (contract §6) with real processes, a file per subject.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[allow(dead_code)]
#[path = "../durability/procs.rs"]
mod procs;
#[path = "../support/mod.rs"]
mod support;

mod stage;

mod before_the_start;
mod by_itself;
mod capture;
mod crowd;
mod environment;
mod heartbeat;
mod killed;
mod lost;
mod outcomes;
mod signals;
mod skips;
mod streams;
mod timeout;
