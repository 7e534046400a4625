//! What happens to a command that takes too long.

use rustix::process::Signal;

use super::wrapper::Plan;

#[test]
fn a_timeout_ends_the_command_and_what_it_has_started_by_term() {
    let report = Plan::script("sleep 60; exit 0")
        .with("timeout_ms", 100)
        .report();
    assert_eq!(report["outcome"], "timed out, killed 15");
    assert!(report["took_ms"].as_u64().unwrap() >= 100);
    assert!(report["signal"].is_null());
}

#[test]
fn a_command_that_ends_in_time_has_not_timed_out() {
    let report = Plan::script("exit 4").with("timeout_ms", 50_000).report();
    assert_eq!(report["outcome"], "exited 4");
}

#[test]
fn a_command_that_ignores_term_is_killed_after_the_grace() {
    let script = "trap '' TERM; while [ -e installed ]; do sleep 0.01; done";
    let plan = Plan::script(script).with("timeout_ms", 100);
    let report = plan.with("kill_after_ms", 200).report();
    assert_eq!(report["outcome"], "timed out, killed 9");
    assert!(report["took_ms"].as_u64().unwrap() >= 300);
}

#[test]
fn a_command_that_answers_term_with_exit_0_has_timed_out_all_the_same() {
    let script =
        "exec 2> /dev/null; trap 'exit 0' TERM; while [ -e installed ]; do sleep 0.01; done";
    let report = Plan::script(script).with("timeout_ms", 300).report();
    // On a loaded machine TERM may come before the trap is set.
    let outcome = report["outcome"].as_str().unwrap();
    assert!(
        ["timed out, exited 0", "timed out, killed 15"].contains(&outcome),
        "{report}"
    );
}

#[test]
fn a_stopped_command_can_act_on_the_term() {
    let script = "trap 'exit 5' TERM; kill -STOP $$; exit 6";
    let report = Plan::script(script).with("timeout_ms", 2000).report();
    assert_eq!(report["outcome"], "timed out, exited 5");
}

#[test]
fn a_stopped_command_that_ignores_term_is_killed() {
    let script = "trap '' TERM; while [ -e installed ]; do kill -STOP $$; done";
    let plan = Plan::script(script).with("timeout_ms", 100);
    let report = plan.with("kill_after_ms", 100).report();
    assert_eq!(report["outcome"], "timed out, killed 9");
}

#[test]
fn signals_are_handed_on_between_the_term_and_the_kill() {
    let script = "exec 2> /dev/null; trap ': > asked' TERM; trap 'exit 3' USR1; while [ -e installed ]; do sleep 0.01; done";
    let wrapper = Plan::script(script).with("timeout_ms", 2000).start();
    wrapper.wait_for("asked");
    wrapper.signal(Signal::USR1);
    let report = wrapper.report();
    assert_eq!(report["outcome"], "timed out, exited 3");
    assert_eq!(report["signal"], Signal::USR1.as_raw());
}

#[test]
fn a_timeout_that_no_clock_can_hold_is_none() {
    let report = Plan::script("exit 0").with("timeout_ms", u64::MAX).report();
    assert_eq!(report["outcome"], "exited 0");
}
