//! `drain` from cron, and `batch` as a co-process of Python and of bash.

use std::process::Command;

use crate::block::Block;
use crate::cron_and_ci::cron;
use crate::shop::{Said, Shop, said};

/// `send-mail` keeps what it was given; it exits with what `exit-of-send-mail` says.
fn with_mail() -> Shop {
    let shop = Shop::with_ledger();
    shop.program(
        "send-mail",
        "code=$(cat \"$shop/exit-of-send-mail\" 2>/dev/null || echo 0)
         [ \"$code\" != 0 ] || cat >>\"$shop/mailed\"
         exit \"$code\"",
    );
    shop
}

fn silent(code: i32) -> Said {
    Said {
        stdout: String::new(),
        stderr: String::new(),
        code,
    }
}

pub(crate) fn what_is_recorded_is_mailed_once_by_cron_and_what_was_not_sent_is_tried_again(
    block: &Block,
) {
    let shop = with_mail();
    for order in ["41", "42"] {
        shop.write("mail.txt", &format!("order {order}\n"));
        let record = format!(
            "receipt-ledger --db receipts.db record --key mail:v1:order-{order} --payload-file mail.txt --keep-payload"
        );
        assert_eq!(shop.sh(&record).code, 0);
    }
    shop.sh("receipt-ledger --db receipts.db record --key charge:v1:order-42 --fingerprint v1");
    shop.write("exit-of-send-mail", "75");
    assert_eq!(cron(&shop, block), silent(75));
    assert_eq!(shop.effects(), "send-mail \n".repeat(2));
    shop.write("exit-of-send-mail", "0");
    assert_eq!(cron(&shop, block), silent(0));
    assert_eq!(cron(&shop, block), silent(0));
    assert_eq!(shop.effects(), "send-mail \n".repeat(4));
    assert_eq!(shop.read("mailed"), "order 41\norder 42\n");
    let charge = shop.sh("receipt-ledger --db receipts.db show --key charge:v1:order-42");
    assert!(charge.stdout.starts_with("state=recorded "), "{charge:?}");

    let shop = with_mail();
    std::fs::remove_file(shop.path("receipts.db")).unwrap();
    for left in ["receipts.db-wal", "receipts.db-shm"] {
        let _ = std::fs::remove_file(shop.path(left));
    }
    let refused = cron(&shop, block);
    assert!(
        refused.stderr.starts_with("error[no-ledger]: "),
        "{refused:?}"
    );
}

fn run(shop: &Shop, mut command: Command, orders: &[&str]) -> Said {
    let said = said(command.args(orders));
    assert!(!shop.path("receipts.db-journal").exists());
    said
}

pub(crate) fn a_python_program_that_asks_line_by_line_charges_each_order_once(block: &Block) {
    let shop = Shop::with_ledger();
    shop.write("charge.py", &block.text);
    let charge = |orders: &[&str]| {
        let mut python = shop.command("python3");
        python.arg("charge.py");
        run(&shop, python, orders)
    };
    assert_eq!(charge(&["41", "42"]), silent(0));
    let again = charge(&["41", "42"]);
    let told = "order 41: SKIP_SUCCEEDED\norder 42: SKIP_SUCCEEDED\n";
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str(), again.code),
        (told, "", 0)
    );
    assert_eq!(shop.effects().lines().count(), 2);
    let shown = shop
        .sh("receipt-ledger --db receipts.db show --key charge:v1:order-41")
        .stdout;
    assert!(
        shown.ends_with("result='{\"charge\":\"ch_9\"}'\n"),
        "{shown}"
    );

    shop.write("orders/41.json", "{\"order\": 41, \"amount\": 900}");
    let conflict = charge(&["41"]);
    assert_eq!(
        (conflict.stdout.as_str(), conflict.code),
        ("order 41: CONFLICT\n", 3)
    );
    shop.write("exit-of-charge", "9");
    assert_eq!(charge(&["43"]).code, 0);
    assert_eq!(charge(&["43"]).stdout, "order 43: SKIP_UNKNOWN\n");
    assert_eq!(charge(&["a b"]).code, 1, "there is no such order");
}

pub(crate) fn a_bash_script_that_asks_line_by_line_mails_each_order_once(block: &Block) {
    let shop = with_mail();
    shop.write("mail.sh", &block.text);
    let mail = |orders: &[&str]| {
        let mut bash = shop.command("bash");
        bash.arg("mail.sh");
        run(&shop, bash, orders)
    };
    assert_eq!(mail(&["41", "42"]), silent(0));
    assert_eq!(mail(&["41", "42"]), silent(0));
    assert_eq!(shop.effects(), "send-mail 41\nsend-mail 42\n");
    shop.write("exit-of-send-mail", "1");
    assert_eq!(mail(&["43"]), silent(0));
    let unknown = mail(&["43", "no order"]);
    assert_eq!((unknown.stdout.as_str(), unknown.code), ("", 0));
    assert!(
        unknown
            .stderr
            .starts_with("order 43: {\"key\":\"mail:v1:order-43\",\"decision\":\"SKIP_UNKNOWN\""),
        "{unknown:?}"
    );
    assert!(
        unknown
            .stderr
            .contains("order no order: {\"error\":{\"code\":\"invalid-input\""),
        "{unknown:?}"
    );
    assert_eq!(shop.effects().lines().count(), 3);
}
