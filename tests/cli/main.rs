//! The real binary, a file per subject.

#[path = "../support/mod.rs"]
mod support;

mod first_screen;
