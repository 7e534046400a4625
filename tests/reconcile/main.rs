//! Contract §9.2, the pure half: the table, the window, the figures, reading an export, settling by it.
#![allow(clippy::unwrap_used)]

#[path = "../support/table.rs"]
mod table;

mod cast;
mod compare;
mod csv;
mod figures;
mod json_lines;
mod ledger;
mod random;
mod settle;
