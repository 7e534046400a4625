//! No space left (contract 10.7): an error and no death, earlier answers hold, and it goes on when there is space again.

use std::process::Command;

use super::procs::{has, integrity, is_root, names, standing, wrapped};
use super::support::{Said, Scratch, said};

/// The call under a limit on the size of files, in blocks of 512 bytes.
fn limited(ledger: &Scratch, blocks: u32, args: &[&str]) -> Said {
    let script = format!(r#"ulimit -f {blocks} && exec "$0" "$@""#);
    said(
        &wrapped("sh", &["-c", &script], &ledger.command(args))
            .output()
            .unwrap(),
    )
}

fn expect_no_space(told: &Said, what: &str) {
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (2, ""),
        "{what}: {told:?}"
    );
    assert!(told.stderr.starts_with("error[io]: "), "{what}: {told:?}");
}

#[test]
fn a_file_size_limit_is_an_error_and_no_death_and_every_earlier_answer_holds() {
    let ledger = Scratch::with_ledger();
    let (mut executed, mut refused) = (Vec::new(), 0);
    for blocks in (0..220).step_by(4) {
        let key = format!("order:{blocks}");
        let told = limited(
            &ledger,
            blocks,
            &["reserve", "--key", &key, "--fingerprint", "v1"],
        );
        if told.code == 0 {
            assert_eq!(told.stdout, "decision=EXECUTE state=reserved attempt=1\n");
            executed.push(key);
        } else {
            expect_no_space(&told, &key);
            refused += 1;
        }
    }
    assert!(
        refused > 5 && executed.len() > 5,
        "{refused} refused, {} executed",
        executed.len()
    );
    assert_eq!(integrity(&ledger.path("receipts.db")), "ok");
    for key in executed {
        let show = ledger.run(&format!("show --key {key}"));
        assert_eq!(standing(&show), Some(("reserved".to_owned(), 1)), "{key}");
        ledger.says(
            &format!("succeed --key {key}"),
            "state=succeeded attempt=1\n",
        );
    }
    let again = ledger.run("reserve --key order:0 --fingerprint v1");
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn a_log_that_may_not_grow_is_folded_back_in_time() {
    const KEYS: u64 = 30_000;
    let ledger = Scratch::with_ledger();
    let line = |number: u64| {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("{{\"op\":\"reserve\",\"key\":\"{key:016x}\",\"fingerprint\":\"v1\"}}\n")
    };
    let lines: String = (0..KEYS).map(line).collect();
    std::fs::write(ledger.path("lines"), lines).unwrap();
    // Twice what the ledger needs in the end, and a third of what a log that is never folded back would.
    let script = r#"ulimit -f 20000 && exec "$0" "$@" < lines"#;
    let mut batch = wrapped("sh", &["-c", script], &ledger.command(["batch"]));
    let told = said(&batch.output().unwrap());
    assert_eq!((told.stderr.as_str(), told.code), ("", 0));
    let executed = told.stdout.matches("\"EXECUTE\"").count();
    assert_eq!(u64::try_from(executed).unwrap(), KEYS);
    assert_eq!(integrity(&ledger.path("receipts.db")), "ok");
}

#[test]
fn a_file_size_limit_while_settling_loses_neither_the_attempt_nor_what_was_said() {
    let big = format!("\"{}\"", "x".repeat(60_000));
    let ledger = Scratch::with_ledger();
    std::fs::write(ledger.path("result"), &big).unwrap();
    ledger.run("reserve --key order:1 --fingerprint v1");
    let settle = ["succeed", "--key", "order:1", "--result-file", "result"];
    for blocks in [64, 90, 100, 120] {
        let told = limited(&ledger, blocks, &settle);
        expect_no_space(&told, &format!("{blocks} blocks"));
        let (state, attempt) = standing(&ledger.run("show --key order:1")).unwrap();
        // A commit that failed at its last step is not known to be kept or not; the attempt is never free again.
        assert!(["reserved", "succeeded"].contains(&state.as_str()) && attempt == 1);
    }
    assert_eq!(
        ledger.run_args(&settle).stdout,
        "state=succeeded attempt=1\n"
    );
}

#[test]
fn a_file_size_limit_at_creation_leaves_nothing() {
    for blocks in [0, 1, 8, 40, 80] {
        let ledger = Scratch::new();
        for call in [
            &["reserve", "--key", "order:1", "--fingerprint", "v1"][..],
            &["init"][..],
        ] {
            expect_no_space(&limited(&ledger, blocks, call), &format!("{blocks} blocks"));
            assert_eq!(
                names(&ledger.path("")),
                Vec::<String>::new(),
                "{blocks} blocks"
            );
        }
        ledger.says("init", "created=true\n");
    }
}

/// A conflict needs no write to be true.
#[test]
fn a_conflict_is_told_without_space() {
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1");
    let told = limited(
        &ledger,
        64,
        &["reserve", "--key", "order:1", "--fingerprint", "v2"],
    );
    let (code, stdout) = (3, "decision=CONFLICT state=reserved attempt=1\n");
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (code, stdout),
        "{told:?}"
    );
}

/// Runs a script, with the program as `$0`, where a small file system can be mounted that nobody else sees.
fn on_a_small_disk(size: &str, script: &str) -> Option<Vec<String>> {
    if !cfg!(target_os = "linux") || !is_root() || !has("unshare", &["-m", "true"]) {
        eprintln!("skipped: only root may mount a small file system");
        return None;
    }
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let whole = format!(
        "mount -t tmpfs -o size={size} none disk || {{ echo unmountable; exit; }}\n\
         call() {{ out=$(\"$0\" --db disk/receipts.db \"$@\" 2>err); code=$?; echo \"$code|$out|$(head -n 1 err)\"; }}\n\
         {script}"
    );
    let mut command: Command = wrapped(
        "unshare",
        &["-m", "sh", "-c", &whole],
        &super::support::binary(),
    );
    let output = command.current_dir(scratch.path("")).output().unwrap();
    let told = said(&output);
    if told.stdout == "unmountable\n" {
        eprintln!("skipped: a small file system cannot be mounted here");
        return None;
    }
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    Some(told.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn a_full_disk_is_an_error_and_every_earlier_answer_holds() {
    let script = r#"
        call init
        i=0; while [ $i -lt 150 ]; do i=$((i+1)); call reserve --key order:$i --fingerprint v1; done
        dd if=/dev/zero of=disk/hog bs=4096 >/dev/null 2>&1
        i=0; while [ $i -lt 40 ]; do i=$((i+1)); call reserve --key full:$i --fingerprint v1; done
        call reserve --key order:1 --fingerprint other
        call show --key order:1
        rm disk/hog
        echo space
        i=0; while [ $i -lt 150 ]; do i=$((i+1)); call reserve --key order:$i --fingerprint v1; done
        i=0; while [ $i -lt 40 ]; do i=$((i+1)); call reserve --key full:$i --fingerprint v1; done
    "#;
    let Some(lines) = on_a_small_disk("400k", script) else {
        return;
    };
    let space = lines.iter().position(|line| line == "space").unwrap();
    let (before, after) = (&lines[1..space], &lines[space + 1..]);
    let execute = |line: &&String| line.starts_with("0|decision=EXECUTE ");
    for line in &before[..190] {
        let allowed = execute(&line) || line.starts_with("2||error[io]: ");
        assert!(allowed, "{line}");
    }
    let refused = before[150..190]
        .iter()
        .filter(|line| !execute(line))
        .count();
    assert!(refused > 0, "the disk was never full");
    assert!(
        before[190].starts_with("3|decision=CONFLICT "),
        "{}",
        before[190]
    );
    assert!(
        before[191].starts_with("0|state=reserved attempt=1 "),
        "{}",
        before[191]
    );
    for (then, now) in before.iter().zip(after) {
        let skipped = now.starts_with("0|decision=SKIP_IN_FLIGHT state=reserved attempt=1|");
        // What was refused may have been kept (it said that this is not known), and is then never executed.
        let held = if execute(&then) {
            skipped
        } else {
            skipped || execute(&now)
        };
        assert!(held, "{then}, then {now}");
    }
}

#[test]
fn a_full_disk_at_creation_leaves_nothing() {
    let script = r#"
        dd if=/dev/zero of=disk/hog bs=4096 count=15 >/dev/null 2>&1
        call reserve --key order:1 --fingerprint v1
        ls -A disk
        rm disk/hog
        call reserve --key order:1 --fingerprint v1
    "#;
    let Some(lines) = on_a_small_disk("80k", script) else {
        return;
    };
    assert!(lines[0].starts_with("2||error[io]: "), "{lines:?}");
    assert_eq!(lines[1], "hog", "{lines:?}");
    assert!(lines.len() == 3, "{lines:?}");
}
