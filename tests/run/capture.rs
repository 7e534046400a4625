//! Contract 6.8: `--capture` keeps what the command wrote, passes it on, and replays it exactly.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::procs::alone;
use super::stage::{
    Gate, Running, fact, finish, lines, perform, perform_program, skips, stands, without_terminal,
};
use super::support::Scratch;

/// The most that is kept.
const KEPT: usize = 1 << 20;

/// Runs `cat` of these bytes under the key; standard output, standard error and code.
fn cat(ledger: &Scratch, key: &str, bytes: &[u8]) -> (Vec<u8>, String, Option<i32>) {
    fs::write(ledger.path("bytes"), bytes).unwrap();
    let options = format!("--capture --key {key}");
    let script = "echo x >>effects; exec cat bytes";
    let output = perform(ledger, &options, script).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.stdout, stderr, output.status.code())
}

#[test]
fn what_was_captured_is_replayed_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    let cases: [(&str, Vec<u8>, &str); 13] = [
        ("line", b"ord_9\n".to_vec(), "stdout"),
        ("no-newline", b"ord_9".to_vec(), "stdout"),
        ("empty", Vec::new(), "stdout"),
        ("newlines", b"\n\n\n".to_vec(), "stdout"),
        ("crlf", b"a\r\nb\r\n".to_vec(), "stdout"),
        ("nul", b"a\0b\0".to_vec(), "stdout"),
        ("utf-8", "ä\u{2028}\u{feff}\u{10ffff}\"\\".into(), "stdout"),
        ("latin-1", b"\xe4\n".to_vec(), "stdout_base64"),
        ("cut", b"a\xc3".to_vec(), "stdout_base64"),
        ("all", all, "stdout_base64"),
        ("full-nul", vec![0; KEPT], "stdout"),
        (
            "full-text",
            b"0123456789abcde\n".repeat(KEPT / 16),
            "stdout",
        ),
        ("full-high", vec![0xff; KEPT], "stdout_base64"),
    ];
    let ledger = Scratch::with_ledger();
    for (key, bytes, member) in cases {
        let (stdout, stderr, code) = cat(&ledger, key, &bytes);
        assert!(stdout == bytes && code == Some(0), "{key}: {stderr}");
        let result = fact(&ledger, key, "result");
        assert_eq!(result["exit_code"], 0, "{key}");
        assert_eq!(result.as_object().unwrap().len(), 2, "{key}");
        assert!(result[member].is_string(), "{key}");
        for _ in 0..2 {
            let (stdout, stderr, code) = cat(&ledger, key, b"other");
            assert!(stdout == bytes && code == Some(0), "{key}: {stderr}");
            assert_eq!(
                stderr,
                "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n"
            );
        }
    }
    assert_eq!(lines(&ledger, "effects").len(), 13);
}

#[test]
fn more_than_a_mebibyte_passes_and_is_never_replayed_in_part() {
    let ledger = Scratch::with_ledger();
    for (key, length) in [("one-more", KEPT + 1), ("many-more", 3 * KEPT + 7)] {
        let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
        let (stdout, stderr, code) = cat(&ledger, key, &bytes);
        assert!(stdout == bytes && code == Some(0), "{key}: {stderr}");
        let result = serde_json::json!({"exit_code": 0, "stdout_truncated": true});
        assert_eq!(fact(&ledger, key, "result"), result);
        no_output(&ledger, key);
    }
    assert_eq!(lines(&ledger, "effects").len(), 2);
}

#[test]
fn a_success_without_captured_output_has_none_to_replay() {
    let ledger = Scratch::with_ledger();
    assert_eq!(
        perform(&ledger, "--key uncaptured", "echo 1")
            .status()
            .unwrap()
            .code(),
        Some(0)
    );
    ledger.says(
        "reserve --key by-hand --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    ledger.says("succeed --key by-hand", "state=succeeded attempt=1\n");
    ledger.says(
        "resolve --key resolved --fingerprint f --as succeeded --evidence seen --result-json 7",
        "state=succeeded attempt=1\n",
    );
    let script = "echo 1; \"$RL\" succeed --key \"$RECEIPT_LEDGER_KEY\" --attempt 1 --result-json '{\"id\":1}'";
    let said = finish(
        &ledger,
        &mut perform(&ledger, "--key itself --capture", script),
    );
    assert_eq!(
        (said.stdout.as_str(), said.code),
        ("1\nstate=succeeded attempt=1\n", 0)
    );
    for key in ["uncaptured", "by-hand", "resolved", "itself"] {
        no_output(&ledger, key);
    }
}

/// Expects that a replay prints nothing and says so.
fn no_output(ledger: &Scratch, key: &str) {
    for quiet in ["", "--quiet"] {
        let options = format!("--capture {quiet} --key {key}");
        let said = finish(ledger, &mut perform(ledger, &options, "echo x >>effects"));
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{key}");
        assert!(said.stderr.contains("error[no-output]: "), "{said:?}");
        assert_eq!(stands(ledger, key), "succeeded 1");
    }
}

#[test]
fn nothing_is_replayed_where_success_is_not_on_record() {
    let ledger = Scratch::with_ledger();
    let said = finish(
        &ledger,
        &mut perform(&ledger, "--capture", "echo half; exit 1"),
    );
    assert_eq!((said.stdout.as_str(), said.code), ("half\n", 1));
    let said = finish(&ledger, &mut perform(&ledger, "--capture", "echo again"));
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str(), said.code),
        ("", "decision=SKIP_UNKNOWN state=unknown attempt=1\n", 75)
    );
}

#[test]
fn a_reader_that_goes_away_disturbs_neither_the_command_nor_the_record() {
    let ledger = Scratch::with_ledger();
    let script = "head -c 300000 /dev/zero; echo code $? >>effects; exit";
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut run = perform(&ledger, "--capture", script);
    let output = run.stdout(writer).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("error[output]: "), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stands(&ledger, "k"), "succeeded 1");
    assert_eq!(lines(&ledger, "effects"), ["code 0"]);
    let replayed = perform(&ledger, "--capture", script).output().unwrap();
    assert!(replayed.stdout == vec![0; 300_000] && replayed.status.success());

    if fs::exists("/dev/full").unwrap() {
        for (key, script) in [
            ("full", "echo 1"),
            ("full", "echo 2"),
            ("fails", "echo 1; exit 5"),
        ] {
            let full = fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap();
            let mut run = perform(&ledger, &format!("--capture --key {key}"), script);
            let output = run.stdout(full).output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains("error[output]: "), "{stderr}");
            assert_eq!(output.status.code(), Some(2), "{key}");
        }
        assert_eq!(stands(&ledger, "full"), "succeeded 1");
        assert_eq!(stands(&ledger, "fails"), "unknown 1");
    }
    skips(&ledger, "SKIP_SUCCEEDED", 0);
    assert_eq!(lines(&ledger, "effects"), ["code 0"]);
}

#[test]
fn a_reader_that_reads_nothing_does_not_keep_the_outcome_from_the_record() {
    let ledger = Scratch::with_ledger();
    let (reader, writer) = std::io::pipe().unwrap();
    // More than the pipe to the reader holds, less than the way to it.
    let mut run = without_terminal(&perform(&ledger, "--capture", "head -c 100000 /dev/zero"));
    let mut child = run.stdout(writer).spawn().unwrap();
    drop(run);
    super::stage::until("the outcome is on record", || {
        stands(&ledger, "k") == "succeeded 1"
    });
    assert!(
        child.try_wait().unwrap().is_none(),
        "it still waits for its reader"
    );
    let mut bytes = Vec::new();
    { reader }.read_to_end(&mut bytes).unwrap();
    assert!(bytes == vec![0; 100_000]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_reads_nothing_keeps_run_only_until_a_signal_and_the_output_is_replayed() {
    let ledger = Scratch::with_ledger();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut run = perform(&ledger, "--capture", "head -c 100000 /dev/zero");
    let stderr = fs::File::create(ledger.path("stderr")).unwrap();
    let mut child = run.stdout(writer).stderr(stderr).spawn().unwrap();
    drop(run);
    super::stage::until("the outcome is on record", || {
        stands(&ledger, "k") == "succeeded 1"
    });
    let mut status = None;
    super::stage::until("a signal ends it", || {
        // One that comes while the outcome is being recorded is too early for this.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::TERM,
        );
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(2));
    assert!(lines(&ledger, "stderr")[1].starts_with("error[output]: "));
    drop(reader);
    let replayed = perform(&ledger, "--capture", "echo again >>effects");
    let replayed = { replayed }.output().unwrap();
    assert!(replayed.stdout == vec![0; 100_000] && replayed.status.success());
}

#[test]
fn a_hundred_megabytes_pass_at_the_speed_of_a_pipe_and_in_constant_memory() {
    const BYTES: u64 = 100_000_000;
    /// What `run` holds besides, in KiB; what is captured is 1024 of it.
    const MEMORY_KIB_MAX: u64 = 24 * 1024;
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let drain = |mut reader: std::io::PipeReader| {
        let mut chunk = vec![0; 1 << 16];
        let mut total = 0;
        loop {
            match reader.read(&mut chunk).unwrap() {
                0 => return total,
                read => total += u64::try_from(read).unwrap(),
            }
        }
    };
    let produce = format!("head -c {BYTES} /dev/zero");

    let began = Instant::now();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut plain = Command::new("sh");
    let plain = plain.args(["-c", &format!("{produce} | cat | cat")]);
    let mut child = plain.stdout(writer).spawn().unwrap();
    plain.stdout(Stdio::null());
    assert_eq!(drain(reader), BYTES);
    child.wait().unwrap();
    let through_pipes = began.elapsed();

    let began = Instant::now();
    let (reader, writer) = std::io::pipe().unwrap();
    let script = format!("{produce}; read go <gate; exit 0");
    let mut run = perform(&ledger, "--capture", &script);
    let mut child = run.stdout(writer).spawn().unwrap();
    drop(run);
    let reader = std::thread::spawn(move || drain(reader));
    let waiting = gate.reached();
    let through_run = began.elapsed();
    let peak = high_water_kib(child.id());
    drop(waiting);
    assert_eq!(reader.join().unwrap(), BYTES);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    eprintln!(
        "100 MB: {through_run:?} through run, {through_pipes:?} through two pipes, {peak:?} KiB"
    );
    assert!(peak.is_none_or(|kib| kib < MEMORY_KIB_MAX), "{peak:?} KiB");
    // An unoptimised build on a busy machine; the bench tells the true figure.
    assert!(through_run < through_pipes * 6 + std::time::Duration::from_secs(2));
}

/// The most memory a process has held, where the system tells.
fn high_water_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[test]
fn the_same_id_every_time() {
    let ledger = Scratch::with_ledger();
    let script = "id=$(\"$RL\" --db receipts.db run --key order --fingerprint f --quiet --capture -- sh -c 'echo $$ | tee -a effects') || exit
        echo \"<$id>\"";
    let shell = || {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .current_dir(ledger.path(""))
            .env("RL", super::support::binary().get_program());
        let output = shell.output().unwrap();
        assert_eq!((output.stderr.len(), output.status.code()), (0, Some(0)));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = shell();
    assert_eq!(first, format!("<{}>\n", lines(&ledger, "effects")[0]));
    assert_eq!((shell(), shell()), (first.clone(), first));
    assert_eq!(lines(&ledger, "effects").len(), 1);
}

#[test]
fn while_it_is_in_flight_a_second_capture_prints_nothing() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let first = perform_program(
        &ledger,
        "--capture",
        &["sh", "-c", "echo 1; read go <gate; exit 0"],
    );
    let first = Running::start(&ledger, &mut { first });
    let waiting = gate.reached();
    let said = finish(&ledger, &mut perform(&ledger, "--capture", "echo 2"));
    assert_eq!((said.stdout.as_str(), said.code), ("", 75));
    drop(waiting);
    assert_eq!(first.said().stdout, "1\n");
}
