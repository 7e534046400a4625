//! README's examples that need a server, word for word but for the place of the database.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::block::named;
use super::cluster::shared;
use super::support::{Said, Scratch, binary, said};

/// Runs a command line in the scratch folder, the binary and these programs on its PATH.
fn shell(ledger: &Scratch, line: &str, variables: &[(&str, String)]) -> Said {
    let program = binary().get_program().to_owned();
    let programs = std::path::Path::new(&program).parent().unwrap().to_owned();
    let path = format!(
        "{}:{}:{}",
        ledger.path("bin").display(),
        programs.display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(ledger.path(""));
    command.env("PATH", path).env_remove("RECEIPT_LEDGER_DB");
    command.envs(variables.iter().map(|(name, value)| (*name, value)));
    said(&command.output().unwrap())
}

fn effect(ledger: &Scratch, name: &str) {
    let bin = ledger.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(name), "#!/bin/sh\necho done >> effects\n").unwrap();
    fs::set_permissions(bin.join(name), Permissions::from_mode(0o755)).unwrap();
}

fn effects(ledger: &Scratch) -> usize {
    fs::read_to_string(ledger.path("effects"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// The database of the example, here.
fn here(ledger: &Scratch, text: &str) -> String {
    let own = shared().tcp_url("postgres", &ledger.database);
    text.replace("postgresql://admin@db.example/shop", &own)
        .replace(
            "postgresql://shop@db.example/shop?sslmode=verify-full",
            &own,
        )
}

#[test]
fn a_ledger_is_created_and_moved_as_readme_has_it() {
    let ledger = Scratch::new();
    let init = here(&ledger, &named("ledger-on-a-server").text);
    assert_eq!(shell(&ledger, &init, &[]).stdout, "created=true\n");
    let ledger = Scratch::new();
    let file = "receipt-ledger --db receipts.db reserve --key k --fingerprint f";
    assert_eq!(shell(&ledger, file, &[]).code, 0);
    let moved = shell(
        &ledger,
        &here(&ledger, &named("move-to-postgresql").text),
        &[],
    );
    assert_eq!(
        (moved.stdout.as_str(), moved.code),
        ("added=1 unchanged=0\n", 0),
        "{moved:?}"
    );
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    assert!(
        shell(&ledger, file, &[])
            .stderr
            .starts_with("error[retired]: ")
    );
}

#[test]
fn a_commit_is_deployed_once_from_whatever_runner() {
    let ledger = Scratch::with_ledger();
    effect(&ledger, "deploy");
    let block = named("deploy-from-any-runner").text;
    let run = block
        .lines()
        .find_map(|line| line.trim().strip_prefix("run: "))
        .unwrap();
    let url = block
        .lines()
        .find_map(|line| line.trim().strip_prefix("RECEIPT_LEDGER_DB: "));
    let variables = [
        ("RECEIPT_LEDGER_DB", here(&ledger, url.unwrap())),
        ("GITHUB_SHA", "abc123".to_owned()),
    ];
    for _ in 0..3 {
        let said = shell(&ledger, run, &variables);
        assert_eq!(said.code, 0, "{said:?}");
    }
    assert_eq!(effects(&ledger), 1);
}

#[test]
fn one_machine_of_the_fleet_sends_the_report() {
    let ledger = Scratch::with_ledger();
    effect(&ledger, "send-report");
    let block = named("cron-fleet").text;
    let job = block.lines().last().unwrap();
    let job = job
        .split_whitespace()
        .skip(5)
        .collect::<Vec<_>>()
        .join(" ")
        .replace("\\%", "%");
    let url = block
        .lines()
        .find_map(|line| line.strip_prefix("RECEIPT_LEDGER_DB="));
    let variables = [("RECEIPT_LEDGER_DB", here(&ledger, url.unwrap()))];
    for _ in 0..3 {
        let said = shell(&ledger, &job, &variables);
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("", "", 0)
        );
    }
    assert_eq!(effects(&ledger), 1);
}
