//! `restore --from` killed at any instant (contract §9.3, 10.7): never a ledger in use that lacks what was decided in it.

use std::fs;
use std::path::Path;

use super::stage::{can_inject, die_with_a_log, killed_everywhere, on};
use super::support::Scratch;

/// A folder as it is before a restore: one decision is in the ledger's log only.
fn before() -> Scratch {
    let scratch = Scratch::with_ledger();
    scratch.says(
        "reserve --key both --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    die_with_a_log(&scratch, &["since"]);
    scratch
}

fn put_back(from: &Scratch, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for name in ["receipts.db", "receipts.db-wal", "copy.db"] {
        if from.path(name).exists() {
            fs::copy(from.path(name), to.join(name)).unwrap();
        }
    }
}

/// Kills a restore at each of its changes; whatever is left neither performs `since` again nor stands in the way.
fn neither_performs_again_nor_stands_in_the_way(original: &Scratch) {
    let scratch = Scratch::new();
    let work = scratch.path("work");
    let mut command = || {
        put_back(original, &work);
        let mut command = super::support::binary();
        command
            .current_dir(&work)
            .args(["--db", "receipts.db", "restore", "--from", "copy.db"]);
        command
    };
    let kills = killed_everywhere(&mut command, &mut |at| {
        let asked = on(
            &scratch,
            "work/receipts.db",
            "reserve --key since --fingerprint f",
        );
        assert!(
            !asked.stdout.contains("EXECUTE"),
            "killed at {at}, what was decided is performed again: {asked:?}"
        );
        let again = on(&scratch, "work/receipts.db", "restore --from work/copy.db");
        assert_eq!(again.stdout, "standing=copy\n", "killed at {at}: {again:?}");
        assert_eq!(on(&scratch, "work/receipts.db", "verify").code, 0, "{at}");
    });
    assert!(kills > 5, "only {kills}");
}

#[test]
fn over_a_ledger_with_a_log_a_kill_leaves_the_old_one_or_a_marked_one() {
    if can_inject() {
        neither_performs_again_nor_stands_in_the_way(&before());
    }
}

#[test]
fn where_only_the_log_is_left_a_kill_leaves_nothing_that_starts_afresh() {
    if !can_inject() {
        return;
    }
    let scratch = before();
    fs::remove_file(scratch.path("receipts.db")).unwrap();
    neither_performs_again_nor_stands_in_the_way(&scratch);
}

#[test]
fn over_a_damaged_ledger_a_kill_leaves_nothing_that_decides() {
    if !can_inject() {
        return;
    }
    let scratch = before();
    let mut bytes = fs::read(scratch.path("receipts.db")).unwrap();
    bytes[28..32].copy_from_slice(&[0x7f; 4]);
    bytes[4096..4096 * 3].fill(0xA5);
    fs::write(scratch.path("receipts.db"), bytes).unwrap();
    neither_performs_again_nor_stands_in_the_way(&scratch);
}
