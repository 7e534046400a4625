//! The contract's tables, written out: what is asked of the rules is asked of the binary again.
#![allow(dead_code)]

/// §4: `reserve`. `allow` is --allow-failed-retry; `younger`, `exactly`, `older` say how the first attempt's age compares with the
/// duration of --retry-unknown-within; `max` is --max-attempts at the current attempt, `max+1` one above it.
pub(crate) const RESERVE: &str = "
| before                        | plain          | allow          | younger        | exactly        | older          | allow younger  | allow max      | younger max    | allow younger max | allow max+1    | younger max+1  |
| nothing                       | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE           | EXECUTE        | EXECUTE        |
| recorded                      | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE        | EXECUTE           | EXECUTE        | EXECUTE        |
| reserved, no lease            | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT    | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT |
| reserved, lease running       | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT    | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT |
| reserved, lease run out       | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | SKIP_UNKNOWN      | SKIP_UNKNOWN   | RETRY          |
| reserved, no lease, late      | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT    | SKIP_IN_FLIGHT | SKIP_IN_FLIGHT |
| reserved, lease run out, late | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | SKIP_UNKNOWN      | SKIP_UNKNOWN   | RETRY          |
| unknown                       | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | SKIP_UNKNOWN      | SKIP_UNKNOWN   | RETRY          |
| unknown, late                 | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | RETRY          | SKIP_UNKNOWN   | SKIP_UNKNOWN   | SKIP_UNKNOWN      | SKIP_UNKNOWN   | RETRY          |
| succeeded                     | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED    | SKIP_SUCCEEDED | SKIP_SUCCEEDED |
| succeeded, result             | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED    | SKIP_SUCCEEDED | SKIP_SUCCEEDED |
| succeeded, late               | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED    | SKIP_SUCCEEDED | SKIP_SUCCEEDED |
| failed                        | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | RETRY          | SKIP_FAILED    |
| failed, late                  | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | SKIP_FAILED    | SKIP_FAILED    |
| failed, reconciled            | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | RETRY          | SKIP_FAILED    |
| failed, reconciled, late      | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | RETRY          | SKIP_FAILED    |
| pruned succeeded              | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED | SKIP_SUCCEEDED    | SKIP_SUCCEEDED | SKIP_SUCCEEDED |
| pruned failed                 | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | RETRY          | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | RETRY          | SKIP_FAILED    |
| pruned failed, late           | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED    | SKIP_FAILED       | SKIP_FAILED    | SKIP_FAILED    |
";

/// §5: `succeed`, `fail`, `unknown` of the current attempt. A cell is the state after a change; `same` where saying it again changes nothing; `invalid` for
/// `invalid-transition`; `invalid, marked` where the refused success is kept as evidence.
pub(crate) const SETTLE: &str = "
| before                        | succeed         | succeed same result | succeed other result | fail      | unknown   |
| nothing                       | not-found       | not-found           | not-found            | not-found | not-found |
| recorded                      | invalid         | invalid             | invalid              | invalid   | invalid   |
| reserved, no lease            | succeeded       | succeeded           | succeeded            | failed    | unknown   |
| reserved, lease running       | succeeded       | succeeded           | succeeded            | failed    | unknown   |
| reserved, lease run out       | succeeded       | succeeded           | succeeded            | failed    | unknown   |
| reserved, no lease, late      | succeeded       | succeeded           | succeeded            | unknown   | unknown   |
| reserved, lease run out, late | succeeded       | succeeded           | succeeded            | unknown   | unknown   |
| unknown                       | succeeded       | succeeded           | succeeded            | invalid   | same      |
| unknown, late                 | succeeded       | succeeded           | succeeded            | same      | same      |
| succeeded                     | same            | invalid             | invalid              | invalid   | invalid   |
| succeeded, result             | same            | same                | invalid              | invalid   | invalid   |
| succeeded, late               | same            | invalid             | invalid              | invalid   | invalid   |
| failed                        | invalid, marked | invalid, marked     | invalid, marked      | same      | invalid   |
| failed, late                  | invalid, marked | invalid, marked     | invalid, marked      | same      | invalid   |
| failed, reconciled            | invalid, marked | invalid, marked     | invalid, marked      | same      | invalid   |
| failed, reconciled, late      | invalid, marked | invalid, marked     | invalid, marked      | same      | invalid   |
| pruned succeeded              | same            | invalid             | invalid              | invalid   | invalid   |
| pruned failed                 | invalid, marked | invalid, marked     | invalid, marked      | same      | invalid   |
| pruned failed, late           | invalid         | invalid             | invalid              | same      | invalid   |
";

/// §5: `renew`. `renewed`: the lease runs from now; `back`: so it does, and the history tells that it came back from unknown.
pub(crate) const RENEW: &str = "
| before                        | renew     |
| nothing                       | not-found |
| reserved, no lease            | renewed   |
| reserved, lease running       | renewed   |
| reserved, lease run out       | back      |
| reserved, no lease, late      | renewed   |
| reserved, lease run out, late | back      |
| unknown                       | invalid   |
| unknown, late                 | invalid   |
| succeeded                     | invalid   |
| succeeded, result             | invalid   |
| succeeded, late               | invalid   |
| failed                        | invalid   |
| failed, late                  | invalid   |
| failed, reconciled            | invalid   |
| failed, reconciled, late      | invalid   |
| pruned succeeded              | invalid   |
| pruned failed                 | invalid   |
| pruned failed, late           | invalid   |
";

/// §5: `resolve`, with the fingerprint. A cell is the state after a change (always settled by reconciliation), `same` where it stands already.
pub(crate) const RESOLVE: &str = "
| before                        | succeeded | succeeded same result | succeeded other result | failed    |
| nothing                       | succeeded | succeeded             | succeeded              | not-found |
| recorded                      | succeeded | succeeded             | succeeded              | failed    |
| reserved, no lease            | invalid   | invalid               | invalid                | invalid   |
| reserved, lease running       | invalid   | invalid               | invalid                | invalid   |
| reserved, lease run out       | succeeded | succeeded             | succeeded              | failed    |
| reserved, no lease, late      | invalid   | invalid               | invalid                | invalid   |
| reserved, lease run out, late | succeeded | succeeded             | succeeded              | failed    |
| unknown                       | succeeded | succeeded             | succeeded              | failed    |
| unknown, late                 | succeeded | succeeded             | succeeded              | failed    |
| succeeded                     | same      | invalid               | invalid                | invalid   |
| succeeded, result             | same      | same                  | invalid                | invalid   |
| succeeded, late               | same      | invalid               | invalid                | invalid   |
| failed                        | succeeded | succeeded             | succeeded              | same      |
| failed, late                  | succeeded | succeeded             | succeeded              | failed    |
| failed, reconciled            | succeeded | succeeded             | succeeded              | same      |
| failed, reconciled, late      | succeeded | succeeded             | succeeded              | same      |
| pruned succeeded              | same      | invalid               | invalid                | invalid   |
| pruned failed                 | succeeded | succeeded             | succeeded              | same      |
| pruned failed, late           | succeeded | succeeded             | succeeded              | answered  |
";

/// §5.1: attempt and owner. The receipt is at attempt 2. `go`: the state decides; `-`: cannot be said.
pub(crate) const FENCING: &str = "
| attempt | owner | succeed       | fail          | unknown       | renew         | resolve succeeded | resolve failed |
| none    | none  | go            | stale-attempt | go            | -             | go                | stale-attempt  |
| none    | right | go            | stale-attempt | go            | -             | go                | stale-attempt  |
| none    | wrong | not-owner     | not-owner     | not-owner     | -             | not-owner         | not-owner      |
| current | none  | go            | go            | go            | go            | go                | go             |
| current | right | go            | go            | go            | go            | go                | go             |
| current | wrong | not-owner     | not-owner     | not-owner     | not-owner     | not-owner         | not-owner      |
| older   | none  | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
| older   | right | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
| older   | wrong | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
| newer   | none  | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
| newer   | right | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
| newer   | wrong | stale-attempt | stale-attempt | stale-attempt | stale-attempt | stale-attempt     | stale-attempt  |
";
