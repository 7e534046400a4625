//! Standard output that is passed on and kept.

use std::fs::{self, File};
use std::io::{self, PipeReader, Read};

use rustix::process::Signal;

use super::wrapper::{MARK, Plan, eventually};

/// What the command wrote, from all that its wrapper wrote.
fn after_mark(mut reader: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    let mark = all.windows(MARK.len()).position(|window| window == MARK);
    all.split_off(mark.unwrap() + MARK.len())
}

/// Reads until `end` has come, and no further.
fn read_up_to(end: &[u8], reader: &mut impl Read) {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(end) {
        reader.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
}

/// A pipe for the wrapper to write to, and its other end.
fn with_reader(plan: Plan) -> (Plan, PipeReader) {
    let (reader, writer) = io::pipe().unwrap();
    (plan.stdout(writer), reader)
}

#[test]
fn bytes_are_passed_on_and_kept_exactly() {
    let awkward = b"\0nul \xff\xfe\xc3( not UTF-8 \r\n\x1b[0m\n\nno newline at the end";
    let plan = Plan::script("cat")
        .stdin_bytes(awkward)
        .with("capture", 1000);
    let (plan, reader) = with_reader(plan);
    let wrapper = plan.start();
    assert_eq!(after_mark(reader), awkward);
    assert_eq!(wrapper.captured(), awkward);
    assert_eq!(wrapper.report()["truncated"], false);
    assert_eq!(wrapper.finished(), "Ok(())");
}

#[test]
fn only_what_exceeds_the_limit_is_truncated() {
    for (bytes_max, truncated) in [(8, false), (7, true), (0, true)] {
        let wrapper = Plan::script("printf 1234; printf 5678")
            .with("capture", bytes_max)
            .start();
        assert_eq!(wrapper.report()["truncated"], truncated);
        assert_eq!(wrapper.captured(), &b"12345678"[..bytes_max]);
    }
    let wrapper = Plan::script("exit 0").with("capture", 0).start();
    assert_eq!(wrapper.report()["truncated"], false);
}

#[test]
fn output_is_passed_on_as_it_comes() {
    let script = "printf first; until [ -e go-on ]; do sleep 0.01; done; printf second";
    let (plan, mut reader) = with_reader(Plan::script(script).with("capture", 100));
    let wrapper = plan.start();
    read_up_to(MARK, &mut reader);
    read_up_to(b"first", &mut reader);
    fs::write(wrapper.file("go-on"), "").unwrap();
    assert_eq!(io::read_to_string(reader).unwrap(), "second");
}

#[test]
fn a_hundred_megabytes_pass_in_constant_memory() {
    let script = "head -c 100000000 /dev/zero";
    let (plan, reader) = with_reader(Plan::script(script).with("capture", 1 << 20));
    let wrapper = plan.start();
    let passed = io::copy(&mut { reader }, &mut io::sink()).unwrap();
    assert!(passed >= 100_000_000, "{passed}");
    let report = wrapper.report();
    assert_eq!(report["outcome"], "exited 0");
    assert_eq!(report["truncated"], true);
    assert_eq!(wrapper.captured(), vec![0; 1 << 20]);
    if let Some(memory_kib) = report["memory_kib"].as_u64() {
        assert!(memory_kib < 40_000, "{memory_kib} KiB");
    }
}

#[test]
fn a_reader_that_is_gone_disturbs_neither_the_command_nor_what_is_kept() {
    let script = "until [ -e go-on ]; do sleep 0.01; done; head -c 1000000 /dev/zero; exit 4";
    let (plan, mut reader) = with_reader(Plan::script(script).with("capture", 2_000_000));
    let wrapper = plan.start();
    read_up_to(MARK, &mut reader);
    drop(reader);
    fs::write(wrapper.file("go-on"), "").unwrap();
    assert_eq!(wrapper.report()["outcome"], "exited 4");
    assert_eq!(wrapper.captured(), vec![0; 1_000_000]);
    assert_eq!(wrapper.finished(), "Err(BrokenPipe)");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_disturbs_neither_the_command_nor_what_is_kept() {
    let plan = Plan::script("head -c 1000000 /dev/zero").with("capture", 2_000_000);
    let wrapper = plan.with("stdout", "/dev/full").start();
    assert_eq!(wrapper.report()["outcome"], "exited 0");
    assert_eq!(wrapper.captured(), vec![0; 1_000_000]);
    assert_eq!(wrapper.finished(), "Err(StorageFull)");
}

#[test]
fn the_end_is_told_before_a_slow_reader_has_read() {
    let script = "yes | head -c 200000";
    let (plan, reader) = with_reader(Plan::script(script).with("capture", 1 << 20));
    let wrapper = plan.start();
    assert_eq!(wrapper.report()["outcome"], "exited 0");
    let expected = b"y\n".repeat(100_000);
    assert!(wrapper.captured() == expected);
    assert!(!wrapper.file("finished").exists());
    assert!(after_mark(reader) == expected);
    assert_eq!(wrapper.finished(), "Ok(())");
}

#[test]
fn a_reader_that_does_not_read_holds_the_command_back() {
    let script = "for n in 1 2 3 4 5 6 7 8 9; do head -c 1000000 /dev/zero; echo $n >> done; done";
    let (plan, reader) = with_reader(Plan::script(script).with("capture", 10));
    let wrapper = plan.start();
    // Nothing tells that a process is blocked for good: it is given time to get where it must not.
    wrapper.wait_for("installed");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!wrapper.file("done").exists());
    assert_eq!(after_mark(reader).len(), 9_000_000);
    assert_eq!(wrapper.report()["outcome"], "exited 0");
}

#[test]
fn a_signal_ends_the_wait_for_a_reader_that_does_not_read() {
    let (plan, _reader) = with_reader(Plan::script("head -c 200000 /dev/zero").with("capture", 10));
    let wrapper = plan.start();
    assert_eq!(wrapper.report()["outcome"], "exited 0");
    wrapper.signal(Signal::TERM);
    assert_eq!(wrapper.finished(), "Err(Interrupted)");
}

#[test]
fn standard_output_that_somebody_made_non_blocking_loses_nothing() {
    let (mut reader, writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let plan = Plan::script("head -c 5000000 /dev/zero")
        .with("capture", 10)
        .stdout(writer);
    let wrapper = plan.start();
    assert!(eventually(
        || wrapper.file("captured").exists() || reader.read(&mut [0; 4096]).is_ok()
    ));
    let rest = io::copy(&mut reader, &mut io::sink()).unwrap();
    assert!(rest > 4_900_000, "{rest}");
    assert_eq!(wrapper.finished(), "Ok(())");
}

#[test]
fn output_to_a_file_arrives_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let plan = Plan::script("seq 1 100000").with("capture", 10);
    let wrapper = plan.stdout(File::create(&path).unwrap()).start();
    assert_eq!(wrapper.finished(), "Ok(())");
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(after_mark(File::open(path).unwrap()) == expected.as_bytes());
}
