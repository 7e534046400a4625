//! How a `drain` ends: exit codes, commands that cannot be started, signals, outcomes that cannot be recorded (contract 7.2).

use std::fs;

use rustix::process::Signal;

use super::stage::{Gate, Running, expire, finish, lines, stands, until, without_terminal};
use super::support::{Said, Scratch};

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

fn command(ledger: &Scratch, options: &str, script: &str) -> std::process::Command {
    let mut command = ledger.command(["drain", "--all"]);
    let script = format!("echo $RECEIPT_LEDGER_KEY >>effects; {script}");
    command
        .args(options.split_whitespace())
        .args(["--", "sh", "-c", &script]);
    command
}

fn drain(ledger: &Scratch, options: &str, script: &str) -> Said {
    finish(ledger, &mut command(ledger, options, script))
}

#[test]
fn an_exit_code_of_the_command_decides_about_its_receipt_and_not_about_the_drain() {
    for (code, options, state) in [
        (0, "", "succeeded"),
        (1, "", "unknown"),
        // The codes with which drain itself would end say nothing here.
        (2, "", "unknown"),
        (2, "--failed-exit any", "failed"),
        (3, "", "unknown"),
        (75, "--failed-exit 75", "failed"),
        (75, "", "unknown"),
        (124, "", "unknown"),
        (126, "", "unknown"),
        (127, "--failed-exit 1", "unknown"),
        (130, "", "unknown"),
        (255, "--failed-exit any", "failed"),
    ] {
        let ledger = with_recorded(&["a", "b", "c"]);
        let said = drain(
            &ledger,
            options,
            &format!("test $RECEIPT_LEDGER_KEY = b || exit {code}"),
        );
        assert_eq!(
            lines(&ledger, "effects"),
            ["a", "b", "c"],
            "{code} {options}: {said:?}"
        );
        let count = |wanted: &str| if wanted == state { 2 } else { 0 };
        let told = format!(
            "drained=3 succeeded={} failed={} unknown={}\n",
            1 + count("succeeded"),
            count("failed"),
            count("unknown")
        );
        assert_eq!(
            (said.stdout, said.code),
            (told, if code == 0 { 0 } else { 75 }),
            "{code} {options}"
        );
        assert_eq!(stands(&ledger, "a"), format!("{state} 1"));
    }
}

#[test]
fn a_command_that_dies_or_takes_too_long_is_unknown_and_the_next_one_is_performed() {
    let ledger = with_recorded(&["a", "b", "c"]);
    let script = "case $RECEIPT_LEDGER_KEY in a) kill -KILL $$ ;; b) exec sleep 100 ;; esac";
    let said = drain(&ledger, "--timeout 300ms", script);
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("drained=3 succeeded=1 failed=0 unknown=2\n", 75)
    );
}

#[test]
fn what_the_command_settles_itself_stands_and_is_counted_as_it_stands() {
    let ledger = with_recorded(&["a", "b"]);
    let mut command = command(
        &ledger,
        "",
        "case $RECEIPT_LEDGER_KEY in a) verb=fail ;; b) verb=unknown ;; esac
         \"$RL\" $verb --key $RECEIPT_LEDGER_KEY --attempt 1 >/dev/null",
    );
    command.env("RL", super::support::binary().get_program());
    let said = finish(&ledger, &mut command);
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("drained=2 succeeded=0 failed=1 unknown=1\n", 75)
    );
}

#[test]
fn a_command_that_is_not_there_takes_nothing() {
    let ledger = with_recorded(&["a"]);
    fs::write(ledger.path("not-executable"), "#!/bin/sh\n").unwrap();
    fs::create_dir(ledger.path("folder")).unwrap();
    for program in [
        "no-such-program",
        "./no-such-program",
        "/no/such/program",
        "./not-executable",
        "./folder",
        "",
    ] {
        let said = finish(
            &ledger,
            ledger.command(["drain", "--all", "--"]).arg(program),
        );
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("", 2),
            "{program:?}: {said:?}"
        );
        assert!(said.stderr.starts_with("error["), "{said:?}");
        assert_eq!(stands(&ledger, "a"), "recorded 0", "{program:?}");
    }
    ledger.refuses("drain --all", "usage");
    ledger.refuses("drain --all --", "usage");
}

#[test]
fn a_command_that_cannot_be_started_ends_it_after_one_receipt() {
    for (content, what) in [
        ("\0\u{1}\u{2}not a program", "rubbish"),
        ("#!/no/such/interpreter\n", "interpreter"),
    ] {
        use std::os::unix::fs::PermissionsExt;
        let ledger = with_recorded(&["a", "b"]);
        let path = ledger.path("program");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let said = finish(
            &ledger,
            &mut ledger.command(["drain", "--all", "--", "./program"]),
        );
        assert_eq!(
            (said.stdout.as_str(), said.code),
            ("drained=1 succeeded=0 failed=1 unknown=0\n", 2),
            "{what}: {said:?}"
        );
        assert_eq!(
            (stands(&ledger, "a"), stands(&ledger, "b")),
            ("failed 1".into(), "recorded 0".into())
        );
    }
}

#[test]
fn a_signal_reaches_the_command_whose_outcome_is_recorded_and_then_ends_it() {
    for (signal, name, number) in [
        (Signal::TERM, "TERM", 15),
        (Signal::INT, "INT", 2),
        (Signal::HUP, "HUP", 1),
    ] {
        for (ending, state) in [
            ("exit 0", "succeeded 1"),
            ("exit 9", "failed 1"),
            ("trap - $s; kill -$s $$", "unknown 1"),
        ] {
            let ledger = with_recorded(&["a", "b"]);
            let script =
                format!("s={name}; trap '{ending}' $s; : >ready; while :; do sleep 0.02; done");
            let drain = without_terminal(&command(&ledger, "--failed-exit 9", &script));
            let run = Running::start(&ledger, &mut { drain });
            until("the command is ready", || ledger.path("ready").exists());
            run.signal(signal);
            let said = run.said();
            assert_eq!(said.code, 128 + number, "{ending}: {said:?}");
            assert_eq!(lines(&ledger, "effects"), ["a"]);
            assert_eq!(
                (stands(&ledger, "a").as_str(), stands(&ledger, "b").as_str()),
                (state, "recorded 0")
            );
            let (word, _) = state.split_once(' ').unwrap();
            let count = |state: &str| u32::from(state == word);
            let told = format!(
                "drained=1 succeeded={} failed={} unknown={}\n",
                count("succeeded"),
                count("failed"),
                count("unknown")
            );
            assert_eq!(said.stdout, told);
        }
    }
}

#[test]
fn an_outcome_that_cannot_be_recorded_ends_it_loudly() {
    let ledger = with_recorded(&["a", "b"]);
    let said = drain(&ledger, "", "mv receipts.db elsewhere");
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("drained=1 succeeded=0 failed=0 unknown=1\n", 2),
        "{said:?}"
    );
    assert!(
        said.stderr
            .contains("error[not-recorded]: attempt 1 of a ended (exit code 0)"),
        "{said:?}"
    );
    assert_eq!(lines(&ledger, "effects"), ["a"]);

    // Also where the command failed: the next one's outcome could not be recorded either.
    let ledger = with_recorded(&["a", "b"]);
    let said = drain(
        &ledger,
        "--failed-exit any",
        "mv receipts.db elsewhere; exit 9",
    );
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(lines(&ledger, "effects"), ["a"]);
}

#[test]
fn an_outcome_that_the_ledger_no_longer_takes_ends_it_although_the_ledger_is_well() {
    let ledger = with_recorded(&["a", "b"]);
    let script = "\"$RL\" fail --key a --attempt 1 >/dev/null
        \"$RL\" reserve --key a --fingerprint v1 --allow-failed-retry >/dev/null";
    let mut command = command(&ledger, "", script);
    command.env("RL", super::support::binary().get_program());
    let said = finish(&ledger, &mut command);
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("drained=1 succeeded=0 failed=0 unknown=1\n", 2),
        "{said:?}"
    );
    assert!(said.stderr.contains("error[not-recorded]: "), "{said:?}");
    assert_eq!(lines(&ledger, "effects"), ["a"]);
    assert_eq!(stands(&ledger, "b"), "recorded 0");
}

#[test]
fn a_summary_that_cannot_be_printed_is_told_and_what_was_performed_is_on_record() {
    let ledger = with_recorded(&["a"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut drain = command(&ledger, "", "");
    drain.stdout(writer).stderr(std::process::Stdio::piped());
    let said = super::support::said(&drain.spawn().unwrap().wait_with_output().unwrap());
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("error[output]: "), "{said:?}");
    assert_eq!(stands(&ledger, "a"), "succeeded 1");
}

#[test]
fn captured_output_that_nobody_reads_ends_it_with_2() {
    let ledger = with_recorded(&["a", "b"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut drain = command(&ledger, "--capture", "echo text");
    drain.stdout(writer).stderr(std::process::Stdio::piped());
    let said = super::support::said(&drain.spawn().unwrap().wait_with_output().unwrap());
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("error[output]: "), "{said:?}");
    assert_eq!(
        (stands(&ledger, "a"), lines(&ledger, "effects")),
        ("succeeded 1".into(), vec!["a".to_owned()])
    );
}

#[test]
fn a_drain_that_was_killed_leaves_an_unknown_and_never_a_repeat() {
    let ledger = with_recorded(&["a", "b"]);
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(
        &ledger,
        &mut command(&ledger, "", "read go <gate; echo done >>done"),
    );
    let waiting = gate.reached();
    run.signal(Signal::KILL);
    assert_eq!(run.said().code, -9);
    drop(waiting);
    until("the command ends", || !lines(&ledger, "done").is_empty());
    // In flight until its lease is over: others pass it by.
    assert_eq!(stands(&ledger, "a"), "reserved 1");
    expire(&ledger, "a");
    assert_eq!(stands(&ledger, "a"), "unknown 1");
    let said = drain(
        &ledger,
        "--allow-failed-retry --retry-unknown-within 24h",
        "",
    );
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("drained=1 succeeded=1 failed=0 unknown=0\n", 0)
    );
    assert_eq!(lines(&ledger, "effects"), ["a", "b"]);
    assert_eq!(stands(&ledger, "a"), "unknown 1");
}
