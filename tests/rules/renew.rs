//! Contract §5: `renew`.

use receipt_ledger::decide::{Refusal, Renew, SettleAnswer, renew};
use receipt_ledger::receipt::{Entry, EventKind, State};

use crate::cast::*;
use crate::contract::RENEW;
use crate::table::rows;

#[test]
fn every_cell_of_the_table_runs_the_lease_again_or_refuses() {
    for row in &rows(RENEW)[1..] {
        let (name, expected) = (row[0], row[1]);
        for attempt in [1, 2] {
            for lease_ms in [1, MINUTE, i64::MAX] {
                let existing = before(name, attempt);
                let request = Renew {
                    key: key(),
                    attempt,
                    owner: None,
                    lease_ms,
                };
                let (answer, change) = renew(existing.as_ref(), &request, at(NOW));
                let case = format!("{name} / attempt {attempt} / {lease_ms} ms");
                match expected {
                    "not-found" => assert_eq!(answer, SettleAnswer::Refused(Refusal::NotFound)),
                    "invalid" => {
                        let SettleAnswer::Refused(Refusal::InvalidTransition { state, .. }) =
                            answer
                        else {
                            panic!("{case}: {answer:?}")
                        };
                        assert_eq!(state, told(name), "{case}");
                        assert!(change.is_none(), "{case}");
                    }
                    _ => {
                        let state = State::Reserved;
                        assert_eq!(answer, SettleAnswer::Settled { state, attempt }, "{case}");
                        let Some(Entry::Whole(mut renewed)) = existing else {
                            unreachable!()
                        };
                        renewed.updated_at = at(NOW);
                        renewed.lease_expires_at = Some(at(NOW).plus_ms(lease_ms));
                        assert_eq!(whole(&change), &*renewed, "{case}");
                        let kinds: Vec<EventKind> =
                            change.events.iter().map(|event| event.kind).collect();
                        let rows: &[EventKind] = if expected == "back" {
                            &[EventKind::Renewed]
                        } else {
                            &[]
                        };
                        assert_eq!(kinds, rows, "{case}");
                    }
                }
            }
        }
    }
}
