//! What must survive: races, kills, power loss, full disks, other users and their files. Real processes, real files.
#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

#[path = "../support/mod.rs"]
mod support;

mod procs;

mod at_rest;
mod busy;
mod clock;
mod in_process;
mod kill;
mod moved;
mod outputs;
mod paths;
mod races;
mod read_only;
mod refused;
mod space;
mod turns;

#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod power_loss;
#[cfg(target_os = "linux")]
mod trace;
