//! `drain` (contract 7.2): what it takes, in which order, and what it hands to the command.

use std::fs;

use super::stage::{finish, lines, stands};
use super::support::{Said, Scratch};

/// Records keys in this order, without payloads.
fn with_recorded(keys: &[&str]) -> Scratch {
    let ledger = Scratch::with_ledger();
    for key in keys {
        ledger.says(
            &format!("record --key {key} --fingerprint v1"),
            "created=true state=recorded attempt=0\n",
        );
    }
    ledger
}

/// A drain of this script; each key it performs is a line in `effects`.
fn drain(ledger: &Scratch, options: &str, script: &str) -> Said {
    let script = format!("echo $RECEIPT_LEDGER_KEY >>effects; {script}");
    let mut command = ledger.command(["drain"]);
    command
        .args(options.split_whitespace())
        .args(["--", "sh", "-c", &script]);
    finish(ledger, &mut command)
}

fn summary(drained: u32, succeeded: u32, failed: u32, unknown: u32) -> String {
    format!("drained={drained} succeeded={succeeded} failed={failed} unknown={unknown}\n")
}

#[test]
fn receipts_are_taken_oldest_first_whatever_their_keys_are() {
    let keys = ["c", "a", "b", "Z", "~", "0"];
    let ledger = with_recorded(&keys);
    let said = drain(&ledger, "--all", "");
    assert_eq!((said.stdout, said.code), (summary(6, 6, 0, 0), 0));
    assert_eq!(lines(&ledger, "effects"), keys);
    let decisions = "decision=EXECUTE state=reserved attempt=1\n".repeat(6);
    assert_eq!(said.stderr, decisions);
    assert_eq!(stands(&ledger, "b"), "succeeded 1");
    // Nothing is left: a success, too.
    let said = drain(&ledger, "--all", "");
    assert_eq!(
        (said.stdout, said.stderr, said.code),
        (summary(0, 0, 0, 0), String::new(), 0)
    );
}

#[test]
fn it_takes_at_most_as_many_as_its_limit() {
    let ledger = with_recorded(&["a", "b", "c", "d", "e"]);
    assert_eq!(
        drain(&ledger, "--all --limit 2", "").stdout,
        summary(2, 2, 0, 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["a", "b"]);
    // What fails counts, too.
    assert_eq!(
        drain(&ledger, "--all --limit=2 --failed-exit any", "exit 1").stdout,
        summary(2, 0, 2, 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["a", "b", "c", "d"]);
    assert_eq!(
        drain(&ledger, "--all --limit 100", "").stdout,
        summary(1, 1, 0, 0)
    );
    ledger.refuses("drain --all --limit 0 -- true", "invalid-input");
}

#[test]
fn a_prefix_is_literal_and_one_of_prefix_and_all_has_to_be_named() {
    let keys = [
        "mail:1",
        "mail_1",
        "Mail:1",
        "mailx",
        "m%1",
        "m_1",
        "mx1",
        "charge:mail:1",
        "mail:",
        "m*",
        "m[",
    ];
    for (prefix, taken) in [
        ("mail:", &["mail:1", "mail:"][..]),
        ("mail_", &["mail_1"]),
        ("m%", &["m%1"]),
        ("m_", &["m_1"]),
        ("m*", &["m*"]),
        ("m[", &["m["]),
        ("mail:1", &["mail:1"]),
        ("mail:12", &[]),
        ("MAIL", &[]),
    ] {
        let ledger = with_recorded(&keys);
        let said = drain(&ledger, &format!("--prefix {prefix}"), "");
        assert_eq!(lines(&ledger, "effects"), taken, "{prefix}: {said:?}");
        assert_eq!(said.code, 0);
    }
    let ledger = with_recorded(&keys);
    for options in ["", "--all --prefix m", "--prefix=", "--prefix a --prefix b"] {
        let mut command = ledger.command(["drain"]);
        command
            .args(options.split_whitespace())
            .args(["--", "true"]);
        let said = finish(&ledger, &mut command);
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("", 2),
            "{options}: {said:?}"
        );
    }
    assert_eq!(stands(&ledger, "mail:1"), "recorded 0");
}

#[test]
fn only_what_is_recorded_is_taken() {
    let ledger = with_recorded(&["r"]);
    for (key, verb) in [("s", "succeed"), ("f", "fail"), ("u", "unknown")] {
        ledger.run(&format!("reserve --key {key} --fingerprint v1"));
        ledger.run(&format!("{verb} --key {key}"));
    }
    ledger.run("reserve --key running --fingerprint v1");
    ledger.run("reserve --key late --fingerprint v1 --lease 1ms");
    assert_eq!(
        drain(
            &ledger,
            "--all --retry-unknown-within 1h --allow-failed-retry",
            ""
        )
        .stdout,
        summary(1, 1, 0, 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["r"]);
}

#[test]
fn the_payload_is_on_standard_input_and_nothing_where_there_is_none() {
    let ledger = with_recorded(&["none"]);
    for n in 0..3 {
        fs::write(ledger.path("p"), format!("payload\0{n}\n")).unwrap();
        ledger.run(&format!(
            "record --key k:{n} --payload-file p --keep-payload"
        ));
    }
    fs::write(ledger.path("p"), "not kept").unwrap();
    ledger.run("record --key other --payload-file p");
    fs::write(
        ledger.path("in"),
        "what drain has on its own standard input",
    )
    .unwrap();
    let mut command = ledger.command([
        "drain",
        "--all",
        "--",
        "sh",
        "-c",
        "cat >got:$RECEIPT_LEDGER_KEY",
    ]);
    command.stdin(fs::File::open(ledger.path("in")).unwrap());
    assert_eq!(finish(&ledger, &mut command).stdout, summary(5, 5, 0, 0));
    for (key, payload) in [
        ("none", ""),
        ("k:0", "payload\x000\n"),
        ("k:1", "payload\x001\n"),
        ("k:2", "payload\x002\n"),
        ("other", ""),
    ] {
        assert_eq!(
            fs::read_to_string(ledger.path(&format!("got:{key}"))).unwrap(),
            payload,
            "{key}"
        );
    }
}

#[test]
fn a_command_that_does_not_read_its_payload_does_no_harm() {
    let ledger = Scratch::with_ledger();
    for n in 0..3 {
        fs::write(ledger.path("p"), vec![b'x'; 2_000_000]).unwrap();
        ledger.run(&format!(
            "record --key k:{n} --payload-file p --keep-payload"
        ));
    }
    for (script, told) in [
        ("exec <&-; :", summary(1, 1, 0, 0)),
        ("head -c 1 >first", summary(1, 1, 0, 0)),
        ("", summary(1, 1, 0, 0)),
    ] {
        assert_eq!(drain(&ledger, "--all --limit 1", script).stdout, told);
    }
}

#[test]
fn the_command_knows_what_it_performs() {
    let ledger = Scratch::with_ledger();
    let mut command = ledger.command([
        "drain",
        "--all",
        "--owner",
        "w",
        "--run",
        "r",
        "--",
        "sh",
        "-c",
        "echo $RECEIPT_LEDGER_FINGERPRINT $RECEIPT_LEDGER_ATTEMPT $RECEIPT_LEDGER_DB",
    ]);
    ledger.run("record --key b --fingerprint v2");
    let said = finish(&ledger, &mut command);
    let db = ledger.path("receipts.db");
    assert_eq!(
        said.stdout,
        format!("v2 1 {}\n{}", db.display(), summary(1, 1, 0, 0))
    );
    let shown = ledger.run("show --key b").stdout;
    assert!(shown.contains(" owner=w run=r "), "{shown}");
}

#[test]
fn failed_ones_are_taken_again_only_if_allowed_only_with_a_payload_and_after_all_others() {
    let ledger = Scratch::with_ledger();
    for (key, keep) in [("f1", true), ("f2", false), ("f3", true)] {
        fs::write(ledger.path("p"), key).unwrap();
        ledger.run(&format!(
            "record --key {key} --payload-file p{}",
            if keep { " --keep-payload" } else { "" }
        ));
    }
    assert_eq!(
        drain(&ledger, "--all --failed-exit 9", "exit 9").stdout,
        summary(3, 0, 3, 0)
    );
    ledger.run("record --key r1 --fingerprint v1");
    ledger.run("record --key r2 --fingerprint v1");
    fs::remove_file(ledger.path("effects")).unwrap();
    assert_eq!(
        drain(&ledger, "--prefix f --failed-exit 9", "exit 9").stdout,
        summary(0, 0, 0, 0)
    );
    let said = drain(&ledger, "--all --allow-failed-retry", "cat >>inputs");
    assert_eq!((said.stdout, said.code), (summary(4, 4, 0, 0), 0));
    assert_eq!(lines(&ledger, "effects"), ["r1", "r2", "f1", "f3"]);
    assert_eq!(lines(&ledger, "inputs"), ["f1f3"]);
    assert_eq!(
        (stands(&ledger, "f1"), stands(&ledger, "f2")),
        ("succeeded 2".into(), "failed 1".into())
    );
    assert!(
        said.stderr
            .ends_with(&"decision=RETRY state=reserved attempt=2\n".repeat(2)),
        "{}",
        said.stderr
    );
}

#[test]
fn what_fails_in_a_drain_that_may_retry_is_not_taken_a_second_time_by_it() {
    let ledger = Scratch::with_ledger();
    for key in ["a", "b"] {
        fs::write(ledger.path("p"), key).unwrap();
        ledger.run(&format!(
            "record --key {key} --payload-file p --keep-payload"
        ));
    }
    let said = drain(
        &ledger,
        "--all --allow-failed-retry --failed-exit 9",
        "exit 9",
    );
    assert_eq!((said.stdout, said.code), (summary(2, 0, 2, 0), 75));
    assert_eq!(lines(&ledger, "effects"), ["a", "b"]);
    // The next drain takes each once more.
    let said = drain(
        &ledger,
        "--all --allow-failed-retry --failed-exit 9",
        "exit 9",
    );
    assert_eq!((said.stdout, said.code), (summary(2, 0, 2, 0), 75));
    assert_eq!(stands(&ledger, "a"), "failed 2");
    // And none beyond --max-attempts.
    let said = drain(
        &ledger,
        "--all --allow-failed-retry --max-attempts 2",
        "exit 9",
    );
    assert_eq!((said.stdout, said.code), (summary(0, 0, 0, 0), 0));
}

#[test]
fn a_limit_counts_across_recorded_and_failed_ones() {
    let ledger = Scratch::with_ledger();
    for key in ["a", "b", "c"] {
        fs::write(ledger.path("p"), key).unwrap();
        ledger.run(&format!(
            "record --key {key} --payload-file p --keep-payload"
        ));
    }
    drain(&ledger, "--all --failed-exit 9", "exit 9");
    ledger.run("record --key d --fingerprint v1");
    fs::remove_file(ledger.path("effects")).unwrap();
    assert_eq!(
        drain(&ledger, "--all --allow-failed-retry --limit 2", "").stdout,
        summary(2, 2, 0, 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["d", "a"]);
}

#[test]
fn a_receipt_that_is_recorded_while_it_drains_is_taken_too() {
    let ledger = with_recorded(&["a"]);
    let script = "test $RECEIPT_LEDGER_KEY != a || \"$RL\" --db receipts.db record --key b --fingerprint v1 >/dev/null";
    let mut command = ledger.command(["drain", "--all", "--", "sh", "-c", script]);
    command.env("RL", super::support::binary().get_program());
    assert_eq!(finish(&ledger, &mut command).stdout, summary(2, 2, 0, 0));
}

#[test]
fn with_json_the_summary_is_an_object() {
    let ledger = with_recorded(&["a"]);
    let said = drain(&ledger, "--format json --all", "");
    assert_eq!(
        said.stdout,
        "{\"drained\":1,\"succeeded\":1,\"failed\":0,\"unknown\":0}\n"
    );
}

#[test]
fn quiet_leaves_only_the_summary() {
    let ledger = with_recorded(&["a", "b"]);
    let said = drain(&ledger, "--all --quiet", "");
    assert_eq!(
        (said.stdout, said.stderr.as_str()),
        (summary(2, 2, 0, 0), "")
    );
}

#[test]
fn what_a_command_prints_comes_before_the_summary_and_is_kept_with_capture() {
    let ledger = with_recorded(&["a", "b"]);
    let said = drain(&ledger, "--all --capture", "echo sent $RECEIPT_LEDGER_KEY");
    assert_eq!(
        said.stdout,
        format!("sent a\nsent b\n{}", summary(2, 2, 0, 0))
    );
    let shown = ledger.run("show --key b").stdout;
    assert!(
        shown.ends_with("result='{\"exit_code\":0,\"stdout\":\"sent b\\n\"}'\n"),
        "{shown}"
    );
}

#[test]
fn drain_never_creates_a_ledger() {
    let ledger = Scratch::new();
    ledger.refuses("drain --all -- true", "no-ledger");
    assert!(!ledger.path("receipts.db").exists());
}
