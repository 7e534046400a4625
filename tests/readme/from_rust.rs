//! The Rust example: the README's block is the file that is compiled here, word for word.

use crate::block::Block;
use crate::shop::Shop;

const TEXT: &str = include_str!("charge_once.rs");

include!("charge_once.rs");

pub(crate) fn the_block_is_the_code_that_is_tested(block: &Block) {
    assert_eq!(block.text, TEXT);
    let shop = Shop::new();
    let options = receipt_ledger::store::sqlite::OpenOptions::new(shop.path("receipts.db"));
    let mut ledger = Ledger::new(SqliteStore::open(options).unwrap());
    let charged = std::cell::RefCell::new(Vec::new());
    let mut ask = |order: &str, payload: &str, answer: std::io::Result<Vec<u8>>| {
        let charge = |key: &Key| {
            charged.borrow_mut().push(key.to_string());
            answer
        };
        charge_once(&mut ledger, order, payload.as_bytes(), charge).unwrap()
    };
    let receipt = || Ok(b"{\"charge\": \"ch_9\"}".to_vec());
    let timeout = || Err(std::io::Error::from(std::io::ErrorKind::TimedOut));
    assert_eq!(ask("42", "{\"amount\": 10}", receipt()), Decision::Execute);
    assert_eq!(
        ask("42", "{\"amount\": 10.0}", receipt()),
        Decision::SkipSucceeded
    );
    assert_eq!(
        ask("42", "{\"amount\": 900}", receipt()),
        Decision::Conflict
    );
    assert_eq!(ask("43", "{\"amount\": 10}", timeout()), Decision::Execute);
    assert_eq!(
        ask("43", "{\"amount\": 10}", receipt()),
        Decision::SkipUnknown
    );
    assert_eq!(
        *charged.borrow(),
        ["charge:v1:order-42", "charge:v1:order-43"]
    );
}
