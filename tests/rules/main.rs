//! The pure rules, cell by cell: the expectations are the contract's own tables, written out.
#![allow(clippy::unwrap_used)]

#[path = "../support/contract.rs"]
mod contract;
#[path = "../support/table.rs"]
mod table;

mod always;
mod cast;
mod fencing;
mod record;
mod renew;
mod reserve;
mod resolve;
mod settle;
