//! Supervision of real processes. Signals belong to a whole process, so each test has a process of its own: this binary
//! once more, at [`wrapper::wrapper`].

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::exit,
    reason = "these are tests"
)]

mod counter;
mod endings;
mod output;
mod signals;
mod streams;
mod terminal;
mod timeouts;
mod wrapper;
