//! The shell script, whole and word for word, with stubs around it.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::PathBuf;

use rusqlite::{Connection, TransactionBehavior};

use crate::block::{Block, named};
use crate::shop::{Said, Shop, quoted, real_binary, said};

const IDIOM: &str = "line=$(receipt-ledger reserve --key \"$key\" --payload-json \"orders/$order.json\" --lease 10m) || exit\n  eval \"$line\"\n";
const CHARGE_41: &str = "charge --idempotency-key charge:v1:order-41 orders/41.json\n";
const CHARGE_42: &str = "charge --idempotency-key charge:v1:order-42 orders/42.json\n";
const SETTLED: &str = "state=succeeded attempt=1\n";

fn shop_with(block: &Block) -> Shop {
    let shop = Shop::with_ledger();
    shop.script("charge-orders", &block.text);
    shop
}

fn charge(shop: &Shop, orders: &[&str]) -> Said {
    said(
        shop.command("charge-orders")
            .args(orders)
            .env("RECEIPT_LEDGER_DB", "receipts.db"),
    )
}

fn says(stdout: &str, stderr: &str, code: i32) -> Said {
    Said {
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        code,
    }
}

pub(crate) fn an_order_is_charged_once(block: &Block) {
    let shop = shop_with(block);
    assert_eq!(
        charge(&shop, &["41", "42"]),
        says(&SETTLED.repeat(2), "", 0)
    );
    assert_eq!(charge(&shop, &["41", "42"]), says("", "", 0));
    assert_eq!(shop.effects(), format!("{CHARGE_41}{CHARGE_42}"));
    let shown = shop
        .sh("receipt-ledger --db receipts.db show --key charge:v1:order-41")
        .stdout;
    assert!(
        shown.ends_with("result='{\"charge\":\"ch_9\"}'\n"),
        "{shown}"
    );
}

#[test]
fn a_declined_card_is_failed_and_any_other_exit_is_unknown() {
    for (code, state, decision) in [
        ("9", "failed", "SKIP_FAILED"),
        ("28", "unknown", "SKIP_UNKNOWN"),
    ] {
        let shop = shop_with(&named("charge-orders"));
        shop.write("exit-of-charge", code);
        assert_eq!(
            charge(&shop, &["41"]),
            says(&format!("state={state} attempt=1\n"), "", 0)
        );
        shop.write("exit-of-charge", "0");
        assert_eq!(
            charge(&shop, &["41"]),
            says("", &format!("order 41: {decision}\n"), 0)
        );
        assert_eq!(shop.effects(), CHARGE_41);
    }
}

#[test]
fn an_order_with_another_amount_is_not_charged() {
    let shop = shop_with(&named("charge-orders"));
    assert_eq!(charge(&shop, &["41"]), says(SETTLED, "", 0));
    shop.write("orders/41.json", "{\"order\": 41, \"amount\": 900}");
    assert_eq!(charge(&shop, &["41"]), says("", "", 3));
    assert_eq!(shop.effects(), CHARGE_41);
}

#[test]
fn a_success_that_cannot_be_recorded_stops_the_script_and_is_not_charged_again() {
    let shop = shop_with(&named("charge-orders"));
    shop.program("charge", "echo 'not JSON'");
    let told = charge(&shop, &["41", "42"]);
    assert_eq!((told.stdout.as_str(), told.code), ("", 2));
    assert!(
        told.stderr
            .starts_with("error[invalid-input]: --result-json: "),
        "{}",
        told.stderr
    );
    assert_eq!(
        charge(&shop, &["41"]),
        says("", "order 41: SKIP_IN_FLIGHT\n", 0)
    );
    assert_eq!(shop.effects(), CHARGE_41);
}

#[test]
fn a_decision_does_not_leak_into_the_round_of_a_key_that_was_refused_as_busy() {
    let shop = shop_with(&named("charge-orders"));
    let told = charge_while_the_second_is_locked(&shop);
    let ledger = shop.path("receipts.db");
    let busy = format!(
        "cannot write to {}: it was locked by others for 50 ms",
        ledger.display()
    );
    let stderr =
        format!("error[busy]: {busy}\nhint: try again, or wait longer with --busy-timeout\n");
    assert_eq!(told, says(SETTLED, &stderr, 2));
    assert_eq!(shop.effects(), CHARGE_41);
}

/// What the test above would not notice if the script could not leak at all.
#[test]
fn with_a_bare_eval_the_decision_would_leak() {
    let block = named("charge-orders");
    assert!(block.text.contains(IDIOM), "the idiom has other words now");
    let bare = IDIOM
        .replace("line=$(", "eval \"$(")
        .replace(") || exit\n  eval \"$line\"", ")\"");
    let shop = shop_with(&Block {
        text: block.text.replace(IDIOM, &bare),
        ..block
    });
    charge_while_the_second_is_locked(&shop);
    assert_eq!(shop.effects(), format!("{CHARGE_41}{CHARGE_42}"));
}

/// Charges orders 41 and 42; exactly while the second key is asked for, another connection holds the write lock.
fn charge_while_the_second_is_locked(shop: &Shop) -> Said {
    for pipe in ["lock", "locked", "unlock", "unlocked"] {
        assert_eq!(shop.sh(&format!("mkfifo {pipe}")).code, 0);
    }
    let real = quoted(real_binary());
    shop.script(
        "receipt-ledger",
        &format!(
            "#!/bin/sh
             case \"$*\" in 'reserve --key charge:v1:order-42 '*)
               echo asked >asked; echo >lock; read -r go <locked
               {real} \"$@\"; code=$?
               echo >unlock; read -r go <unlocked
               exit $code ;;
             esac
             exec {real} \"$@\"\n"
        ),
    );
    let mut ledger = Connection::open(shop.path("receipts.db")).unwrap();
    let pipes = ["lock", "locked", "unlock", "unlocked"].map(|pipe| shop.path(pipe));
    let rival = std::thread::spawn(move || {
        let [lock, locked, unlock, unlocked] = pipes;
        wait_for(lock);
        let held = ledger
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        tell(locked);
        wait_for(unlock);
        held.rollback().unwrap();
        tell(unlocked);
    });
    let mut script = shop.command("charge-orders");
    script
        .args(["41", "42"])
        .env("RECEIPT_LEDGER_DB", "receipts.db")
        .env("RECEIPT_LEDGER_BUSY_TIMEOUT", "50ms");
    let told = said(&mut script);
    assert_eq!(shop.read("asked"), "asked\n", "{told:?}");
    rival.join().unwrap();
    told
}

fn wait_for(pipe: PathBuf) {
    let mut word = String::new();
    OpenOptions::new()
        .read(true)
        .open(pipe)
        .unwrap()
        .read_to_string(&mut word)
        .unwrap();
}

fn tell(pipe: PathBuf) {
    OpenOptions::new()
        .write(true)
        .open(pipe)
        .unwrap()
        .write_all(b"go\n")
        .unwrap();
}
