//! What a command inherits: descriptors, standard input, signal settings.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::wrapper::{Plan, Wrapper};

/// Bytes without a pattern that a lost or doubled block would fit into.
fn bytes(count: u32) -> Vec<u8> {
    (0..count)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
        .collect()
}

fn outcome(wrapper: &Wrapper) -> String {
    wrapper.report()["outcome"].as_str().unwrap().to_owned()
}

#[test]
fn ten_megabytes_of_input_arrive_exactly() {
    let sent = bytes(2_500_000);
    let wrapper = Plan::script("cat > received").stdin_bytes(&sent).start();
    assert_eq!(outcome(&wrapper), "exited 0");
    assert!(fs::read(wrapper.file("received")).unwrap() == sent);
}

#[test]
fn a_command_that_echoes_its_input_is_not_blocked_by_it() {
    let sent = bytes(500_000);
    let plan = Plan::script("cat")
        .stdin_bytes(&sent)
        .with("capture", 2_000_000);
    let wrapper = plan.start();
    assert_eq!(outcome(&wrapper), "exited 0");
    assert!(wrapper.captured() == sent);
}

#[test]
fn input_that_is_not_read_disturbs_nobody() {
    for script in [
        "exit 0",
        "head -c 5 > start; exec <&-; : > closed; [ $(cat start) = xxxxx ]",
    ] {
        let wrapper = Plan::script(script).stdin_bytes(&[b'x'; 10 << 20]).start();
        assert_eq!(outcome(&wrapper), "exited 0");
    }
}

#[test]
fn empty_input_ends_at_once() {
    for plan in [
        Plan::script("wc -c").stdin_bytes(b""),
        Plan::script("wc -c").with("stdin", "empty"),
    ] {
        let wrapper = plan.with("capture", 100).start();
        assert_eq!(outcome(&wrapper), "exited 0");
        assert_eq!(String::from_utf8(wrapper.captured()).unwrap().trim(), "0");
    }
}

#[test]
fn standard_input_is_the_commands_and_none_of_it_is_eaten() {
    let (theirs, mut ours) = io::pipe().unwrap();
    ours.write_all(b"one\ntwo\n").unwrap();
    let rest = theirs.try_clone().unwrap();
    let wrapper = Plan::script("read line; echo $line > got")
        .stdin(theirs)
        .start();
    assert_eq!(outcome(&wrapper), "exited 0");
    assert_eq!(wrapper.wait_for("got"), "one\n");
    drop(ours);
    assert_eq!(io::read_to_string(rest).unwrap(), "two\n");
}

#[test]
fn no_descriptor_leaks_into_the_command() {
    let list = "ls /dev/fd > list";
    for (stdin, capture) in [("inherit", None), ("bytes", Some(10))] {
        let plan = Plan::script(list).stdin_bytes(b"x");
        let wrapper = plan.with("stdin", stdin).with("capture", capture).start();
        assert_eq!(outcome(&wrapper), "exited 0");

        // What the tests were started with, if anything, is no leak.
        let folder = tempfile::tempdir().unwrap();
        let mut plain = Command::new("sh");
        plain.args(["-c", list]).current_dir(folder.path());
        assert!(
            plain
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        let expected = fs::read_to_string(folder.path().join("list")).unwrap();
        assert_eq!(fs::read_to_string(wrapper.file("list")).unwrap(), expected);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_starts_with_default_signals_and_none_blocked() {
    let words = [
        "env",
        "--default-signal",
        "--block-signal=USR1,TERM,CHLD,ALRM",
    ];
    let can_block = Command::new("env").args(&words[1..]).arg("true").output();
    if !can_block.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this env(1) cannot block signals");
        return;
    }
    let plan = Plan::new("cat", &["/proc/self/status"]).with("capture", 100_000);
    let wrapper = plan.through(&words).start();
    assert_eq!(outcome(&wrapper), "exited 0");
    let listed = String::from_utf8(wrapper.captured()).unwrap();
    for set in ["SigBlk:", "SigIgn:", "SigCgt:"] {
        let signals = listed
            .lines()
            .find_map(|line| line.strip_prefix(set))
            .unwrap();
        let signals = u64::from_str_radix(signals.trim(), 16).unwrap();
        // From 32 on they belong to the C library, which ignores two of them in what it spawns.
        assert_eq!(signals & 0x7fff_ffff, 0, "{set} {signals:x}");
    }
}

#[test]
fn the_standard_streams_are_the_wrappers_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("out")).unwrap();
    let wrapper = Plan::script("printf 'no newline'").stdout(file).start();
    assert_eq!(outcome(&wrapper), "exited 0");
    let written = fs::read(folder.path().join("out")).unwrap();
    assert!(written.ends_with(b"no newline"));
}
