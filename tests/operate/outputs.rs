//! A standard output that takes nothing (contract §3.6): never an exit code of 0.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;

use super::stage::rich;
use super::support::said;

#[test]
fn an_answer_that_cannot_be_printed_is_no_answer() {
    let scratch = rich();
    for args in [
        vec!["list"],
        vec!["list", "--format", "json"],
        vec!["stats"],
        vec!["export"],
        vec!["export", "--to", "moved.jsonl"],
        vec!["verify"],
        vec!["prune", "--older-than", "365d"],
        vec!["backup", "--to", "copy.db"],
        vec!["completions", "bash"],
        vec!["man"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = scratch.command(&args).stdout(full).output().unwrap();
        let said = said(&output);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        let told = said.stderr.starts_with("error[output]: ")
            || said.stderr.starts_with("{\"error\":{\"code\":\"output\",");
        assert!(told, "{args:?}: {said:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_whole_is_not_there() {
    let scratch = rich();
    let full = std::path::Path::new("/dev/full");
    assert!(full.exists());
    for args in [
        "export --to missing/x.jsonl",
        "backup --to missing/x.db",
        "stats --prometheus missing/x.prom",
    ] {
        scratch.refuses(args, "io");
    }
    assert!(!scratch.path("missing").exists());
}
