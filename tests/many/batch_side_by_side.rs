//! Several `batch` processes at once, and one that is killed (contract 4.1, 7.4, 10.7).

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread;

use super::procs::{alone, chance, integrity};
use super::support::Scratch;
use super::talk::{Answers, feed, reserve};

#[test]
fn two_at_once_on_20_000_shuffled_common_keys_give_each_key_one_execution() {
    const KEYS: usize = 20_000;
    let _alone = alone();
    let mut rng = chance("two batches");
    let ledger = Scratch::with_ledger();
    let mut inputs = Vec::new();
    for _ in 0..2 {
        let mut lines: Vec<String> = (0..KEYS).map(|n| reserve(&format!("k:{n}"))).collect();
        rng.shuffle(&mut lines);
        inputs.push(lines.concat());
    }
    let run = |input: &String| {
        feed(
            &mut ledger.command(["--busy-timeout", "60s", "batch"]),
            input.as_bytes(),
        )
    };
    let all: Vec<Answers> = thread::scope(|scope| {
        let started: Vec<_> = inputs
            .iter()
            .map(|input| scope.spawn(move || run(input)))
            .collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut executed: HashMap<String, u32> = HashMap::new();
    for (input, said) in inputs.iter().zip(&all) {
        assert_eq!(
            (said.lines.len(), said.stderr.as_str(), said.code),
            (KEYS, "", 0)
        );
        for (line, answer) in input.lines().zip(&said.lines) {
            let key = line.split('"').nth(7).unwrap();
            let start = format!("{{\"key\":\"{key}\",\"decision\":\"");
            let decision = answer
                .strip_prefix(&start)
                .unwrap_or_else(|| panic!("{line}: {answer}"));
            if decision.starts_with("EXECUTE\"") {
                *executed.entry(key.to_owned()).or_default() += 1;
            } else {
                assert!(decision.starts_with("SKIP_IN_FLIGHT\""), "{answer}");
            }
        }
    }
    assert_eq!(executed.len(), KEYS);
    assert!(executed.values().all(|times| *times == 1));
    let took_part = |said: &Answers| said.lines.iter().any(|line| line.contains("EXECUTE"));
    assert!(all.iter().all(took_part), "they ran one after the other");
    assert_eq!(integrity(&ledger.path("receipts.db")), "ok");
}

#[test]
fn after_a_kill_in_the_middle_every_printed_answer_holds() {
    let _alone = alone();
    let mut rng = chance("a killed batch");
    for round in 0..6 {
        let ledger = Scratch::with_ledger();
        let mut child = ledger
            .command(["batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeder = thread::spawn(move || {
            // Until it is killed: how many lines that is nobody knows.
            let mut n = 0_u64;
            loop {
                let lines: String = (n..n + 50).map(|n| reserve(&format!("k:{n}"))).collect();
                if stdin.write_all(lines.as_bytes()).is_err() {
                    return;
                }
                n += 50;
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = Vec::new();
        let kill_after = rng.usize(1..4_000);
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            if line.ends_with('\n') {
                printed.push(std::mem::take(&mut line));
            }
            if printed.len() == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        feeder.join().unwrap();
        assert!(printed.len() >= kill_after);
        let again: String = (0..printed.len())
            .map(|n| reserve(&format!("k:{n}")))
            .collect();
        let said = feed(&mut ledger.command(["batch"]), again.as_bytes());
        for (n, (before, now)) in printed.iter().zip(&said.lines).enumerate() {
            let start = |decision: &str| format!("{{\"key\":\"k:{n}\",\"decision\":\"{decision}\"");
            assert!(before.starts_with(&start("EXECUTE")), "{before}");
            assert!(
                now.starts_with(&start("SKIP_IN_FLIGHT")),
                "round {round}: {before}, now {now}"
            );
        }
        assert!(ledger.run("verify").stdout.starts_with("verify=ok "));
    }
}
