//! Signals in a session with a terminal.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::counter;
use super::wrapper::{Plan, Wrapper};

/// Runs its arguments as the leader of a session with a terminal on which it types what it reads.
const TERMINAL: &str = "import pty, sys; pty.spawn(sys.argv[1:])";

/// `plan` in a terminal, behind `words`; `None` where this machine has no way to make one.
fn start(plan: Plan, words: &[&str]) -> Option<Wrapper> {
    let has_python = Command::new("python3").args(["-c", "import pty"]).status();
    if !has_python.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no python3 with the module pty");
        return None;
    }
    let through = [&["python3", "-c", TERMINAL], words].concat();
    Some(
        plan.in_a_terminal()
            .through(&through)
            .stdin(Stdio::piped())
            .start(),
    )
}

fn type_in(wrapper: &mut Wrapper, keys: &[u8]) {
    let terminal = wrapper.process.stdin.as_mut().unwrap();
    terminal.write_all(keys).unwrap();
    terminal.flush().unwrap();
}

/// The process that holds the supervisor: what this test started is the terminal.
fn supervisor(wrapper: &Wrapper) -> Pid {
    Pid::from_raw(wrapper.wait_for("installed").parse().unwrap()).unwrap()
}

#[test]
fn what_is_typed_reaches_the_command_once() {
    let Some(mut wrapper) = start(counter::plan(), &[]) else {
        return;
    };
    wrapper.wait_for("ready");
    assert_eq!(wrapper.wait_for("group"), supervisor(&wrapper).to_string());
    let typed = [
        ("INT", b"\x03"),
        ("QUIT", b"\x1c"),
        ("INT", b"\x03"),
        ("INT", b"\x03"),
    ];
    for (index, (name, key)) in typed.iter().enumerate() {
        type_in(&mut wrapper, *key);
        let got = wrapper.wait_until("got", |got| got.lines().count() > index);
        assert_eq!(got.lines().last(), Some(*name));
    }
    assert_eq!(counter::count(&wrapper), typed.map(|(name, _)| name));
    assert_eq!(wrapper.report()["signal"], Signal::INT.as_raw());
}

#[test]
fn a_signal_to_the_wrapper_alone_reaches_the_command_in_its_terminal_once() {
    let Some(wrapper) = start(counter::plan(), &[]) else {
        return;
    };
    wrapper.wait_for("ready");
    // On macOS the first two, from another session, count as typed.
    let sent = &counter::HANDED_ON[if cfg!(target_os = "macos") { 2 } else { 0 }..];
    for (signal, name) in sent {
        kill_process(supervisor(&wrapper), *signal).unwrap();
        wrapper.wait_until("got", |got| got.lines().last() == Some(*name));
    }
    let expected: Vec<&str> = sent.iter().map(|(_, name)| *name).collect();
    assert_eq!(counter::count(&wrapper), expected);
}

#[test]
fn the_command_can_read_the_terminal() {
    let script = "read line; read other < /dev/tty; echo \"$line $other\" > got";
    for words in [&[][..], &["sh", "-c", "\"$@\"; :", "sh"]] {
        let Some(mut wrapper) = start(Plan::script(script), words) else {
            return;
        };
        type_in(&mut wrapper, b"one\ntwo\n");
        wrapper.wait_until("got", |got| got == "one two\n");
        assert_eq!(wrapper.report()["outcome"], "exited 0");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_hangs_up_reaches_the_command_once() {
    let Some(mut wrapper) = start(counter::plan(), &[]) else {
        return;
    };
    wrapper.wait_for("ready");
    // The kernel tells the leader of the session alone, and that is the supervisor.
    wrapper.process.kill().unwrap();
    wrapper.wait_until("got", |got| !got.is_empty());
    assert_eq!(counter::count(&wrapper), ["HUP"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_of_the_session_reaches_the_command_once() {
    let shell = ["sh", "-c", "echo $$ > leader; \"$@\"; :", "sh"];
    let Some(wrapper) = start(counter::plan(), &shell) else {
        return;
    };
    wrapper.wait_for("ready");
    let leader = Pid::from_raw(wrapper.wait_for("leader").trim().parse().unwrap()).unwrap();
    // The kernel tells the whole foreground group, the supervisor and the command.
    kill_process(leader, Signal::KILL).unwrap();
    wrapper.wait_until("got", |got| !got.is_empty());
    assert_eq!(counter::count(&wrapper), ["HUP"]);
}

#[test]
fn a_key_at_any_moment_reaches_the_command_once_or_keeps_it_from_starting() {
    for round in 0..10 {
        let Some(mut wrapper) = start(counter::plan(), &[]) else {
            return;
        };
        wrapper.wait_for("installed");
        thread::sleep(Duration::from_micros(round * 400));
        type_in(&mut wrapper, b"\x03");
        counter::assert_once_or_never_started(&wrapper);
    }
}
