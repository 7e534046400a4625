//! README.md's tables, each row asked of the binary.

use rusqlite::Connection;

use crate::block::README;
use crate::shop::Shop;

/// The rows of the table below a heading, or below a line of text, a cell each; code marks and escapes taken off.
fn rows(below: &str) -> Vec<Vec<String>> {
    let (_, text) = README
        .split_once(below)
        .unwrap_or_else(|| panic!("README.md lacks {below:?}"));
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let line = line.replace("\\|", "or").replace('`', "");
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    table.skip(2).map(cells).collect()
}

/// Runs shell text on a ledger of its own, in which `key` may be anything; what the last command said, and its code.
fn told(text: &str) -> (String, i32) {
    let shop = Shop::with_ledger();
    let said = shop.sh(&format!("export RECEIPT_LEDGER_DB=receipts.db\n{text}"));
    (
        said.stdout.lines().last().unwrap_or_default().to_owned(),
        said.code,
    )
}

const ASK: &str = "receipt-ledger reserve --key k --fingerprint f";
const FAILED: &str = "receipt-ledger reserve --key k --fingerprint f; receipt-ledger fail --key k";
const UNKNOWN: &str =
    "receipt-ledger reserve --key k --fingerprint f; receipt-ledger unknown --key k";

#[test]
fn every_row_of_the_decisions_is_what_reserve_says() {
    let mut decisions = Vec::new();
    for row in rows("## What reserve decides") {
        let [receipt, given, decision, then, exit] = &row[..] else {
            panic!("{row:?}")
        };
        let (before, state, attempt) = match receipt.as_str() {
            "not there, or recorded" => ("", "none", 0),
            "anything, with another fingerprint" => (
                "receipt-ledger reserve --key k --fingerprint g",
                "reserved",
                1,
            ),
            "reserved (somebody is performing it)" => (ASK, "reserved", 1),
            "succeeded" => (
                "receipt-ledger reserve --key k --fingerprint f; receipt-ledger succeed --key k",
                "succeeded",
                1,
            ),
            "failed" => (FAILED, "failed", 1),
            "unknown" | "unknown, first attempt younger than D" => (UNKNOWN, "unknown", 1),
            other => panic!("a receipt that is {other:?}"),
        };
        let (state, attempt) = match then.as_str() {
            "unchanged" => (state, attempt),
            "reserved, attempt 1" | "reserved, attempt +1" => ("reserved", attempt + 1),
            other => panic!("then {other:?}"),
        };
        let given = given.replace(" D", " 24h");
        let before = match receipt.as_str() {
            "not there, or recorded" => vec!["", "receipt-ledger record --key k --fingerprint f"],
            _ => vec![before],
        };
        let line = format!("decision={decision} state={state} attempt={attempt}");
        let code = exit.parse().unwrap();
        for before in before {
            let answer = told(&format!("{before}\n{ASK} {given}"));
            assert_eq!(answer, (line.clone(), code), "{row:?}");
        }
        decisions.push(decision.clone());
    }
    for decision in receipt_ledger::decide::Decision::ALL {
        assert!(
            decisions.iter().any(|listed| listed == decision.as_str()),
            "{decision:?} is not in the table"
        );
    }
}

#[test]
fn every_row_of_the_settling_calls_is_what_they_do() {
    for row in rows("## Saying what came of it") {
        let [call, _, then] = &row[..] else {
            panic!("{row:?}")
        };
        let before = if call.starts_with("resolve") {
            UNKNOWN
        } else {
            ASK
        };
        let state = match then.as_str() {
            "reserved, for D from now" | "unchanged" => "reserved",
            state => state,
        };
        let whole = call
            .replace(['[', ']'], "")
            .replace(" or --result-file P", "");
        let shortest = call.split(" [").next().unwrap_or(call);
        for call in [whole.as_str(), shortest] {
            let words = call.split(' ').map(|word| match word {
                "K" => "k",
                "N" => "1",
                "D" => "1h",
                "T" => "'it was seen'",
                "J" => "null",
                word => word,
            });
            let call = words.collect::<Vec<_>>().join(" ");
            let (line, code) = told(&format!(
                "{before}\nline=$(receipt-ledger {call}) || exit\necho \"$line\" | head -n 1"
            ));
            assert!(
                code == 0 && line.starts_with(&format!("state={state} attempt=1")),
                "{call}: {line}, {code}"
            );
        }
    }
}

#[test]
fn every_error_code_can_be_provoked_and_exits_as_it_says() {
    for row in rows("The codes are stable:") {
        let code = row[0].as_str();
        let shop = Shop::with_ledger();
        let ledger = Connection::open(shop.path("receipts.db")).unwrap();
        let version = |value: &str| {
            let sql = "UPDATE receipt_ledger_meta SET value = ?1 WHERE name = 'schema_version'";
            assert_eq!(ledger.execute(sql, [value]).unwrap(), 1);
        };
        let call = match code {
            "usage" => "reserve --key k".to_owned(),
            "invalid-input" => "reserve --key '' --fingerprint f".to_owned(),
            "not-found" => "show --key nobody".to_owned(),
            "invalid-transition" => "resolve --key k --as failed --evidence e".to_owned(),
            "stale-attempt" => "succeed --key k --attempt 7".to_owned(),
            "not-owner" => "succeed --key k --owner me".to_owned(),
            "busy" => {
                ledger.execute_batch("BEGIN IMMEDIATE").unwrap();
                "reserve --key new --fingerprint f --busy-timeout 10ms".to_owned()
            }
            "no-ledger" => "reserve --key k --fingerprint f --db other.db --no-create".to_owned(),
            "not-a-ledger" => "reserve --key k --fingerprint f --db orders/41.json".to_owned(),
            "refused-file" => {
                shop.write("empty.db", "");
                "reserve --key k --fingerprint f --db empty.db".to_owned()
            }
            "newer-ledger" | "retired" => "reserve --key k --fingerprint f".to_owned(),
            "restored-backup" => "reserve --key k --fingerprint f --db copy.db".to_owned(),
            "contradiction" => "import all.jsonl".to_owned(),
            "corrupt" => "reserve --key k --fingerprint f".to_owned(),
            "io" => "reserve --key k --fingerprint f --db no/such/folder.db".to_owned(),
            // macOS has no device that is always full.
            "output" if !std::path::Path::new("/dev/full").exists() => continue,
            "output" => "reserve --key new --fingerprint f >/dev/full".to_owned(),
            "no-output" => "run --key new --fingerprint f --quiet --capture -- true".to_owned(),
            "not-recorded" => "run --key new --fingerprint f --quiet -- rm receipts.db".to_owned(),
            other => panic!("no call is known that provokes {other}"),
        };
        let reserve =
            "export RECEIPT_LEDGER_DB=receipts.db; receipt-ledger reserve --key k --fingerprint f";
        if code != "busy" {
            assert_eq!(shop.sh(reserve).code, 0);
        }
        let uncaptured = "receipt-ledger --db receipts.db run --key new --fingerprint f -- true";
        let prepare = match code {
            "retired" => "export --retire",
            "restored-backup" => "backup --to copy.db",
            "contradiction" => "export >all.jsonl; receipt-ledger succeed --key k",
            _ => "stats",
        };
        if code != "busy" {
            let prepare = format!("export RECEIPT_LEDGER_DB=receipts.db; receipt-ledger {prepare}");
            assert_eq!(shop.sh(&prepare).code, 0);
        }
        match code {
            "no-output" => assert_eq!(shop.sh(uncaptured).code, 0),
            "newer-ledger" => version("99"),
            "corrupt" => version("none"),
            _ => {}
        }
        let said = shop.sh(&format!(
            "export RECEIPT_LEDGER_DB=receipts.db; receipt-ledger {call}"
        ));
        let exit = if code == "contradiction" { 3 } else { 2 };
        assert_eq!((said.stdout.as_str(), said.code), ("", exit), "{code}");
        assert!(
            said.stderr.starts_with(&format!("error[{code}]: ")),
            "{code}: {}",
            said.stderr
        );
    }
}
