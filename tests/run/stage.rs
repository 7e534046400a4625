//! A command under `run` while it runs: started, watched, signalled, waited for. Nothing here waits without an end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ToSql;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::procs::{plain, standing, wrapped};
use super::support::{Said, Scratch, binary};

/// After this long something that had to happen has not.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// `run` of a shell script, under the key `k` unless the options name another. In the script `$RL` is the binary.
pub(crate) fn perform(ledger: &Scratch, options: &str, script: &str) -> Command {
    perform_program(ledger, options, &["sh", "-c", script])
}

/// `run` of any program.
pub(crate) fn perform_program<S: AsRef<OsStr>>(
    ledger: &Scratch,
    options: &str,
    program: &[S],
) -> Command {
    let mut command = ledger.command(["run", "--fingerprint", "f"]);
    if !options.contains("--key") {
        command.args(["--key", "k"]);
    }
    command
        .args(options.split_whitespace())
        .arg("--")
        .args(program)
        .env("RL", binary().get_program());
    command
}

/// The same in a session without a terminal, wherever the tests are started from, and in a process group of its own.
pub(crate) fn without_terminal(command: &Command) -> Command {
    if cfg!(target_os = "linux") {
        wrapped::<&str>("setsid", &[], command)
    } else {
        const SETSID: &str = "use POSIX; POSIX::setsid(); exec { $ARGV[0] } @ARGV";
        wrapped("perl", &["-e", SETSID, "--"], command)
    }
}

/// A call of the binary that has not been waited for. What it says goes to files: nobody who holds them keeps us.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    pub(crate) fn start(ledger: &Scratch, command: &mut Command) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stdout = ledger.path(&format!("{number}.stdout"));
        let stderr = ledger.path(&format!("{number}.stderr"));
        command
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        let child = command.spawn().unwrap();
        Running {
            child,
            stdout,
            stderr,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// To every process of the group that [`without_terminal`] gave it.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// What it has said on standard error so far.
    pub(crate) fn told(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        until("the call ends", || self.has_ended());
        self.child.wait().unwrap()
    }

    /// Waits for its end; the code is -n where signal n killed it.
    pub(crate) fn said(mut self) -> Said {
        let status = self.ended();
        Said {
            stdout: fs::read_to_string(&self.stdout).unwrap(),
            stderr: self.told(),
            code: status.code().unwrap_or_else(|| -status.signal().unwrap()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub(crate) fn finish(ledger: &Scratch, command: &mut Command) -> Said {
    Running::start(ledger, command).said()
}

/// Looks again and again until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it has not come: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// A pipe with a name, at which a script waits: `read go <gate`.
pub(crate) struct Gate(PathBuf);

/// A script that waits at a gate. Dropped, the gate opens.
#[must_use]
pub(crate) struct Waiting {
    _gate: File,
}

impl Gate {
    pub(crate) fn new(ledger: &Scratch, name: &str) -> Gate {
        let path = ledger.path(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        Gate(path)
    }

    /// Waits until somebody waits there.
    pub(crate) fn reached(&self) -> Waiting {
        let mut gate = None;
        until("somebody waits at the gate", || {
            let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
            let mut options = fs::OpenOptions::new();
            options.write(true).custom_flags(nonblocking.cast_signed());
            gate = options.open(&self.0).ok();
            gate.is_some()
        });
        Waiting {
            _gate: gate.unwrap(),
        }
    }
}

/// The lines of a file in the scratch folder; none if it is not there.
pub(crate) fn lines(ledger: &Scratch, name: &str) -> Vec<String> {
    let text = fs::read_to_string(ledger.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What stands for the key, `state attempt`; `nothing` where there is no receipt.
pub(crate) fn stands(ledger: &Scratch, key: &str) -> String {
    let show = ledger.run(&format!("show --key {key}"));
    standing(&show).map_or_else(
        || "nothing".to_owned(),
        |(state, attempt)| format!("{state} {attempt}"),
    )
}

/// One fact of the key's receipt, from its JSON.
pub(crate) fn fact(ledger: &Scratch, key: &str, name: &str) -> serde_json::Value {
    let show = ledger.run(&format!("show --format json --key {key}"));
    let receipt: serde_json::Value = serde_json::from_str(&show.stdout).unwrap();
    receipt[name].clone()
}

/// Changes the ledger's file past the ledger.
pub(crate) fn rewrite(ledger: &Scratch, sql: &str, values: &[&dyn ToSql]) {
    let connection = plain(&ledger.path("receipts.db"));
    assert_eq!(connection.execute(sql, values).unwrap(), 1);
}

/// Lets the lease run out, now.
pub(crate) fn expire(ledger: &Scratch, key: &str) {
    const SQL: &str = "UPDATE receipt_ledger_receipt SET lease_expires_at_ms = attempt_started_at_ms - 1 \
                       WHERE key = ?1 AND lease_expires_at_ms IS NOT NULL";
    rewrite(ledger, SQL, &[&key]);
}

/// Expects that another `run` of the key performs nothing, and says this.
pub(crate) fn skips(ledger: &Scratch, decision: &str, code: i32) {
    let said = finish(ledger, &mut perform(ledger, "", "echo again >>effects"));
    let start = format!("decision={decision} ");
    assert!(said.stderr.starts_with(&start), "{decision}: {said:?}");
    assert_eq!((said.stdout.as_str(), said.code), ("", code), "{said:?}");
}
