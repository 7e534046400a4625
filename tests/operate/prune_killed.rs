//! `prune` killed in the middle (contract §9.1, 10.7): no decision is lost.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::bulk;
use super::procs::{alone, integrity, plain};
use super::support::Scratch;

const RECEIPTS: u32 = 100_000;
/// Kills, each some steps into what is left.
const KILLS: u32 = 4;
/// After this long a prune that does nothing has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn count(scratch: &Scratch, table: &str) -> u32 {
    let sql = format!("SELECT count(*) FROM receipt_ledger_{table}");
    let connection = plain(&scratch.path("receipts.db"));
    connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

/// Kills it once it has pruned so many more.
fn kill_after(scratch: &Scratch, mut prune: Command, more: u32) {
    let before = count(scratch, "pruned");
    let mut child = prune.stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while count(scratch, "pruned") < before + more {
        assert!(began.elapsed() < PATIENCE, "the prune does not go on");
        thread::yield_now();
    }
    child.kill().unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        None,
        "it ended before it was killed"
    );
}

/// Every key asked again, with its own fingerprint and with another: what is not a skip or a conflict is counted.
fn wrong_answers(scratch: &Scratch) -> usize {
    let mut child = scratch
        .command(["batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        for number in 0..RECEIPTS {
            let fingerprint = if number % 10 == 0 { "other" } else { "f" };
            let key = bulk::key(number);
            writeln!(
                stdin,
                r#"{{"op":"reserve","key":"{key}","fingerprint":"{fingerprint}"}}"#
            )
            .unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), usize::try_from(RECEIPTS).unwrap());
    let right = |(number, line): (usize, &str)| {
        let decision = if number % 10 == 0 {
            "CONFLICT"
        } else {
            "SKIP_SUCCEEDED"
        };
        line.contains(&format!(
            "\"decision\":\"{decision}\",\"state\":\"succeeded\",\"attempt\":1,"
        ))
    };
    answers
        .lines()
        .enumerate()
        .filter(|line| !right(*line))
        .count()
}

#[test]
fn a_prune_of_100_000_killed_again_and_again_loses_no_decision() {
    let _alone = alone();
    let scratch = Scratch::with_ledger();
    bulk::succeeded(&scratch, RECEIPTS, "[]");
    for _ in 0..KILLS {
        kill_after(
            &scratch,
            scratch.command(["prune", "--older-than", "1d"]),
            1_500,
        );
        assert_eq!(
            count(&scratch, "pruned") + count(&scratch, "receipt"),
            RECEIPTS
        );
    }
    assert_eq!(wrong_answers(&scratch), 0);
    let said = scratch.run("verify");
    assert_eq!(said.code, 0, "{}", said.stdout);
    assert_eq!(integrity(&scratch.path("receipts.db")), "ok");
}
