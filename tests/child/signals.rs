//! Signals where no terminal is involved: each reaches the command once.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};

use super::counter::{self, HANDED_ON};
use super::wrapper::Plan;

#[test]
fn a_signal_to_the_wrapper_alone_reaches_the_command_once() {
    let wrapper = counter::plan().start();
    wrapper.wait_for("ready");
    for (signal, name) in HANDED_ON {
        wrapper.signal(signal);
        wrapper.wait_until("got", |got| got.lines().last() == Some(name));
    }
    assert_eq!(counter::count(&wrapper), HANDED_ON.map(|(_, name)| name));
    assert_eq!(wrapper.report()["signal"], HANDED_ON[0].0.as_raw());
}

#[test]
fn a_signal_to_the_whole_group_reaches_the_command_once() {
    let wrapper = counter::plan().start();
    wrapper.wait_for("ready");
    assert_ne!(wrapper.wait_for("group"), wrapper.pid().to_string());
    for (signal, name) in HANDED_ON {
        kill_process_group(wrapper.pid(), signal).unwrap();
        wrapper.wait_until("got", |got| got.lines().last() == Some(name));
    }
    assert_eq!(counter::count(&wrapper), HANDED_ON.map(|(_, name)| name));
}

#[test]
fn a_signal_ten_times_over_reaches_the_command_ten_times() {
    let wrapper = counter::plan().start();
    wrapper.wait_for("ready");
    for sent in 1..=10 {
        wrapper.signal(Signal::USR1);
        wrapper.wait_until("got", |got| got.lines().count() == sent);
    }
    assert_eq!(counter::count(&wrapper), ["USR1"; 10]);
}

#[test]
fn a_kill_of_the_whole_group_spares_the_command() {
    let script = ": > ready; until [ -e go-on ]; do sleep 0.01; done; : > survived";
    let mut wrapper = Plan::script(script).start();
    wrapper.wait_for("ready");
    kill_process_group(wrapper.pid(), Signal::KILL).unwrap();
    wrapper.process.wait().unwrap();
    fs::write(wrapper.file("go-on"), "").unwrap();
    wrapper.wait_for("survived");
}

#[test]
fn an_end_that_is_asked_for_reaches_what_the_command_has_started_too() {
    let script = "sh -c 'trap \"echo INT > inner; exit\" INT; : > ready; while [ -e installed ]; do sleep 0.01; done'; :";
    let wrapper = Plan::script(script).start();
    wrapper.wait_for("ready");
    wrapper.signal(Signal::INT);
    wrapper.wait_until("inner", |inner| inner == "INT\n");
}

#[test]
fn a_message_reaches_the_command_alone() {
    let script = "trap 'echo USR1 > outer' USR1; \
         sh -c ': > ready; until [ -e go-on ]; do sleep 0.01; done; exit 7' & \
         wait $!; code=$?; if [ $code -gt 128 ]; then wait $!; code=$?; fi; exit $code";
    let wrapper = Plan::script(script).start();
    wrapper.wait_for("ready");
    wrapper.signal(Signal::USR1);
    assert_eq!(wrapper.wait_for("outer"), "USR1\n");
    // That the shell's own child was not killed is what its code shows.
    fs::write(wrapper.file("go-on"), "").unwrap();
    assert_eq!(wrapper.report()["outcome"], "exited 7");
}

#[test]
fn a_command_that_answers_term_by_exit_9_is_told_as_that() {
    let script = "exec 2> /dev/null; trap 'exit 9' TERM; : > ready; while [ -e installed ]; do sleep 0.01; done";
    let wrapper = Plan::script(script).start();
    wrapper.wait_for("ready");
    wrapper.signal(Signal::TERM);
    let report = wrapper.report();
    assert_eq!(report["outcome"], "exited 9");
    assert_eq!(report["signal"], Signal::TERM.as_raw());
}

#[test]
fn a_command_that_dies_of_the_signal_is_told_as_killed() {
    for (signal, name) in HANDED_ON {
        let wrapper = Plan::script(": > ready; exec sleep 60").start();
        wrapper.wait_for("ready");
        wrapper.signal(signal);
        let outcome = wrapper.report()["outcome"].clone();
        assert_eq!(outcome, format!("killed {}", signal.as_raw()), "{name}");
    }
}

#[test]
fn a_signal_before_the_command_keeps_it_from_starting() {
    for (signal, _) in HANDED_ON {
        let wrapper = Plan::script(": > started")
            .with("await_signal", true)
            .start();
        wrapper.wait_for("installed");
        wrapper.signal(signal);
        let report = wrapper.report();
        assert_eq!(report["outcome"], format!("signalled {}", signal.as_raw()));
        assert!(!wrapper.file("started").exists());
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored_in_the_command_too() {
    let script = "kill -HUP $$; : > ready; until [ -e go-on ]; do sleep 0.01; done; exit 6";
    let nohup = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"];
    let wrapper = Plan::script(script).through(&nohup).start();
    wrapper.wait_for("ready");
    wrapper.signal(Signal::HUP);
    fs::write(wrapper.file("go-on"), "").unwrap();
    let report = wrapper.report();
    assert_eq!(report["outcome"], "exited 6");
    assert!(report["signal"].is_null());
}

#[test]
fn an_ignored_sigchld_does_not_hide_how_the_command_ended() {
    let ignoring = ["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"];
    let wrapper = Plan::script("exit 5").through(&ignoring).start();
    assert_eq!(wrapper.report()["outcome"], "exited 5");
}

#[test]
fn a_signal_at_any_moment_reaches_the_command_once_or_keeps_it_from_starting() {
    for round in 0..20 {
        let wrapper = counter::plan().start();
        wrapper.wait_for("installed");
        thread::sleep(Duration::from_micros(round * 200));
        wrapper.signal(Signal::INT);
        counter::assert_once_or_never_started(&wrapper);
    }
}
