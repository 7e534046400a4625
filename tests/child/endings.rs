//! How a command ends, or why it does not start.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::wrapper::Plan;

#[test]
fn every_exit_code_is_told_as_it_is() {
    for code in [0, 1, 2, 3, 75, 126, 127, 255] {
        let report = Plan::script(&format!("exit {code}")).report();
        assert_eq!(report["outcome"], format!("exited {code}"));
        assert!(report["signal"].is_null());
    }
}

#[test]
fn death_by_a_signal_is_told_apart_from_an_exit() {
    for signal in [15, 9, 2, 6] {
        let report = Plan::script(&format!("kill -{signal} $$")).report();
        assert_eq!(report["outcome"], format!("killed {signal}"));
        assert!(report["signal"].is_null());
    }
}

#[test]
fn a_program_that_does_not_exist_is_not_found() {
    for program in [
        "no-such-program-anywhere",
        "./no-such-file",
        "/no/such/file",
        "",
    ] {
        assert_eq!(Plan::new(program, &[]).report()["outcome"], "not found");
    }
}

#[test]
fn a_folder_and_a_plain_file_are_not_started() {
    let refused = "not started: permission denied";
    assert_eq!(Plan::new("/tmp", &[]).report()["outcome"], refused);
    assert_eq!(Plan::new(".", &[]).report()["outcome"], refused);

    let plan = Plan::new("./plain", &[]);
    fs::write(plan.folder.path().join("plain"), "#!/bin/sh\n").unwrap();
    assert_eq!(plan.report()["outcome"], refused);
}

#[test]
fn a_script_whose_interpreter_is_missing_is_not_found() {
    let plan = Plan::new("./script", &[]);
    let script = plan.folder.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(plan.report()["outcome"], "not found");
}

#[test]
fn arguments_and_the_added_environment_reach_the_command() {
    let words = [
        "-c",
        r#"printf '<%s>' "$0" "$@" "$ADDED""#,
        "",
        "a b",
        "*",
        "-x",
    ];
    let wrapper = Plan::new("sh", &words).with("capture", 100).start();
    assert_eq!(wrapper.report()["outcome"], "exited 0");
    assert_eq!(wrapper.captured(), b"<><a b><*><-x><by the wrapper>");
}

#[test]
fn a_grandchild_that_holds_every_stream_does_not_delay_the_end() {
    for capture in [None, Some(100)] {
        for stdin in ["inherit", "empty", "bytes"] {
            let script = "sleep 60 <&0 & echo $! > left-behind; echo started; exit 3";
            let plan = Plan::script(script).stdin_bytes(&[b'x'; 1 << 20]);
            let wrapper = plan.with("stdin", stdin).with("capture", capture).start();
            let report = wrapper.report();
            assert_eq!(report["outcome"], "exited 3");
            assert!(report["took_ms"].as_u64().unwrap() < 20_000, "{report}");
            if capture.is_some() {
                assert_eq!(wrapper.captured(), b"started\n");
                assert_eq!(wrapper.finished(), "Ok(())");
            }
        }
    }
}
