//! Completions and manual pages, installed for one user.

use crate::block::Block;
use crate::shop::{Said, Shop, said};

pub(crate) fn completions_and_manual_pages_lie_where_they_are_looked_for(block: &Block) {
    let shop = Shop::new();
    let mut install = shop.command("sh");
    let silent = Said {
        stdout: String::new(),
        stderr: String::new(),
        code: 0,
    };
    let told = said(
        install
            .args(["-ec", &block.text])
            .env("HOME", shop.path("")),
    );
    assert_eq!(told, silent);
    let completions = shop.read(".local/share/bash-completion/completions/receipt-ledger");
    assert!(completions.contains("complete -F"), "{completions}");
    for (page, title) in [
        ("receipt-ledger.1", ".TH receipt-ledger 1"),
        ("receipt-ledger-run.1", ".TH receipt-ledger-run 1"),
    ] {
        let text = shop.read(&format!(".local/share/man/man1/{page}"));
        assert!(text.contains(title), "{page}: {text}");
    }
}
