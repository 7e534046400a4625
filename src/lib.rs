//! A durable ledger of intended effects: it answers, for one key, *may I perform this now?*

pub mod child;
