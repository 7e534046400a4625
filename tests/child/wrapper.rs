//! The process under test: a supervisor and its one command, told what to do by a variable, telling by files.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use receipt_ledger::child::{Capture, Command, Ending, Input, Outcome, StartError, Supervisor};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

const VARIABLE: &str = "RECEIPT_LEDGER_TEST_WRAPPER";

/// How long anything may take before a test gives up on it. Long, for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the wrapper writes to standard output after what the test harness has written there.
pub(crate) const MARK: &[u8] = b"--- from here on\n";

/// A wrapper that is to be started: its folder and what it shall do.
pub(crate) struct Plan {
    pub(crate) folder: TempDir,
    instructions: Value,
    stdin: Stdio,
    stdout: Stdio,
    /// What the wrapper is started through, with the wrapper's own words added at the end.
    through: Vec<OsString>,
}

/// A wrapper that runs, killed when a test is done with it.
pub(crate) struct Wrapper {
    pub(crate) process: process::Child,
    folder: TempDir,
}

impl Plan {
    pub(crate) fn new(program: &str, args: &[&str]) -> Plan {
        Plan {
            folder: tempfile::tempdir().unwrap(),
            instructions: json!({"program": program, "args": args, "detached": true}),
            stdin: Stdio::null(),
            stdout: Stdio::null(),
            through: Vec::new(),
        }
    }

    /// A shell script, with the test's folder as its current one.
    pub(crate) fn script(script: &str) -> Plan {
        Plan::new("sh", &["-c", script])
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Plan {
        self.instructions[name] = value.into();
        self
    }

    pub(crate) fn stdin_bytes(self, bytes: &[u8]) -> Plan {
        fs::write(self.folder.path().join("stdin"), bytes).unwrap();
        self.with("stdin", "bytes")
    }

    pub(crate) fn stdin(mut self, stdin: impl Into<Stdio>) -> Plan {
        self.stdin = stdin.into();
        self
    }

    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Plan {
        self.stdout = stdout.into();
        self
    }

    pub(crate) fn through(mut self, words: &[&str]) -> Plan {
        self.through = words.iter().map(OsString::from).collect();
        self
    }

    /// In the session and the terminal of what it is started through.
    pub(crate) fn in_a_terminal(self) -> Plan {
        self.with("detached", false)
    }

    pub(crate) fn start(self) -> Wrapper {
        let mut words = self.through;
        words.push(env::current_exe().unwrap().into());
        words.extend(entry_point("wrapper::wrapper").map(OsString::from));
        let process = process::Command::new(&words[0])
            .args(&words[1..])
            .env(VARIABLE, self.instructions.to_string())
            .current_dir(self.folder.path())
            .stdin(self.stdin)
            .stdout(self.stdout)
            .spawn()
            .unwrap();
        Wrapper {
            process,
            folder: self.folder,
        }
    }

    pub(crate) fn report(self) -> Value {
        self.start().report()
    }
}

impl Wrapper {
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The content of a file, once there is one.
    pub(crate) fn wait_for(&self, name: &str) -> String {
        self.wait_until(name, |_| true)
    }

    /// The content of a file, once it is as wanted.
    pub(crate) fn wait_until(&self, name: &str, wanted: impl Fn(&str) -> bool) -> String {
        let file = self.file(name);
        let mut last = None;
        let found = eventually(|| {
            last = fs::read_to_string(&file).ok();
            last.as_deref().is_some_and(&wanted)
        });
        assert!(found, "{name} stayed {last:?}");
        last.unwrap()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// What the wrapper told when its command had ended.
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.wait_for("report")).unwrap()
    }

    /// What the wrapper told when all was passed on.
    pub(crate) fn finished(&self) -> String {
        self.wait_for("finished")
    }

    pub(crate) fn captured(&self) -> Vec<u8> {
        fs::read(self.file("captured")).unwrap()
    }
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        // A command that the test left behind is in neither's way, but must not outlive the tests.
        if let Ok(pid) = fs::read_to_string(self.file("left-behind")) {
            let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether something became true in time.
pub(crate) fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The words with which this binary goes to one of its `#[ignore]`d functions.
pub(crate) fn entry_point(name: &str) -> [&str; 4] {
    [name, "--exact", "--ignored", "--nocapture"]
}

/// Writes a file that is there as a whole or not at all.
pub(crate) fn tell(name: &str, content: impl AsRef<[u8]>) {
    let draft = format!("{name}.draft");
    fs::write(&draft, content).unwrap();
    fs::rename(draft, name).unwrap();
}

#[test]
#[ignore = "an entry point of the tests: the process under test"]
fn wrapper() {
    let Ok(instructions) = env::var(VARIABLE) else {
        return;
    };
    let instructions: Value = serde_json::from_str(&instructions).unwrap();
    if instructions["detached"] == true {
        rustix::process::setsid().unwrap();
    }
    let mut supervisor = Supervisor::install().unwrap();
    tell("installed", process::id().to_string());
    if instructions["await_signal"] == true {
        let signal = supervisor.wait_for_signal(PATIENCE);
        assert_eq!(signal, supervisor.pending());
    }
    if let Some(path) = instructions["stdout"].as_str() {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        rustix::stdio::dup2_stdout(&file).unwrap();
    } else if instructions["capture"].is_u64() {
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(MARK).and_then(|()| stdout.flush());
    }
    let started = Instant::now();
    let report = supervisor.supervise(command(&instructions));
    let took = started.elapsed();
    let mut told = json!({
        "outcome": name(&report.outcome),
        "signal": report.signal,
        "took_ms": u64::try_from(took.as_millis()).unwrap(),
        "memory_kib": peak_memory_kib(),
    });
    let passing_on = report.captured.map(|captured| {
        tell("captured", &captured.bytes);
        told["truncated"] = captured.truncated.into();
        captured.passing_on
    });
    tell("report", told.to_string());
    if let Some(passing_on) = passing_on {
        let finished = passing_on.finish(&mut supervisor);
        let finished = finished.map_err(|error| error.kind());
        tell("finished", format!("{finished:?}"));
    }
    process::exit(0);
}

fn command(instructions: &Value) -> Command {
    let milliseconds = |name: &str| instructions[name].as_u64().map(Duration::from_millis);
    let words = instructions["args"].as_array().unwrap();
    Command {
        program: instructions["program"].as_str().unwrap().into(),
        args: words
            .iter()
            .map(|word| word.as_str().unwrap().into())
            .collect(),
        envs: vec![("ADDED".into(), "by the wrapper".into())],
        stdin: match instructions["stdin"].as_str() {
            Some("bytes") => Input::Bytes(fs::read("stdin").unwrap()),
            Some("empty") => Input::Empty,
            _ => Input::Inherit,
        },
        timeout: milliseconds("timeout_ms"),
        kill_after: milliseconds("kill_after_ms").unwrap_or(PATIENCE),
        capture: instructions["capture"].as_u64().map(|bytes_max| Capture {
            bytes_max: usize::try_from(bytes_max).unwrap(),
        }),
    }
}

fn name(outcome: &Outcome) -> String {
    let ended = |ending: &Ending| match ending {
        Ending::Exited(code) => format!("exited {code}"),
        Ending::Killed(signal) => format!("killed {signal}"),
    };
    match outcome {
        Outcome::NotStarted(StartError::NotFound) => "not found".to_owned(),
        Outcome::NotStarted(StartError::Other(error)) => format!("not started: {}", error.kind()),
        Outcome::SignalledBeforeStart(signal) => format!("signalled {signal}"),
        Outcome::Ended(ending) => ended(ending),
        Outcome::TimedOut(ending) => format!("timed out, {}", ended(ending)),
        Outcome::Lost(error) => format!("lost: {error}"),
    }
}

/// The most memory this process has used, where the system says.
fn peak_memory_kib() -> Option<u64> {
    let known = fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
