//! Contract 6.1, 6.4, 6.6: the command's streams are its own, and who keeps them open keeps nobody.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::procs::has;
use super::stage::{
    Gate, Running, finish, lines, perform, perform_program, stands, without_terminal,
};
use super::support::{Scratch, said};

/// How long a grandchild sleeps; whoever waits for it takes at least this long.
const GRANDCHILD: Duration = Duration::from_secs(30);

#[test]
fn standard_input_output_and_error_are_the_commands() {
    for options in ["--quiet", "--quiet --capture"] {
        let ledger = Scratch::with_ledger();
        fs::write(ledger.path("in"), b"one\0two").unwrap();
        let script = "cat; echo oops >&2; read more || echo ' end'";
        let mut command = perform(&ledger, options, script);
        command.stdin(File::open(ledger.path("in")).unwrap());
        let said = finish(&ledger, &mut command);
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            ("one\0two end\n", "oops\n", 0)
        );
    }
}

#[test]
fn a_loop_over_lines_loses_none_to_run() {
    let ledger = Scratch::with_ledger();
    let keys: Vec<String> = (0..12).map(|n| format!("key-{n}")).collect();
    fs::write(ledger.path("keys"), keys.join("\n") + "\n").unwrap();
    for command in [
        "true",
        "sh -c 'exit 1'",
        "echo done",
        "no-such-program-anywhere",
    ] {
        let script = format!(
            "while read k; do
               echo \"$k\" >>seen
               \"$RL\" --db receipts.db run --key \"$k\" --fingerprint f --capture --wait 1s -- {command}
             done <keys"
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(ledger.path(""))
            .env("RL", super::support::binary().get_program());
        shell.output().unwrap();
        assert_eq!(lines(&ledger, "seen"), keys, "{command}");
        fs::remove_file(ledger.path("seen")).unwrap();
    }
    for key in &keys {
        assert_eq!(stands(&ledger, key), "succeeded 1");
    }
}

#[test]
fn a_payload_from_standard_input_is_read_and_the_command_finds_the_end() {
    let ledger = Scratch::with_ledger();
    fs::write(ledger.path("in"), "{\"a\": 1}").unwrap();
    let mut command =
        ledger.command(["run", "--key", "k", "--payload-json", "-", "--", "wc", "-c"]);
    command.stdin(File::open(ledger.path("in")).unwrap());
    let said = finish(&ledger, &mut command);
    assert_eq!((said.stdout.trim(), said.code), ("0", 0));
}

#[test]
fn a_grandchild_that_keeps_the_streams_open_keeps_nobody() {
    for options in ["", "--capture", "--timeout 1h --capture"] {
        let ledger = Scratch::with_ledger();
        let script = format!(
            "sleep {} & echo $! >grandchild; echo done; exit 3",
            GRANDCHILD.as_secs()
        );
        let began = Instant::now();
        let command = without_terminal(&perform(&ledger, options, &script));
        let said = finish(&ledger, &mut { command });
        assert!(began.elapsed() < GRANDCHILD / 2, "{options}");
        let grandchild = lines(&ledger, "grandchild")[0].parse().unwrap();
        let grandchild = rustix::process::Pid::from_raw(grandchild).unwrap();
        let sent = rustix::process::kill_process(grandchild, rustix::process::Signal::KILL);
        assert_eq!(sent, Ok(()), "it was still there");
        assert_eq!((said.stdout.as_str(), said.code), ("done\n", 3));
        assert_eq!(stands(&ledger, "k"), "unknown 1");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_descriptor_of_the_ledger_is_open_in_the_command() {
    /// The numbers of the open descriptors that `ls -l` has listed.
    fn open(listed: &str) -> Vec<&str> {
        let links = listed.lines().filter_map(|line| line.split_once(" -> "));
        let mut numbers: Vec<&str> = links
            .filter_map(|(facts, _)| facts.rsplit(' ').next())
            .collect();
        numbers.sort_unstable();
        numbers
    }
    const LIST: &str = "ls -l /proc/$$/fd; exit 1";
    let ledger = Scratch::with_ledger();
    let without_run = finish(&ledger, Command::new("sh").args(["-c", LIST]));
    for (key, options) in [
        ("plain", ""),
        ("captured", "--capture"),
        ("timed", "--timeout 1h"),
    ] {
        let options = format!("--key {key} {options}");
        let said = finish(&ledger, &mut perform(&ledger, &options, LIST));
        assert_eq!(said.code, 1, "{said:?}");
        assert!(!said.stdout.contains("receipts"), "{}", said.stdout);
        let (with, without) = (open(&said.stdout), open(&without_run.stdout));
        assert!(without.contains(&"2"), "{without_run:?}");
        assert_eq!(with, without, "{}", said.stdout);
    }
}

#[test]
fn while_the_command_runs_others_decide_and_settle_other_keys() {
    let ledger = Scratch::with_ledger();
    let gate = Gate::new(&ledger, "gate");
    let run = Running::start(
        &ledger,
        &mut perform(&ledger, "--capture", "read go <gate; exit 0"),
    );
    let waiting = gate.reached();
    for n in 0..5 {
        let args = format!("--busy-timeout 1ms reserve --key other-{n} --fingerprint f");
        let said = ledger.run(&args);
        let line = "decision=EXECUTE state=reserved attempt=1\n";
        assert_eq!((said.stdout.as_str(), said.code), (line, 0), "{said:?}");
        ledger.says(
            &format!("--busy-timeout 1ms fail --key other-{n}"),
            "state=failed attempt=1\n",
        );
    }
    drop(waiting);
    assert_eq!(run.said().code, 0);
}

#[test]
fn the_outcome_is_recorded_though_nobody_hears_what_is_said() {
    let ledger = Scratch::with_ledger();
    let say = "echo x >>effects; exit 0";
    let closed = |key: &str, redirect: &str| {
        let run = perform(&ledger, &format!("--key {key}"), say);
        let shell = format!("exec \"$0\" \"$@\" {redirect}");
        let mut shell = super::procs::wrapped("sh", &["-c", &shell], &run);
        shell.status().unwrap().code()
    };
    assert_eq!(closed("closed", "2>&-"), Some(0));
    assert_eq!(closed("all-closed", "2>&- >&- <&-"), Some(0));
    if fs::exists("/dev/full").unwrap() {
        assert_eq!(closed("full", "2>/dev/full"), Some(0));
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut run = perform(&ledger, "--key unread", say);
    assert_eq!(run.stderr(writer).status().unwrap().code(), Some(0));
    for key in ["closed", "all-closed", "unread"] {
        assert_eq!(stands(&ledger, key), "succeeded 1", "{key}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn run_waits_for_its_command_once_and_asks_nobody_again_and_again() {
    if !has("strace", &["-V"]) {
        eprintln!("skipped: no strace");
        return;
    }
    for options in [
        "--lease 1h",
        "--lease 1h --capture",
        "--lease 1h --timeout 1h",
    ] {
        let ledger = Scratch::with_ledger();
        let run = perform_program(&ledger, options, &["sleep", "1"]);
        // Threads of run, not the command.
        let strace = ["-f", "-qq", "-b", "execve", "-o", "trace", "-e"];
        let calls = "trace=poll,ppoll,nanosleep,clock_nanosleep,wait4,waitid,futex,restart_syscall";
        let traced = super::procs::wrapped("strace", &[&strace[..], &[calls]].concat(), &run);
        let output = said(&{ traced }.stdin(Stdio::null()).output().unwrap());
        assert_eq!(output.code, 0, "{output:?}");
        let trace = fs::read_to_string(ledger.path("trace")).unwrap();
        let count = |name: &str| {
            let begins = format!(" {name}(");
            trace.lines().filter(|line| line.contains(&begins)).count()
        };
        assert_eq!(count("nanosleep") + count("clock_nanosleep"), 0, "{trace}");
        assert!(count("poll") + count("ppoll") <= 8, "{options}: {trace}");
        assert!(count("wait4") + count("waitid") <= 8, "{options}: {trace}");
        assert!(count("futex") <= 30, "{options}: {trace}");
    }
}
