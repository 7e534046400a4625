//! What strace sees: syncs, changes of the folder, peak memory.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Syncs of one call.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Syncs {
    /// Of the database and its log.
    pub(crate) files: u32,
    /// Of anything else: the folder.
    pub(crate) others: u32,
    /// Whether an entry of the folder was created or removed.
    pub(crate) folder_changed: bool,
}

/// Runs a command and counts its syncs.
pub(crate) fn syncs(command: &Command, db: &Path) -> Result<Syncs, Box<dyn Error>> {
    let folder = db.parent().ok_or("the ledger lies in a folder")?;
    let log = folder.with_extension("strace");
    let before = fs::metadata(folder)?.modified()?;
    let mut strace = traced(
        command,
        &[
            "-f",
            "-y",
            "-e",
            "trace=fsync,fdatasync,sync_file_range,sync,syncfs,msync",
        ],
    );
    strace.arg("-o").arg(&log);
    // The options end where the traced program begins: it comes last.
    strace.arg(command.get_program()).args(command.get_args());
    let output = strace.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let name = db.to_string_lossy();
    let ours = [format!("<{name}>"), format!("<{name}-wal>")];
    let mut syncs = Syncs {
        folder_changed: fs::metadata(folder)?.modified()? != before,
        ..Syncs::default()
    };
    for line in fs::read_to_string(&log)?.lines() {
        if ours.iter().any(|file| line.contains(file.as_str())) {
            syncs.files += 1;
        } else if line.contains("sync(") {
            syncs.others += 1;
        }
    }
    Ok(syncs)
}

/// Runs a command and tells the most memory it ever held, in KiB. strace holds it back for a moment at its very end,
/// and there the kernel is asked. (What wait4 says would count the memory of the process that forked it.)
pub(crate) fn peak_kib(command: &Command) -> Result<u64, Box<dyn Error>> {
    let hold = [
        "-e",
        "trace=exit_group",
        "-e",
        "inject=exit_group:delay_enter=300000",
    ];
    let mut strace = traced(command, &hold);
    strace.arg(command.get_program()).args(command.get_args());
    let mut running = strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut peak = 0;
    loop {
        let pid = running.id();
        let children =
            fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for child in children.split_whitespace() {
            peak = peak.max(high_water_kib(child, command).unwrap_or(0));
        }
        if let Some(status) = running.try_wait()? {
            return if status.success() && peak > 0 {
                Ok(peak)
            } else {
                Err("it could not be watched".into())
            };
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The most memory a process has held, once it is the program that was asked for and no longer strace's own fork.
fn high_water_kib(pid: &str, command: &Command) -> Option<u64> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    if program.file_name() != Path::new(command.get_program()).file_name() {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn traced(command: &Command, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.arg("-qq").args(options);
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    strace
}
