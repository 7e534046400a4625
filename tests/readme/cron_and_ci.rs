//! The crontab and the CI step, their commands word for word.

use crate::block::{Block, named};
use crate::shop::{Said, Shop, said};

/// Runs the crontab's one job as cron does: `sh -c`, nothing in the environment but what the crontab sets.
pub(crate) fn cron(shop: &Shop, block: &Block) -> Said {
    let mut job = shop.command("sh");
    let path_of_test = std::env::var("PATH").unwrap();
    job.env_clear();
    let mut commands = Vec::new();
    for line in block.text.lines() {
        let line = shop.here(line);
        match line.split_once('=') {
            // The stubs stand where the shop's own programs would.
            Some(("PATH", value)) => {
                assert!(value.starts_with("/usr/local/bin:"), "{value}");
                job.env(
                    "PATH",
                    format!("{}:{path_of_test}", shop.path("bin").display()),
                );
            }
            Some((name, value)) if !name.contains(' ') => {
                job.env(name, value);
            }
            _ => {
                let fields: Vec<&str> = line.split_whitespace().collect();
                assert!(fields.len() > 5, "not a crontab line: {line}");
                let command = fields[5..].join(" ").replace("\\%", "\0");
                assert!(!command.contains('%'), "cron ends a command at a bare %");
                commands.push(command.replace('\0', "%"));
            }
        }
    }
    assert_eq!(commands.len(), 1);
    said(job.args(["-c", &commands[0]]))
}

pub(crate) fn a_crontab_performs_only_with_the_ledger_that_was_created_by_hand(block: &Block) {
    let shop = Shop::new();
    shop.script("charge-orders", &named("charge-orders").text);
    let refused = cron(&shop, block);
    assert_eq!((refused.stdout.as_str(), refused.code), ("", 2));
    assert!(
        refused.stderr.starts_with("error[no-ledger]: "),
        "{}",
        refused.stderr
    );
    assert_eq!(shop.effects(), "");
    assert!(!shop.path("receipts.db").exists());

    assert_eq!(shop.sh("receipt-ledger --db receipts.db init").code, 0);
    let settled = "state=succeeded attempt=1\n".repeat(2);
    assert_eq!(
        cron(&shop, block),
        Said {
            stdout: settled,
            stderr: String::new(),
            code: 0
        }
    );
    let silent = Said {
        stdout: String::new(),
        stderr: String::new(),
        code: 0,
    };
    assert_eq!(cron(&shop, block), silent);
    assert_eq!(shop.effects().lines().count(), 2);
}

/// Runs the step as a runner does: `bash -e` on its text, with its environment.
pub(crate) fn job(shop: &Shop, block: &Block, commit: &str) -> Said {
    let (head, script) = block.text.split_once("  run: |\n").unwrap();
    let script: String = script
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap()))
        .collect();
    let (_, variables) = head.split_once("  env:\n").unwrap();
    let mut step = shop.command("bash");
    step.args(["-e", "-c", &script]).env("GITHUB_SHA", commit);
    for line in variables.lines() {
        let (name, value) = line.trim().split_once(": ").unwrap();
        step.env(name, shop.here(value.trim_matches('"')));
    }
    said(&mut step)
}

pub(crate) fn a_job_that_is_run_again_does_not_deploy_twice(block: &Block) {
    let shop = Shop::new();
    let refused = job(&shop, block, "c0ffee");
    assert_eq!((refused.stdout.as_str(), refused.code), ("", 2));
    assert_eq!(shop.effects(), "");

    let shop = Shop::with_ledger();
    let told = |commit: &str| {
        let Said {
            stdout,
            stderr,
            code,
        } = job(&shop, block, commit);
        assert_eq!(stderr, "");
        (stdout, code)
    };
    assert_eq!(
        told("c0ffee"),
        ("state=succeeded attempt=1\n".to_owned(), 0)
    );
    assert_eq!(told("c0ffee"), ("already deployed\n".to_owned(), 0));
    shop.write("exit-of-deploy", "1");
    assert_eq!(told("decade"), ("state=unknown attempt=1\n".to_owned(), 1));
    shop.write("exit-of-deploy", "0");
    assert_eq!(
        told("decade"),
        ("not deployed: SKIP_UNKNOWN\n".to_owned(), 1)
    );
    assert_eq!(shop.effects(), "deploy production\ndeploy production\n");
}
