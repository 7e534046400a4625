//! Contract §5.1: the hint of a refused transition names the command that would be right: here each is really run.

use super::contract;
use super::prepared::{SAME, prepare};
use super::settling::call;
use super::support::Scratch;
use super::table::cells;

/// The commands between single quotes in a hint, with words for what the caller has to fill in.
fn commands(hint: &str) -> Vec<Vec<String>> {
    let quoted = hint.split('\'').skip(1).step_by(2);
    quoted
        .flat_map(|command| match command.split_once("succeeded|failed") {
            Some((before, after)) => vec![
                format!("{before}succeeded{after}"),
                format!("{before}failed{after}"),
            ],
            None => vec![command.to_owned()],
        })
        .filter(|command| command.contains("--key"))
        .map(|command| {
            command
                .replace("--evidence TEXT", "--evidence seen")
                .split(' ')
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

#[test]
fn every_command_that_a_refusal_hints_at_is_taken() {
    let ledger = Scratch::with_ledger();
    let mut ran = 0;
    for (index, (name, verb, expected)) in cells(contract::SETTLE).into_iter().enumerate() {
        if !expected.starts_with("invalid") {
            continue;
        }
        let key = |number: usize| format!("key-{index}-{number}");
        let refuse = |number: usize| {
            let current = prepare(&ledger, name, &key(number));
            let mut args = call(verb, &key(number));
            if current > 0 {
                args.push(format!("--attempt={current}"));
            }
            let said = ledger.run_args(&args);
            assert_eq!(
                (said.stdout.as_str(), said.code),
                ("", 2),
                "{name} / {verb}"
            );
            commands(said.stderr.lines().nth(1).unwrap())
        };
        for number in 0..refuse(0).len() {
            // Each command on a receipt of its own: the first may lead where the second does not.
            let mut command = refuse(number + 1).swap_remove(number);
            if command[0] == "reserve" {
                command.push(format!("--fingerprint={SAME}"));
            }
            let said = ledger.run_args(&command);
            assert_eq!(
                said.code, 0,
                "{name} / {verb}: {command:?}: {}",
                said.stderr
            );
            ran += 1;
        }
    }
    assert!(ran > 30, "{ran}");
}

#[test]
fn the_hint_for_a_second_attempt_names_it_because_evidence_must() {
    let ledger = Scratch::with_ledger();
    let key = "it's";
    let run = |args: &str| {
        let mut args: Vec<&str> = args.split(' ').collect();
        args.extend(["--key", key]);
        ledger.run_args(&args)
    };
    run("reserve --fingerprint f");
    run("fail");
    run("reserve --fingerprint f --allow-failed-retry");
    run("unknown");
    for refused in ["fail --attempt 2", "renew --attempt 2 --lease 1s"] {
        let said = run(refused);
        assert_eq!(said.code, 2, "{refused}");
        let hint = said.stderr.lines().nth(1).unwrap();
        assert!(
            hint.contains("resolve --key 'it'\\''s' --attempt 2 --as "),
            "{refused}: {hint}"
        );
    }
    assert_eq!(
        run("resolve --attempt 2 --as failed --evidence seen").stdout,
        "state=failed attempt=2\n"
    );
}
