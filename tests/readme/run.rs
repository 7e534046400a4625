//! `run` from cron, from CI and in a shell script.

use crate::block::Block;
use crate::cron_and_ci::{cron, job};
use crate::shop::{Said, Shop, said};

fn says(stdout: &str, stderr: &str, code: i32) -> Said {
    Said {
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        code,
    }
}

/// Expects no answer because nobody has created the ledger, and nothing performed.
fn is_refused_without_a_ledger(said: &Said, shop: &Shop) {
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    let start = "error[no-ledger]: ";
    assert!(said.stderr.starts_with(start), "{}", said.stderr);
    assert_eq!(shop.effects(), "");
}

pub(crate) fn a_report_is_sent_once_a_day_and_cron_is_told_nothing_but_what_matters(block: &Block) {
    let shop = Shop::new();
    is_refused_without_a_ledger(&cron(&shop, block), &shop);

    // The key holds the day: should midnight fall into this test, it begins again.
    let today = |shop: &Shop| shop.sh("date +%F").stdout;
    loop {
        let shop = Shop::with_ledger();
        let day = today(&shop);
        shop.write("exit-of-send-report", "69");
        let nothing_sent = [cron(&shop, block), cron(&shop, block)];
        shop.write("exit-of-send-report", "0");
        let sent = cron(&shop, block);
        let done = [cron(&shop, block), cron(&shop, block)];
        if today(&shop) != day {
            continue;
        }
        assert_eq!(nothing_sent, [says("", "", 69), says("", "", 69)]);
        assert_eq!(sent, says("report sent\n", "", 0));
        assert_eq!(done, [says("", "", 0), says("", "", 0)]);
        assert_eq!(shop.effects(), "send-report \n".repeat(3));
        break;
    }
    loop {
        let shop = Shop::with_ledger();
        let day = today(&shop);
        shop.write("exit-of-send-report", "1");
        let all = [cron(&shop, block), cron(&shop, block)];
        if today(&shop) != day {
            continue;
        }
        let skipped = "decision=SKIP_UNKNOWN state=unknown attempt=1\n";
        assert_eq!(all, [says("", "", 1), says("", skipped, 75)]);
        assert_eq!(shop.effects(), "send-report \n");
        break;
    }
}

pub(crate) fn a_job_that_is_run_again_deploys_once_and_ends_as_the_first_did(block: &Block) {
    let shop = Shop::new();
    is_refused_without_a_ledger(&job(&shop, block, "c0ffee"), &shop);

    let shop = Shop::with_ledger();
    let executes = "decision=EXECUTE state=reserved attempt=1\n";
    let succeeded = "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n";
    let unknown = "decision=SKIP_UNKNOWN state=unknown attempt=1\n";
    assert_eq!(job(&shop, block, "c0ffee"), says("", executes, 0));
    assert_eq!(job(&shop, block, "c0ffee"), says("", succeeded, 0));
    shop.write("exit-of-deploy", "1");
    assert_eq!(job(&shop, block, "decade"), says("", executes, 1));
    shop.write("exit-of-deploy", "0");
    assert_eq!(job(&shop, block, "decade"), says("", unknown, 75));
    assert_eq!(shop.effects(), "deploy production\n".repeat(2));
}

pub(crate) fn the_order_is_the_same_one_every_time(block: &Block) {
    let shop = Shop::with_ledger();
    shop.write("cart-7.json", "{\"items\": [1, 2]}");
    let order = || {
        let mut shell = shop.command("sh");
        shell.args(["-c", &block.text]).env("cart", "cart-7");
        said(shell.env("RECEIPT_LEDGER_DB", "receipts.db"))
    };
    let first = order();
    assert_eq!((first.stderr.as_str(), first.code), ("", 0));
    assert!(first.stdout.starts_with("the order is ord_"), "{first:?}");
    assert_eq!(order(), first);
    assert_eq!(shop.effects(), "create-order cart-7.json\n");

    shop.write("cart-7.json", "{\"items\": [1, 2, 3]}");
    let conflict = "decision=CONFLICT state=succeeded attempt=1\n";
    assert_eq!(order(), says("", conflict, 3));
    assert_eq!(shop.effects(), "create-order cart-7.json\n");
}
