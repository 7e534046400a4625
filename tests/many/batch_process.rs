//! `batch` as a process: a co-process, a reader that goes away, a ledger that goes away, is locked or damaged.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use rusqlite::TransactionBehavior;

use super::procs::{integrity, plain, standing};
use super::stage::stands;
use super::support::{Scratch, said};
use super::talk::{Coprocess, batch, reserve, word};

#[test]
fn one_line_is_answered_before_the_next_one_is_sent() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
    for n in 0..300 {
        let answer = batch.ask(&format!(
            "{{\"id\":{n},{}",
            &reserve(&format!("k:{n}"))[1..]
        ));
        assert_eq!(
            (answer["id"].as_u64(), word(&answer).as_str()),
            (Some(n), "EXECUTE")
        );
        if n % 50 == 0 {
            // It is on record by then, for anybody.
            assert_eq!(stands(&ledger, &format!("k:{n}")), "reserved 1");
        }
    }
    assert_eq!(batch.end(), (String::new(), 0));
}

#[test]
fn a_line_is_answered_although_the_next_one_has_only_begun() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
    let second = reserve("b");
    let (start, rest) = second.split_at(20);
    batch.send(reserve("a") + start);
    assert_eq!(word(&batch.answer()), "EXECUTE");
    // A blank line, or half a line, is nothing to answer.
    assert!(!batch.has_answered());
    batch.send(rest);
    assert_eq!(batch.answer()["key"], "b");
    batch.send("\n \r\n");
    assert_eq!(word(&batch.ask(&reserve("a"))), "SKIP_IN_FLIGHT");
    assert_eq!(batch.end(), (String::new(), 0));
}

#[test]
fn a_line_that_comes_byte_by_byte_is_one_line() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
    for byte in (reserve("a") + &reserve("b")).bytes() {
        batch.send([byte]);
    }
    assert_eq!(
        (word(&batch.answer()), word(&batch.answer())),
        ("EXECUTE".into(), "EXECUTE".into())
    );
    assert_eq!(batch.end(), (String::new(), 0));
}

#[test]
fn errors_are_answered_at_once_too() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
    for (line, expected) in [
        ("nonsense\n", "invalid-input"),
        ("{\"op\":\"succeed\",\"key\":\"z\"}\n", "not-found"),
        (&reserve("a"), "EXECUTE"),
    ] {
        assert_eq!(word(&batch.ask(line)), expected);
    }
    assert_eq!(batch.end(), (String::new(), 2));
}

#[test]
fn no_lock_is_held_while_it_waits_for_a_line() {
    let ledger = Scratch::with_ledger();
    let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
    assert_eq!(word(&batch.ask(&reserve("a"))), "EXECUTE");
    let decided = ledger.run("--busy-timeout 0s reserve --key b --fingerprint v1");
    assert_eq!(
        decided.stdout, "decision=EXECUTE state=reserved attempt=1\n",
        "{decided:?}"
    );
    assert_eq!(word(&batch.ask(&reserve("b"))), "SKIP_IN_FLIGHT");
    assert_eq!(batch.end(), (String::new(), 0));
}

#[test]
fn a_reader_that_went_away_ends_it_with_2_and_what_was_decided_stays() {
    let ledger = Scratch::with_ledger();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = ledger.command(["batch"]);
    command
        .stdin(Stdio::piped())
        .stdout(writer)
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(reserve("a").as_bytes()).unwrap();
    // It ends although its input goes on.
    let told = said(&child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!(told.code, 2);
    assert!(told.stderr.starts_with("error[output]: "), "{told:?}");
    assert_eq!(stands(&ledger, "a"), "reserved 1");
}

#[test]
fn a_standard_output_that_is_full_is_told_as_such() {
    if !fs::exists("/dev/full").unwrap() {
        return;
    }
    let ledger = Scratch::with_ledger();
    fs::write(ledger.path("in"), reserve("a")).unwrap();
    let mut command = ledger.command(["batch"]);
    command.stdin(fs::File::open(ledger.path("in")).unwrap());
    let told = said(
        &command
            .stdout(fs::File::create("/dev/full").unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap(),
    );
    assert_eq!(told.code, 2);
    assert!(told.stderr.starts_with("error[output]: "), "{told:?}");
    assert_eq!(stands(&ledger, "a"), "reserved 1");
}

#[test]
fn a_standard_input_that_cannot_be_read_is_no_end_of_input() {
    let ledger = Scratch::with_ledger();
    let mut command = ledger.command(["batch"]);
    command.stdin(fs::File::open(ledger.path("")).unwrap());
    let told = said(&command.output().unwrap());
    assert_eq!((told.stdout.as_str(), told.code), ("", 2));
    assert!(
        told.stderr
            .starts_with("error[io]: cannot read standard input: "),
        "{told:?}"
    );
}

#[test]
fn a_ledger_file_that_was_replaced_between_two_groups_is_noticed() {
    for how in ["renamed away", "removed", "replaced"] {
        let ledger = Scratch::with_ledger();
        let path = ledger.path("receipts.db");
        let mut batch = Coprocess::start(&mut ledger.command(["batch"]));
        assert_eq!(word(&batch.ask(&reserve("a"))), "EXECUTE");
        match how {
            "removed" => fs::remove_file(&path).unwrap(),
            _ => fs::rename(&path, ledger.path("away.db")).unwrap(),
        }
        if how == "replaced" {
            let other = Scratch::with_ledger();
            fs::copy(other.path("receipts.db"), &path).unwrap();
        }
        for _ in 0..2 {
            let answer = batch.ask(&reserve("b"));
            assert_eq!(word(&answer), "io", "{how}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(
                message.contains("was moved, replaced or removed while it was open"),
                "{message}"
            );
        }
        assert_eq!(batch.end().1, 2, "{how}");
        if how == "replaced" {
            let _ = fs::remove_file(ledger.path("receipts.db-wal"));
            let _ = fs::remove_file(ledger.path("receipts.db-shm"));
            assert_eq!(stands(&ledger, "b"), "nothing");
            assert_eq!(integrity(&path), "ok");
        }
    }
}

#[test]
fn a_lock_of_somebody_else_fails_a_group_and_not_the_next() {
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key bound --fingerprint other");
    let mut batch = Coprocess::start(&mut ledger.command(["--busy-timeout", "50ms", "batch"]));
    let mut rival = plain(&ledger.path("receipts.db"));
    let held = rival
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    assert_eq!(word(&batch.ask(&reserve("a"))), "busy");
    // A conflict that cannot be recorded is still a conflict (contract 5.5).
    assert_eq!(word(&batch.ask(&reserve("bound"))), "CONFLICT");
    let more = reserve("a")
        + &reserve("bound")
        + "{\"op\":\"record\",\"key\":\"bound\",\"fingerprint\":\"v1\"}\n";
    batch.send(more);
    let words = [batch.answer(), batch.answer(), batch.answer()].map(|answer| word(&answer));
    assert_eq!(words, ["busy", "CONFLICT", "CONFLICT"]);
    held.rollback().unwrap();
    assert_eq!(word(&batch.ask(&reserve("a"))), "EXECUTE");
    assert_eq!(batch.end(), (String::new(), 2));
}

#[test]
fn a_copy_and_a_retired_ledger_decide_nothing() {
    let copied = Scratch::with_ledger();
    copied.run("backup --to copy.db");
    fs::rename(copied.path("copy.db"), copied.path("receipts.db")).unwrap();
    let retired = Scratch::with_ledger();
    retired.run("export --retire");
    for (ledger, code) in [(copied, "restored-backup"), (retired, "retired")] {
        let said = batch(&ledger, reserve("a") + "nonsense\n" + &reserve("b"));
        assert_eq!(said.words(), [code, "invalid-input", code]);
        assert_eq!(said.code, 2);
    }
}

#[test]
fn a_line_about_a_damaged_receipt_fails_alone() {
    let ledger = Scratch::with_ledger();
    batch(&ledger, reserve("b"));
    plain(&ledger.path("receipts.db"))
        .execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE receipt_ledger_receipt SET late_success = 7 WHERE key = 'b'")
        .unwrap();
    let said = batch(
        &ledger,
        reserve("a") + &reserve("b") + "{\"op\":\"show\",\"key\":\"b\"}\n" + &reserve("c"),
    );
    assert_eq!(said.words(), ["EXECUTE", "corrupt", "corrupt", "EXECUTE"]);
    assert_eq!(said.code, 2);
    assert_eq!(
        (stands(&ledger, "a"), stands(&ledger, "c")),
        ("reserved 1".into(), "reserved 1".into())
    );
}

/// What stands between a receipt's row and its history's: the row is written, then the step fails.
fn history_of_b_fails(ledger: &Scratch, how: &str) {
    let sql = format!(
        "CREATE TRIGGER stops BEFORE INSERT ON receipt_ledger_history
         WHEN NEW.receipt = (SELECT id FROM receipt_ledger_receipt WHERE key = 'b')
         BEGIN SELECT RAISE({how}, 'no constraint failed'); END"
    );
    plain(&ledger.path("receipts.db"))
        .execute_batch(&sql)
        .unwrap();
}

#[test]
fn a_step_that_fails_half_way_is_undone_alone() {
    for how in ["ABORT", "FAIL"] {
        let ledger = Scratch::with_ledger();
        history_of_b_fails(&ledger, how);
        let said = batch(
            &ledger,
            reserve("a") + &reserve("b") + &reserve("a") + &reserve("b") + &reserve("c"),
        );
        assert_eq!(
            said.words(),
            ["EXECUTE", "corrupt", "SKIP_IN_FLIGHT", "corrupt", "EXECUTE"]
        );
        assert_eq!(
            standing(&ledger.run("show --key b")),
            None,
            "nothing of it was kept"
        );
        let rows: u64 = plain(&ledger.path("receipts.db"))
            .query_row("SELECT count(*) FROM receipt_ledger_history", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(rows, 2);
        assert!(
            ledger
                .run("verify")
                .stdout
                .starts_with("verify=ok receipts=2")
        );
    }
}

#[test]
fn a_step_that_takes_the_whole_transaction_with_it_leaves_no_line_answered() {
    let ledger = Scratch::with_ledger();
    history_of_b_fails(&ledger, "ROLLBACK");
    let said = batch(
        &ledger,
        reserve("a") + &reserve("b") + "nonsense\n" + &reserve("c"),
    );
    assert_eq!(
        said.words(),
        ["corrupt", "corrupt", "invalid-input", "corrupt"]
    );
    for key in ["a", "b", "c"] {
        assert_eq!(stands(&ledger, key), "nothing");
    }
}
