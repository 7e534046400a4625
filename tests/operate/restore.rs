//! `restore --from` (contract §9.3): a copy in the ledger's place, exclusively, marked all the same.

use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};

use std::process::Stdio;

use super::procs::{is_root, names, untouched};
use super::stage::{die_with_a_log, exported, mode, on, rich};
use super::support::Scratch;

/// A ledger with a copy, and a decision that is not in the copy.
fn with_copy() -> Scratch {
    let scratch = rich();
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    scratch.says(
        "reserve --key since --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    scratch
}

/// The copy is in place, marked, whole, alone, and kept.
fn is_restored(scratch: &Scratch) {
    assert_eq!(
        exported(scratch, "receipts.db"),
        exported(scratch, "copy.db")
    );
    scratch.refuses("reserve --key since --fingerprint f", "restored-backup");
    scratch.refuses("show --key since", "not-found");
    assert_eq!(scratch.run("verify").code, 0);
    let left = names(&scratch.path("."));
    assert!(
        !left.iter().any(|name| name.ends_with(".draft")),
        "{left:?}"
    );
    scratch.says("restore --accept-gap", "standing=in_use\n");
    scratch.says(
        "reserve --key since --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
}

fn restores(scratch: &Scratch) {
    let before = untouched(&scratch.path("copy.db"));
    scratch.says("restore --from copy.db", "standing=copy\n");
    assert_eq!(
        untouched(&scratch.path("copy.db")),
        before,
        "FILE is kept as it is"
    );
    is_restored(scratch);
}

#[test]
fn over_a_ledger_at_rest() {
    restores(&with_copy());
}

#[test]
fn where_the_ledger_is_missing() {
    let scratch = with_copy();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(scratch.path(&format!("receipts.db{ending}")));
    }
    restores(&scratch);
}

#[test]
fn where_only_a_log_of_it_is_left() {
    let scratch = with_copy();
    die_with_a_log(&scratch, &["x", "y"]);
    fs::remove_file(scratch.path("receipts.db")).unwrap();
    scratch.refuses("reserve --key z --fingerprint f", "refused-file");
    restores(&scratch);
}

#[test]
fn where_the_ledger_is_empty_or_damaged() {
    type Damage = fn(&Scratch);
    let damages: [Damage; 3] = [
        |scratch| fs::write(scratch.path("receipts.db"), "").unwrap(),
        |scratch| {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(scratch.path("receipts.db"));
            file.unwrap().set_len(4096 * 2 + 100).unwrap();
        },
        |scratch| {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .open(scratch.path("receipts.db"))
                .unwrap();
            file.seek(SeekFrom::Start(100)).unwrap();
            file.write_all(&[0xA5; 4096 * 3]).unwrap();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let scratch = with_copy();
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(scratch.path(&format!("receipts.db{ending}")));
        }
        damage(&scratch);
        let said = scratch.run("restore --from copy.db");
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (0, "standing=copy\n"),
            "{number}: {said:?}"
        );
        is_restored(&scratch);
    }
}

#[test]
fn what_is_left_beside_the_ledger_is_dropped_and_never_played_into_the_copy() {
    let scratch = with_copy();
    die_with_a_log(&scratch, &["x", "y"]);
    restores(&scratch);
    scratch.refuses("show --key x", "not-found");
}

#[test]
fn a_ledger_in_use_is_busy_and_stays_as_it_is() {
    let scratch = with_copy();
    let inode = || {
        use std::os::unix::fs::MetadataExt;
        let facts = fs::metadata(scratch.path("receipts.db")).unwrap();
        (facts.ino(), facts.len())
    };
    let before = inode();
    // A caller that decides now and then, and one that is in the middle of it.
    let mut idle = scratch
        .command(["batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = idle.stdin.take().unwrap();
    let mut stdout = BufReader::new(idle.stdout.take().unwrap());
    writeln!(stdin, r#"{{"op":"show","key":"since"}}"#).unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    scratch.refuses("restore --busy-timeout 50ms --from copy.db", "busy");
    assert_eq!(inode(), before);
    writeln!(
        stdin,
        r#"{{"op":"reserve","key":"later","fingerprint":"f"}}"#
    )
    .unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("EXECUTE"), "{line}");
    drop(stdin);
    assert!(idle.wait().unwrap().success());
    scratch.says(
        "reserve --key since --fingerprint f",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    restores(&scratch);
}

#[test]
fn the_owner_of_the_ledger_stays_where_root_restores() {
    if !is_root() {
        eprintln!("skipped: not root");
        return;
    }
    use std::os::unix::fs::{MetadataExt, chown};
    let scratch = with_copy();
    let path = scratch.path("receipts.db");
    chown(&path, Some(4711), Some(4712)).unwrap();
    scratch.says("restore --from copy.db", "standing=copy\n");
    let facts = fs::metadata(&path).unwrap();
    assert_eq!((facts.uid(), facts.gid()), (4711, 4712));
}

#[test]
fn what_is_no_sound_copy_is_refused_and_the_ledger_stays() {
    let scratch = with_copy();
    let whole = fs::read(scratch.path("copy.db")).unwrap();
    fs::write(scratch.path("empty.db"), "").unwrap();
    fs::write(scratch.path("text.db"), "x".repeat(5000)).unwrap();
    fs::write(scratch.path("short.db"), &whole[..whole.len() / 2]).unwrap();
    let mut rotten = whole.clone();
    // One letter of one key: only a look at everything finds it.
    let key = b"recorded:payload";
    let at = rotten.windows(key.len()).position(|bytes| bytes == key);
    rotten[at.unwrap()] = b'R';
    fs::write(scratch.path("rotten.db"), rotten).unwrap();
    let other = rusqlite::Connection::open(scratch.path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE other (x)").unwrap();
    other.close().unwrap();
    symlink("receipts.db", scratch.path("self.db")).unwrap();
    fs::create_dir(scratch.path("folder")).unwrap();
    let before = untouched(&scratch.path("receipts.db"));
    for (name, code) in [
        ("missing.db", "no-ledger"),
        ("empty.db", "refused-file"),
        ("text.db", "not-a-ledger"),
        ("short.db", "corrupt"),
        ("rotten.db", "corrupt"),
        ("other.db", "not-a-ledger"),
        ("receipts.db", "refused-file"),
        ("self.db", "refused-file"),
        ("folder", "not-a-ledger"),
    ] {
        scratch.refuses(&format!("restore --from {name}"), code);
        assert_eq!(untouched(&scratch.path("receipts.db")), before, "{name}");
    }
    scratch.says(
        "reserve --key since --fingerprint f",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
}

#[test]
fn what_is_no_database_is_not_replaced_until_somebody_moves_it_away() {
    let scratch = with_copy();
    fs::write(
        scratch.path("receipts.db"),
        "a ledger whose head was overwritten, or a letter",
    )
    .unwrap();
    let before = untouched(&scratch.path("receipts.db"));
    scratch.refuses("restore --from copy.db", "not-a-ledger");
    assert_eq!(untouched(&scratch.path("receipts.db")), before);
    fs::rename(scratch.path("receipts.db"), scratch.path("aside")).unwrap();
    restores(&scratch);
}

#[test]
fn another_applications_database_is_not_replaced() {
    let scratch = with_copy();
    let other = rusqlite::Connection::open(scratch.path("shop.db")).unwrap();
    other.execute_batch("CREATE TABLE orders (x)").unwrap();
    other.close().unwrap();
    let before = untouched(&scratch.path("shop.db"));
    let said = on(&scratch, "shop.db", "restore --from copy.db");
    assert!(said.stderr.starts_with("error[not-a-ledger]: "), "{said:?}");
    assert_eq!(untouched(&scratch.path("shop.db")), before);
}

#[test]
fn the_mode_of_the_ledger_stays_and_a_link_to_it_stays_a_link() {
    let scratch = with_copy();
    fs::set_permissions(
        scratch.path("receipts.db"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("receipts.db", scratch.path("link.db")).unwrap();
    let said = on(&scratch, "link.db", "restore --from copy.db");
    assert_eq!(said.stdout, "standing=copy\n", "{said:?}");
    assert!(
        fs::symlink_metadata(scratch.path("link.db"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(mode(&scratch.path("receipts.db")), 0o640);
    is_restored(&scratch);
}

#[test]
fn a_plain_copy_of_a_ledger_in_use_is_marked_too() {
    let scratch = rich();
    fs::copy(scratch.path("receipts.db"), scratch.path("copy.db")).unwrap();
    scratch.says("restore --from copy.db", "standing=copy\n");
    scratch.refuses("reserve --key new --fingerprint f", "restored-backup");
}

#[test]
fn a_retired_ledger_stays_retired_as_a_copy() {
    let scratch = rich();
    assert_eq!(scratch.run("export --retire --to moved.jsonl").code, 0);
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    scratch.says("restore --from copy.db", "standing=copy\n");
    scratch.refuses("restore --accept-gap", "invalid-transition");
    scratch.refuses("reserve --key new --fingerprint f", "retired");
}

#[test]
fn what_is_refused_to_decide_in_is_not_replaced_either() {
    let scratch = with_copy();
    fs::hard_link(scratch.path("receipts.db"), scratch.path("second.db")).unwrap();
    let before = untouched(&scratch.path("receipts.db"));
    scratch.refuses("restore --from copy.db", "refused-file");
    assert_eq!(untouched(&scratch.path("receipts.db")), before);
    assert!(fs::metadata(scratch.path("second.db")).unwrap().len() > 0);
    symlink("nowhere.db", scratch.path("dangling.db")).unwrap();
    for name in ["dangling.db", ":memory:"] {
        let said = on(&scratch, name, "restore --from copy.db");
        assert_eq!(said.code, 2, "{name}: {said:?}");
        assert!(
            said.stderr.starts_with("error[refused-file]: "),
            "{name}: {said:?}"
        );
    }
    assert!(!scratch.path("nowhere.db").exists());
    assert!(!scratch.path(":memory:").exists());
}
