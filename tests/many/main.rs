//! Many, later, and together (contract §7): `batch`, `record`, `drain` and `apply` with real processes, a file per subject.
#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

#[allow(dead_code)]
#[path = "../durability/procs.rs"]
mod procs;
#[allow(dead_code)]
#[path = "../run/stage.rs"]
mod stage;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "../durability/trace.rs"]
mod trace;

mod talk;

mod apply;
mod apply_refused;
mod batch_bad_lines;
mod batch_lines;
mod batch_operations;
mod batch_process;
mod batch_side_by_side;
mod drain;
mod drain_endings;
mod drain_side_by_side;
mod record;

#[cfg(target_os = "linux")]
mod batch_order;
#[cfg(target_os = "linux")]
mod drain_terminal;
