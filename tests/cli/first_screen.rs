//! The session a newcomer sees first.

use super::support::Scratch;

#[test]
fn one_caller_executes_and_the_next_one_skips() {
    let ledger = Scratch::new();
    ledger.says(
        "reserve --key order:42 --fingerprint send-v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says(
        r#"succeed --key order:42 --result-json {"delivery_id":"d_42"}"#,
        "state=succeeded attempt=1\n",
    );
    ledger.says(
        "reserve --key order:42 --fingerprint send-v1",
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
    ledger.conflicts(
        "reserve --key order:42 --fingerprint send-v2",
        "decision=CONFLICT state=succeeded attempt=1\n",
    );
}
