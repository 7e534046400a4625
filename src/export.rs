//! A whole ledger as JSON Lines: a header, a line for each receipt and each pruned one, and a last line that counts
//! them. What was written is read back byte for byte, whatever engine keeps the ledger.

mod read;
mod write;

pub use read::{ExportReader, ImportRefusal};
pub use write::{Counts, write};

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The version of the format.
const VERSION: u32 = 1;

/// One line. The names of the members are the words of the ledger.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    ReceiptLedgerExport(Header),
    #[serde(borrow)]
    Receipt(Box<ReceiptLine<'a>>),
    #[serde(borrow)]
    Pruned(PrunedLine<'a>),
    End(Counts),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    retired: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiptLine<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    #[serde(borrow)]
    state: Cow<'a, str>,
    attempt: u32,
    #[serde(borrow)]
    owner: Option<Cow<'a, str>>,
    #[serde(borrow)]
    run: Option<Cow<'a, str>>,
    #[serde(borrow)]
    amount: Option<Cow<'a, str>>,
    #[serde(borrow)]
    currency: Option<Cow<'a, str>>,
    created_at: String,
    updated_at: String,
    first_reserved_at: Option<String>,
    attempt_started_at: Option<String>,
    lease_expires_at: Option<String>,
    settled_at: Option<String>,
    #[serde(borrow)]
    settled_by: Option<Cow<'a, str>>,
    late_success: bool,
    contested: bool,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    /// Left out where there is none: `null` is a result, too.
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    result: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(borrow)]
    history: Vec<HistoryLine<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryLine<'a> {
    at: String,
    #[serde(borrow)]
    event: Cow<'a, str>,
    attempt: u32,
    #[serde(borrow)]
    actor: Option<Cow<'a, str>>,
    #[serde(borrow)]
    detail: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrunedLine<'a> {
    key_digest: String,
    fingerprint_digest: String,
    #[serde(borrow)]
    state: Cow<'a, str>,
    attempt: u32,
    contested: bool,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
