//! A command that writes down every signal it gets, one line each, until there is a file `end` (or its folder is gone).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use super::wrapper::{Plan, Wrapper, entry_point, eventually, tell};

/// The signals that a supervisor hands on, as the counter names them.
pub(crate) const HANDED_ON: [(Signal, &str); 6] = [
    (Signal::INT, "INT"),
    (Signal::QUIT, "QUIT"),
    (Signal::TERM, "TERM"),
    (Signal::HUP, "HUP"),
    (Signal::USR1, "USR1"),
    (Signal::USR2, "USR2"),
];

/// A wrapper around the counter.
pub(crate) fn plan() -> Plan {
    let program = std::env::current_exe().unwrap();
    Plan::new(program.to_str().unwrap(), &entry_point("counter::counter")).with("stdin", "empty")
}

/// The signals that the counter of `wrapper` has got in its whole life, which this ends.
pub(crate) fn count(wrapper: &Wrapper) -> Vec<String> {
    fs::write(wrapper.file("end"), "").unwrap();
    assert_eq!(wrapper.report()["outcome"], "exited 9");
    let got = fs::read_to_string(wrapper.file("got")).unwrap();
    got.lines().map(str::to_owned).collect()
}

/// After one INT at some moment of its start: the counter got it once, or died of it (it then had not set itself up), or
/// was not started.
pub(crate) fn assert_once_or_never_started(wrapper: &Wrapper) {
    let arrived = || fs::metadata(wrapper.file("got")).is_ok_and(|got| got.len() > 0);
    assert!(eventually(|| arrived() || wrapper.file("report").exists()));
    if arrived() {
        assert_eq!(count(wrapper), ["INT"]);
        return;
    }
    let report = wrapper.report();
    match report["outcome"].as_str().unwrap() {
        "signalled 2" => assert!(!wrapper.file("ready").exists()),
        "killed 2" => assert_eq!(report["signal"], 2),
        other => panic!("{other}"),
    }
}

#[test]
#[ignore = "an entry point of the tests: a command that counts its signals"]
fn counter() {
    if !Path::new("installed").exists() {
        return;
    }
    let numbers = HANDED_ON.map(|(signal, _)| signal.as_raw());
    let mut signals = SignalsInfo::<WithOrigin>::new(numbers).unwrap();
    let mut got = OpenOptions::new()
        .create(true)
        .append(true)
        .open("got")
        .unwrap();
    tell("group", rustix::process::getpgrp().to_string());
    tell("ready", process::id().to_string());
    loop {
        // Looked for first: what was sent before `end` was made is counted.
        let end = Path::new("end").exists();
        for origin in signals.pending() {
            let named = HANDED_ON
                .iter()
                .find(|(signal, _)| signal.as_raw() == origin.signal);
            writeln!(got, "{}", named.unwrap().1).unwrap();
        }
        if end || !Path::new("installed").exists() {
            process::exit(9);
        }
        thread::sleep(Duration::from_millis(2));
    }
}
