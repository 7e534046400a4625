//! Contract §4.4 and §3.4: `--wait` and `--skip-exit`.

#[cfg(target_os = "linux")]
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::prepared::{SAME, prepare, shown, told};
use super::support::Scratch;
#[cfg(target_os = "linux")]
use super::support::said;

#[test]
fn skip_exit_changes_the_code_of_every_skip_and_of_nothing_else() {
    let ledger = Scratch::with_ledger();
    for name in super::standing() {
        for code in [1, 9, 255] {
            let key = format!("{}-{code}", name.replace([' ', ','], "-"));
            let attempt = prepare(&ledger, name, &key);
            let said = ledger.run(&format!(
                "reserve --key {key} --fingerprint {SAME} --skip-exit {code}"
            ));
            let decision = match told(name) {
                "recorded" => "EXECUTE",
                "reserved" => "SKIP_IN_FLIGHT",
                "succeeded" => "SKIP_SUCCEEDED",
                "failed" => "SKIP_FAILED",
                _ => "SKIP_UNKNOWN",
            };
            let (state, attempt, exit) = if decision == "EXECUTE" {
                ("reserved", 1, 0)
            } else {
                (told(name), attempt, code)
            };
            let line = format!("decision={decision} state={state} attempt={attempt}\n");
            assert_eq!(
                (said.stdout.as_str(), said.stderr.as_str(), said.code),
                (line.as_str(), "", exit),
                "{name}"
            );
            ledger.conflicts(
                &format!("reserve --key {key} --fingerprint other --skip-exit {code}"),
                &format!("decision=CONFLICT state={state} attempt={attempt}\n"),
            );
        }
    }
    for wrong in ["0", "256", "-1", "x", "", "1.0"] {
        ledger.refuses(
            &format!("reserve --key k --fingerprint f --skip-exit={wrong}"),
            "invalid-input",
        );
    }
}

#[cfg(target_os = "linux")]
fn waiter(ledger: &Scratch, wait: &str) -> Child {
    let args = [
        "reserve",
        "--key",
        "k",
        "--fingerprint",
        "f",
        "--wait",
        wait,
        "--allow-failed-retry",
    ];
    ledger
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns once the process has the ledger open: it has asked by then, or is about to.
#[cfg(target_os = "linux")]
fn has_looked(ledger: &Scratch, waiter: &Child) {
    let began = Instant::now();
    let opened = format!("/proc/{}/fd", waiter.id());
    let db = ledger.path("receipts.db-shm");
    loop {
        let files = std::fs::read_dir(&opened).map(|files| {
            files
                .flatten()
                .any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == db))
        });
        if files.unwrap_or(false) {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the ledger was never opened"
        );
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_settles_the_receipt_ends_the_wait_and_is_what_is_answered() {
    for (settle, settled, answer) in [
        (
            "succeed --key k",
            "state=succeeded attempt=1\n",
            "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
        ),
        (
            "unknown --key k",
            "state=unknown attempt=1\n",
            "decision=SKIP_UNKNOWN state=unknown attempt=1\n",
        ),
        (
            "fail --key k",
            "state=failed attempt=1\n",
            "decision=RETRY state=reserved attempt=2\n",
        ),
    ] {
        let ledger = Scratch::with_ledger();
        ledger.says(
            "reserve --key k --fingerprint f",
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        let waiter = waiter(&ledger, "10m");
        has_looked(&ledger, &waiter);
        ledger.says(settle, settled);
        let told = said(&waiter.wait_with_output().unwrap());
        assert_eq!(
            (told.stdout.as_str(), told.stderr.as_str(), told.code),
            (answer, "", 0),
            "{settle}"
        );
    }
}

#[test]
fn a_lease_that_runs_out_ends_the_wait() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f --lease 300ms",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let said = ledger.run("reserve --key k --fingerprint f --wait 10m");
    assert_eq!(
        said.stdout,
        "decision=SKIP_UNKNOWN state=unknown attempt=1\n"
    );
}

#[test]
fn the_wait_ends_with_what_stands_when_its_time_is_over() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let before = shown(&ledger, "k");
    for (wait, at_least_ms) in [("0s", 0), ("0ms", 0), ("300ms", 300)] {
        let began = Instant::now();
        let answer = "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n";
        ledger.says(
            &format!("reserve --key k --fingerprint f --wait {wait}"),
            answer,
        );
        assert!(
            began.elapsed() >= Duration::from_millis(at_least_ms),
            "{wait}"
        );
    }
    assert_eq!(shown(&ledger, "k"), before);
}

#[test]
fn nobody_waits_for_what_is_not_in_flight() {
    let ledger = Scratch::with_ledger();
    for name in super::standing() {
        if told(name) == "reserved" {
            continue;
        }
        let key = name.replace([' ', ','], "-");
        prepare(&ledger, name, &key);
        // A wait of ten years would not end.
        let said = ledger.run(&format!(
            "reserve --key {key} --fingerprint {SAME} --wait 520w"
        ));
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_waiting_caller_holds_no_lock() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let waiter = waiter(&ledger, "10m");
    has_looked(&ledger, &waiter);
    for round in 0..20 {
        let answer = "decision=EXECUTE state=reserved attempt=1\n";
        ledger.says(
            &format!("reserve --key other-{round} --fingerprint f --busy-timeout 2s"),
            answer,
        );
    }
    ledger.says("succeed --key k", "state=succeeded attempt=1\n");
    assert_eq!(said(&waiter.wait_with_output().unwrap()).code, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_the_wait_at_once_and_changes_nothing() {
    let ledger = Scratch::with_ledger();
    ledger.says(
        "reserve --key k --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let before = shown(&ledger, "k");
    for signal in [
        rustix::process::Signal::TERM,
        rustix::process::Signal::INT,
        rustix::process::Signal::HUP,
    ] {
        let waiter = waiter(&ledger, "10m");
        has_looked(&ledger, &waiter);
        let began = Instant::now();
        let pid = rustix::process::Pid::from_child(&waiter);
        rustix::process::kill_process(pid, signal).unwrap();
        let output = waiter.wait_with_output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(30));
        assert!(!output.status.success(), "{signal:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{signal:?}");
        assert_eq!(shown(&ledger, "k"), before, "{signal:?}");
    }
    ledger.says("succeed --key k", "state=succeeded attempt=1\n");
}
