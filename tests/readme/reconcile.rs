//! The nightly comparison, and the table of what its categories mean.

use receipt_ledger::reconcile::Category;

use crate::block::{Block, README};
use crate::shop::Shop;

const DAY: &str = "charges.csv 2020-01-01T00:00:00Z 2020-01-02T00:00:00Z .";

pub(crate) fn drift_is_mailed_and_its_age_is_left_for_prometheus(block: &Block) {
    let shop = Shop::with_ledger();
    shop.script("reconcile-charges", &block.text);
    let sh = |text: &str| shop.sh(&format!("export RECEIPT_LEDGER_DB=receipts.db; {text}"));
    let night = || sh(&format!("reconcile-charges {DAY}"));
    sh(
        "receipt-ledger reserve --key charge:v1:order-41 --fingerprint v1; receipt-ledger unknown --key charge:v1:order-41",
    );

    // Reserved today, it does not lie in the day that is compared.
    let quiet = night();
    assert_eq!((quiet.stdout.as_str(), quiet.code), ("", 0));
    assert!(
        quiet.stderr.starts_with("note: 1 receipts outside"),
        "{}",
        quiet.stderr
    );
    let none = "receipt_ledger_drift 0\nreceipt_ledger_oldest_unreconciled_age_seconds 0\n";
    assert_eq!(shop.read("reconcile.prom"), none);

    shop.write(
        "charges.csv",
        "id,status,idempotency_key\nch_1,succeeded,stray\n",
    );
    let drift = night();
    assert_eq!((drift.stderr.as_str(), drift.code), ("", 3));
    assert!(
        drift.stdout.starts_with("drift=unrecorded key=stray "),
        "{}",
        drift.stdout
    );
    assert!(
        shop.read("reconcile.prom")
            .starts_with("receipt_ledger_drift 1\n")
    );

    // The figures of the last comparison stay, and cron mails why there are no new ones.
    shop.write("charges.csv", "");
    let broken = night();
    assert_eq!((broken.stdout.as_str(), broken.code), ("", 2));
    assert!(
        broken
            .stderr
            .starts_with("error[invalid-input]: --provider charges.csv: ")
    );
    assert!(
        shop.read("reconcile.prom")
            .starts_with("receipt_ledger_drift 1\n")
    );
}

#[test]
fn every_category_of_drift_has_its_row() {
    let (_, section) = README.split_once("| drift | the provider |").unwrap();
    let rows = section
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut listed: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let mut all: Vec<&str> = Category::ALL
        .iter()
        .map(|category| category.as_str())
        .collect();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);
}
