//! What must survive: races, kills, power loss, full disks, other users and their files. Real processes, real files.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../support/mod.rs"]
mod support;

mod procs;

mod kill;
mod races;
