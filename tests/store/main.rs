//! What every store keeps, one suite for all of them; and what only the one in a SQLite file must.
#![allow(clippy::unwrap_used)]

#[path = "../model/hand.rs"]
mod hand;

mod conformance;
mod grouping;
mod racing;
mod sqlite;
