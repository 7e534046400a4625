//! What goes into `batch`, and what comes out of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::support::Scratch;

/// After this long an answer that had to come has not.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one `batch` said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) lines: Vec<String>,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// Runs `batch` on this input.
pub(crate) fn batch(ledger: &Scratch, input: impl AsRef<[u8]>) -> Answers {
    feed(&mut ledger.command(["batch"]), input.as_ref())
}

/// Runs a command on this input.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Answers {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // Whoever has ended early reads no more.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap()
    });
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.is_empty() || stdout.ends_with('\n'), "{stdout:?}");
    Answers {
        lines: stdout.lines().map(str::to_owned).collect(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or(-1),
    }
}

impl Answers {
    /// Each answer as JSON.
    pub(crate) fn values(&self) -> Vec<Value> {
        let read = |line: &String| serde_json::from_str(line).unwrap();
        self.lines.iter().map(read).collect()
    }

    /// In a word each: the decision, the state, or the error's code.
    pub(crate) fn words(&self) -> Vec<String> {
        self.values().iter().map(word).collect()
    }
}

/// An answer's decision, its state, or its error's code.
pub(crate) fn word(answer: &Value) -> String {
    let found = [
        &answer["decision"],
        &answer["error"]["code"],
        &answer["state"],
    ];
    let found = found.into_iter().find_map(Value::as_str);
    found.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// `reserve` of a key, as a line.
pub(crate) fn reserve(key: &str) -> String {
    format!("{{\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"v1\"}}\n")
}

/// A `batch` that is spoken to line by line.
pub(crate) struct Coprocess {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Coprocess {
    pub(crate) fn start(command: &mut Command) -> Coprocess {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (tell, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if tell.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Coprocess {
            child,
            stdin,
            answers,
        }
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes.as_ref()).unwrap();
    }

    /// The next answer; it has to come, although nothing more is sent.
    pub(crate) fn answer(&mut self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE);
        serde_json::from_str(&line.expect("an answer comes")).unwrap()
    }

    /// Sends a line and waits for its answer.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.answer()
    }

    /// Whether an answer has come that nobody has taken.
    pub(crate) fn has_answered(&mut self) -> bool {
        self.answers.try_recv().is_ok()
    }

    /// Ends the input and waits for the end: what was said on standard error, and the exit code.
    pub(crate) fn end(mut self) -> (String, i32) {
        drop(self.stdin.take());
        let mut stderr = String::new();
        let mut told = self.child.stderr.take().unwrap();
        told.read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(self.answers.try_iter().next(), None, "nobody asked for it");
        (stderr, status.code().unwrap_or(-1))
    }
}
