//! Contract 6.2 and 6.3: what a command's end means, and how `run` ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::stage::{fact, finish, lines, perform, perform_program, skips, stands};
use super::support::Scratch;

const EXECUTE: &str = "decision=EXECUTE state=reserved attempt=1\n";

#[test]
fn the_commands_exit_code_is_runs_and_only_0_is_a_success() {
    for code in [0, 1, 2, 3, 9, 75, 124, 126, 127, 128, 130, 143, 255] {
        let ledger = Scratch::with_ledger();
        let script = format!("echo x >>effects; echo out; exit {code}");
        let said = finish(&ledger, &mut perform(&ledger, "", &script));
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("out\n", EXECUTE, code)
        );
        if code == 0 {
            assert_eq!(stands(&ledger, "k"), "succeeded 1");
            let result = serde_json::json!({"exit_code": 0});
            assert_eq!(fact(&ledger, "k", "result"), result);
            skips(&ledger, "SKIP_SUCCEEDED", 0);
        } else {
            assert_eq!(stands(&ledger, "k"), "unknown 1", "exit code {code}");
            let reason = format!("exit code {code}");
            assert_eq!(fact(&ledger, "k", "reason"), reason.as_str());
            skips(&ledger, "SKIP_UNKNOWN", 75);
        }
        assert_eq!(lines(&ledger, "effects"), ["x"]);
    }
}

#[test]
fn a_death_by_a_signal_is_unknown_whatever_failed_exit_says() {
    for (name, code) in [("TERM", 143), ("KILL", 137), ("INT", 130), ("SEGV", 139)] {
        for options in ["", "--failed-exit any", "--failed-exit 128-255"] {
            let ledger = Scratch::with_ledger();
            let script = format!("echo x >>effects; ulimit -c 0; kill -{name} $$; exit 0");
            let said = finish(&ledger, &mut perform(&ledger, options, &script));
            assert_eq!((said.stderr.as_str(), said.code), (EXECUTE, code), "{name}");
            assert_eq!(stands(&ledger, "k"), "unknown 1", "{name} {options}");
            skips(&ledger, "SKIP_UNKNOWN", 75);
            assert_eq!(lines(&ledger, "effects"), ["x"]);
        }
    }
}

#[test]
fn what_cannot_be_started_has_failed_with_127_or_126() {
    let ledger = Scratch::with_ledger();
    let at = |name: &str| ledger.path(name).to_str().unwrap().to_owned();
    fs::write(at("plain"), "#!/bin/sh\n").unwrap();
    fs::create_dir(at("folder")).unwrap();
    for (name, text) in [
        ("no-interpreter", "#!/no/such/interpreter\n"),
        ("no-format", "\u{1}\u{2}\u{3}"),
    ] {
        fs::write(at(name), text).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let cases: [(&str, &[&str], i32); 7] = [
        ("name", &["no-such-program-anywhere"], 127),
        ("path", &["./no/such/program"], 127),
        ("empty", &[""], 127),
        ("interpreter", &["./no-interpreter"], 127),
        ("plain", &["./plain"], 126),
        ("folder", &["./folder"], 126),
        ("format", &["./no-format"], 126),
    ];
    for (key, program, code) in cases {
        let options = format!("--key {key}");
        let said = finish(&ledger, &mut perform_program(&ledger, &options, program));
        assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
        let (line, note) = said.stderr.split_once('\n').unwrap();
        assert_eq!(format!("{line}\n"), EXECUTE);
        assert!(note.starts_with("note: command not "), "{note}");
        assert_eq!(stands(&ledger, key), "failed 1", "{key}");
        let again = format!("--key {key} --allow-failed-retry");
        let said = finish(&ledger, &mut perform(&ledger, &again, "exit 0"));
        assert_eq!(
            (said.stderr.as_str(), said.code),
            ("decision=RETRY state=reserved attempt=2\n", 0)
        );
    }
}

#[test]
fn the_codes_of_failed_exit_are_failed_and_no_others() {
    let ledger = Scratch::with_ledger();
    for (number, (codes, code, state)) in [
        ("7", 7, "failed"),
        ("7", 6, "unknown"),
        ("1,64-78", 1, "failed"),
        ("1,64-78", 64, "failed"),
        ("1,64-78", 78, "failed"),
        ("1,64-78", 63, "unknown"),
        ("1,64-78", 79, "unknown"),
        ("1,64-78", 2, "unknown"),
        ("any", 1, "failed"),
        ("any", 126, "failed"),
        ("any", 127, "failed"),
        ("any", 255, "failed"),
        ("any", 0, "succeeded"),
        ("1-255", 0, "succeeded"),
    ]
    .into_iter()
    .enumerate()
    {
        let options = format!("--key k{number} --failed-exit {codes}");
        let script = format!("exit {code}");
        let said = finish(&ledger, &mut perform(&ledger, &options, &script));
        assert_eq!((said.stderr.as_str(), said.code), (EXECUTE, code));
        let stands = stands(&ledger, &format!("k{number}"));
        assert_eq!(stands, format!("{state} 1"), "{codes}: {code}");
    }
    for codes in ["0", "", "256", "5-1", "all"] {
        let flag = format!("--failed-exit={codes}");
        let said = finish(&ledger, &mut perform(&ledger, &flag, "echo x >>effects"));
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{codes}");
    }
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}

#[test]
fn where_there_is_no_decision_nothing_is_started() {
    let ledger = Scratch::new();
    let script = "echo x >>effects";
    for (options, code) in [
        ("--no-create", "no-ledger"),
        ("--key k\u{1}", "invalid-input"),
        ("--lease 5", "invalid-input"),
        ("--payload-file none --key k", "usage"),
        ("--skip-exit 256", "invalid-input"),
        ("--timeout 0s", "invalid-input"),
        ("--quiet --quiet", "usage"),
    ] {
        let said = finish(&ledger, &mut perform(&ledger, options, script));
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{options}");
        let start = format!("error[{code}]: ");
        assert!(said.stderr.starts_with(&start), "{options}: {said:?}");
    }
    assert!(!ledger.path("receipts.db").exists());
    ledger.refuses("run --key k --fingerprint f", "usage");
    ledger.refuses("run --key k --fingerprint f --", "usage");
    assert!(!ledger.path("receipts.db").exists());
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}

#[test]
fn a_ledger_that_is_locked_while_it_decides_starts_nothing() {
    let ledger = Scratch::with_ledger();
    let mut rival = super::procs::plain(&ledger.path("receipts.db"));
    let behavior = rusqlite::TransactionBehavior::Immediate;
    let held = rival.transaction_with_behavior(behavior).unwrap();
    for options in ["", "--wait 1h", "--capture --quiet"] {
        let options = format!("--busy-timeout 20ms {options}");
        let said = finish(&ledger, &mut perform(&ledger, &options, "echo x >>effects"));
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{options}");
        assert!(said.stderr.starts_with("error[busy]: "), "{said:?}");
    }
    held.rollback().unwrap();
    assert_eq!(stands(&ledger, "k"), "nothing");
    assert_eq!(lines(&ledger, "effects"), [""; 0]);
}
