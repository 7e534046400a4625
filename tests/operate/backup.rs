//! `backup` (contract §9.3): a consistent copy while others write, whole under its name or not there.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::bulk;
use super::procs::{alone, names, untouched};
use super::stage::{AtLast, can_inject, exported, killed_everywhere, mode, on, rich};
use super::support::{Scratch, said};

const WRITERS: usize = 8;
const BACKUPS: usize = 4;

/// Decides keys of its own until it is told to stop; each answer is written down as soon as it came.
fn write_on(scratch: &Scratch, writer: usize, answered: &Mutex<Vec<String>>, stop: &AtomicBool) {
    let mut child = scratch
        .command(["--busy-timeout", "60s", "batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let key = format!("w{writer}:{number}");
        writeln!(
            stdin,
            r#"{{"op":"reserve","key":"{key}","fingerprint":"f"}}"#
        )
        .unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"decision\":\"EXECUTE\""), "{line}");
        answered.lock().unwrap().push(key);
        number += 1;
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn while_8_write_a_copy_is_whole_and_holds_every_decision_answered_before_it_began() {
    let _alone = alone();
    let scratch = Scratch::with_ledger();
    let answered = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also where an assertion fails: the writers would go on for ever.
        let _stop = AtLast(&stop);
        for writer in 0..WRITERS {
            let (scratch, answered, stop) = (&scratch, &answered, &stop);
            scope.spawn(move || write_on(scratch, writer, answered, stop));
        }
        for number in 0..BACKUPS {
            // So that there is something to hold: the writers are going on.
            while answered.lock().unwrap().len() < 20 * (number + 1) {
                thread::yield_now();
            }
            let before = answered.lock().unwrap().clone();
            let copy = format!("copy-{number}.db");
            let said = scratch.run(&format!("backup --to {copy}"));
            let path = scratch.path(&copy);
            assert_eq!(
                said.stdout,
                format!("backup={}\n", path.display()),
                "{said:?}"
            );
            let verified = on(&scratch, &copy, "verify");
            assert!(
                verified.stdout.starts_with("verify=ok receipts="),
                "{verified:?}"
            );
            let listed = on(&scratch, &copy, "list").stdout;
            let held: HashMap<&str, ()> = listed
                .lines()
                .filter_map(|line| line.split(' ').nth(2)?.strip_prefix("key="))
                .map(|key| (key, ()))
                .collect();
            for key in &before {
                assert!(held.contains_key(key.as_str()), "{key} is not in {copy}");
            }
        }
    });
    assert_eq!(scratch.run("verify").code, 0);
}

#[test]
fn killed_in_the_middle_it_leaves_nothing_under_the_name() {
    if !can_inject() {
        return;
    }
    let scratch = rich();
    let before = exported(&scratch, "receipts.db");
    let mut whole = 0;
    let mut command = || scratch.command(["backup", "--to", "copy.db"]);
    let kills = killed_everywhere(&mut command, &mut |at| {
        if scratch.path("copy.db").exists() {
            // It ended, or the kill came after the rename.
            let verified = on(&scratch, "copy.db", "verify");
            assert!(
                verified.stdout.starts_with("verify=ok"),
                "{at}: {verified:?}"
            );
            for ending in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(scratch.path(&format!("copy.db{ending}")));
            }
            whole += 1;
        }
    });
    assert!(
        kills > 8 && whole > 0,
        "{kills} kills, {whole} after the rename"
    );
    assert_eq!(exported(&scratch, "receipts.db"), before);
}

#[test]
fn what_is_there_already_is_refused_and_not_touched() {
    let scratch = rich();
    fs::write(scratch.path("something"), "else").unwrap();
    fs::write(scratch.path("empty"), "").unwrap();
    fs::create_dir(scratch.path("folder")).unwrap();
    symlink("nowhere", scratch.path("dangling")).unwrap();
    symlink("receipts.db", scratch.path("link.db")).unwrap();
    for name in [
        "something",
        "empty",
        "folder",
        "dangling",
        "receipts.db",
        "./receipts.db",
        "link.db",
    ] {
        let before = untouched(&scratch.path(name));
        scratch.refuses(&format!("backup --to {name}"), "refused-file");
        scratch.refuses(&format!("export --to {name}"), "refused-file");
        assert_eq!(untouched(&scratch.path(name)), before, "{name}");
    }
    let left = names(&scratch.path("."));
    assert!(
        !left.iter().any(|name| name.ends_with(".draft")),
        "{left:?}"
    );
    assert!(!left.contains(&"nowhere".to_owned()));
}

#[test]
fn of_many_that_would_write_one_file_at_once_one_does() {
    let _alone = alone();
    let scratch = Scratch::with_ledger();
    bulk::succeeded(&scratch, 20_000, "[1]");
    for round in 0..5 {
        let to = format!("copy-{round}.db");
        let start = || {
            let mut backup = scratch.command(["backup", "--to", &to]);
            backup.stdout(Stdio::piped()).stderr(Stdio::piped());
            backup.spawn().unwrap()
        };
        let all: Vec<_> = (0..6).map(|_| start()).collect();
        let told = all
            .into_iter()
            .map(|backup| said(&backup.wait_with_output().unwrap()));
        let (done, refused): (Vec<_>, Vec<_>) = told.partition(|told| told.code == 0);
        assert_eq!((done.len(), refused.len()), (1, 5), "{refused:?}");
        for told in refused {
            assert!(told.stderr.starts_with("error[refused-file]: "), "{told:?}");
        }
        let verified = on(&scratch, &to, "verify");
        assert_eq!(verified.stdout, "verify=ok receipts=20000\n");
    }
    let left = names(&scratch.path("."));
    assert!(
        !left.iter().any(|name| name.ends_with(".draft")),
        "{left:?}"
    );
}

#[test]
fn its_mode_is_no_wider_than_the_ledgers() {
    for wide in [0o600, 0o640, 0o400, 0o444, 0o660] {
        let scratch = rich();
        fs::set_permissions(
            scratch.path("receipts.db"),
            fs::Permissions::from_mode(wide),
        )
        .unwrap();
        assert_eq!(scratch.run("backup --to copy.db").code, 0);
        let got = mode(&scratch.path("copy.db"));
        assert_eq!(got & !wide, 0, "{got:o} is wider than {wide:o}");
        assert_eq!(got, wide);
    }
}

#[test]
fn it_holds_everything_and_can_be_backed_up_itself() {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to one.db").code, 0);
    assert_eq!(on(&scratch, "one.db", "backup --to two.db").code, 0);
    for copy in ["one.db", "two.db"] {
        assert_eq!(exported(&scratch, copy), exported(&scratch, "receipts.db"));
        let wal = scratch.path(&format!("{copy}-wal"));
        assert_eq!(fs::metadata(wal).map(|facts| facts.len()).unwrap_or(0), 0);
    }
    let refused = on(&scratch, "two.db", "reserve --key k --fingerprint f");
    assert!(
        refused.stderr.starts_with("error[restored-backup]: "),
        "{refused:?}"
    );
}

#[test]
fn what_another_process_left_in_its_log_is_in_the_copy() {
    let scratch = Scratch::with_ledger();
    super::stage::die_with_a_log(&scratch, &["a", "b"]);
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    let listed = on(&scratch, "copy.db", "list").stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_ledger_that_somebody_holds_alone_is_busy() {
    let scratch = rich();
    let holder = super::procs::plain(&scratch.path("receipts.db"));
    holder
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        .unwrap();
    scratch.refuses("backup --busy-timeout 50ms --to copy.db", "busy");
    assert!(!scratch.path("copy.db").exists());
}
