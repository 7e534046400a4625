//! Contract 6.1: what the command finds in its environment.

use super::stage::{Gate, Running, finish, lines, perform, stands};
use super::support::{Scratch, binary};

const PRINT: &str = "echo \"$RECEIPT_LEDGER_KEY $RECEIPT_LEDGER_FINGERPRINT $RECEIPT_LEDGER_ATTEMPT $RECEIPT_LEDGER_DB\"";

#[test]
fn the_command_finds_key_fingerprint_attempt_and_the_ledgers_absolute_path() {
    let ledger = Scratch::with_ledger();
    let db = ledger.path("receipts.db");
    let mut command = perform(&ledger, "--failed-exit 1", &format!("{PRINT}; exit 1"));
    // What an outer run has left there is replaced.
    command
        .env("RECEIPT_LEDGER_KEY", "outer")
        .env("RECEIPT_LEDGER_DB", "outer.db");
    let said = finish(&ledger, &mut command);
    assert_eq!(said.stdout, format!("k f 1 {}\n", db.display()));
    let said = finish(
        &ledger,
        &mut perform(&ledger, "--allow-failed-retry", PRINT),
    );
    assert_eq!(said.stdout, format!("k f 2 {}\n", db.display()));

    std::fs::write(ledger.path("payload"), "{ \"a\": 1.0 }").unwrap();
    let args = [
        "run",
        "--key",
        "p",
        "--payload-json",
        "payload",
        "--",
        "sh",
        "-c",
        PRINT,
    ];
    let said = ledger.run_args(&args);
    let mut words = said.stdout.split(' ');
    assert_eq!(words.next(), Some("p"));
    let fingerprint = words.next().unwrap();
    assert!(fingerprint.starts_with("jcs-sha256:") && fingerprint.len() == 11 + 64);
}

#[test]
fn a_ledger_named_by_the_variable_stays_as_it_was_named() {
    let ledger = Scratch::with_ledger();
    let mut command = binary();
    command
        .current_dir(ledger.path(""))
        .env("RECEIPT_LEDGER_DB", "./receipts.db")
        .args([
            "run",
            "--key",
            "k",
            "--fingerprint",
            "f",
            "--",
            "sh",
            "-c",
            PRINT,
        ]);
    let said = finish(&ledger, &mut command);
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("k f 1 ./receipts.db\n", 0)
    );
}

#[test]
fn a_command_that_changes_its_folder_still_finds_the_ledger() {
    let ledger = Scratch::with_ledger();
    let script = "cd / && \"$RL\" succeed --key \"$RECEIPT_LEDGER_KEY\" --attempt \"$RECEIPT_LEDGER_ATTEMPT\" --result-json '{\"id\":7}'";
    let said = finish(&ledger, &mut perform(&ledger, "", script));
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("state=succeeded attempt=1\n", 0)
    );
    assert_eq!(
        super::stage::fact(&ledger, "k", "result"),
        serde_json::json!({"id": 7})
    );
}

#[test]
fn a_run_inside_a_run_has_its_own_key() {
    let ledger = Scratch::with_ledger();
    let script =
        format!("\"$RL\" run --quiet --key inner --fingerprint g -- sh -c '{PRINT}'; {PRINT}");
    let said = finish(
        &ledger,
        &mut perform(&ledger, "--key outer --quiet", &script),
    );
    let db = ledger.path("receipts.db");
    let db = db.display();
    assert_eq!(said.stdout, format!("inner g 1 {db}\nouter f 1 {db}\n"));
    assert_eq!(
        (stands(&ledger, "inner"), stands(&ledger, "outer")),
        ("succeeded 1".into(), "succeeded 1".into())
    );
}

#[test]
fn a_ledger_that_run_creates_is_told_once_and_the_command_performs() {
    let ledger = Scratch::new();
    let said = finish(&ledger, &mut perform(&ledger, "", "echo x >>effects"));
    let note = format!(
        "note: created ledger {}\n",
        ledger.path("receipts.db").display()
    );
    let line = "decision=EXECUTE state=reserved attempt=1\n";
    assert_eq!((said.stderr, said.code), (note + line, 0));
    assert_eq!(lines(&ledger, "effects"), ["x"]);
    assert_eq!(
        std::fs::metadata(ledger.path("receipts.db-wal")).map_or(0, |facts| facts.len()),
        0
    );
}

#[test]
fn owner_run_and_amount_are_kept_and_the_owner_need_not_be_said_again() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let options = "--owner w1 --run r1 --amount 12.50 --currency EUR";
    let run = Running::start(
        &ledger,
        &mut perform(&ledger, options, "read go <gate; exit 0"),
    );
    let waiting = gate.reached();
    let fact = |name: &str| super::stage::fact(&ledger, "k", name);
    assert_eq!((fact("owner"), fact("run")), ("w1".into(), "r1".into()));
    assert_eq!(
        (fact("amount"), fact("currency")),
        ("12.50".into(), "EUR".into())
    );
    ledger.refuses("succeed --key k --owner thief", "not-owner");
    drop(waiting);
    assert_eq!(run.said().code, 0);
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
}

#[test]
#[cfg(target_os = "linux")]
fn a_ledgers_path_is_handed_on_byte_for_byte() {
    use std::os::unix::ffi::OsStrExt;

    let ledger = Scratch::new();
    let name = std::ffi::OsStr::from_bytes(b"a ? # %20 \xff.db");
    let mut command = binary();
    command
        .current_dir(ledger.path(""))
        .arg("--db")
        .arg(name)
        .args(["run", "--key", "k", "--fingerprint", "f", "--"])
        .args(["sh", "-c", "printf %s \"$RECEIPT_LEDGER_DB\""]);
    let output = command.output().unwrap();
    let mut path = ledger.path("").as_os_str().as_bytes().to_vec();
    path.extend_from_slice(name.as_bytes());
    assert_eq!((output.stdout, output.status.code()), (path, Some(0)));
}
