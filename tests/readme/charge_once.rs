use receipt_ledger::Ledger;
use receipt_ledger::decide::{Decision, Reserve, Settle, SettleAnswer, Settlement};
use receipt_ledger::fingerprint;
use receipt_ledger::receipt::{Key, ResultJson, Text};
use receipt_ledger::store::sqlite::SqliteStore;

/// Charges an order unless that was done, or may have been done, before.
fn charge_once(
    ledger: &mut Ledger<SqliteStore>,
    order: &str,
    payload: &[u8],
    charge: impl FnOnce(&Key) -> std::io::Result<Vec<u8>>,
) -> Result<Decision, Box<dyn std::error::Error>> {
    let key = Key::parse(format!("charge:v1:order-{order}"))?;
    let request = Reserve {
        lease_ms: Some(600_000),
        ..Reserve::new(key.clone(), fingerprint::of_json(payload)?)
    };
    let answer = ledger.reserve(&request)?;
    if answer.decision.performs() {
        let settlement = match charge(&key) {
            Ok(json) => Settlement::Succeeded {
                result: ResultJson::parse(&json).ok(),
            },
            Err(error) => Settlement::Unknown {
                reason: Text::parse(&error.to_string()).ok(),
            },
        };
        let told = ledger.settle(&Settle {
            key,
            attempt: Some(answer.attempt),
            owner: None,
            settlement,
        })?;
        if let SettleAnswer::Refused(refusal) = told {
            return Err(format!("the outcome was not taken: {refusal:?}").into());
        }
    }
    Ok(answer.decision)
}
