//! `export` and `import` (contract §9.4): a whole ledger on its way to another one.

use std::fs;
use std::process::Stdio;

use super::procs::{names, plain, untouched};
use super::stage::{RESULTS, exported, mode, on, rich};
use super::support::{Scratch, said};

/// Exports the rich ledger to a file beside it.
fn with_export() -> Scratch {
    let scratch = rich();
    let said = scratch.run("export --to all.jsonl");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(
        said.stdout.starts_with("receipts=") && said.stdout.ends_with(" pruned=2 forgotten=0\n"),
        "{said:?}"
    );
    scratch
}

fn refused(scratch: &Scratch, db: &str) -> bool {
    let said = on(scratch, db, "reserve --key new --fingerprint f");
    said.stderr.starts_with("error[restored-backup]: ")
}

#[test]
fn an_export_of_an_import_is_byte_identical() {
    let scratch = with_export();
    let original = fs::read_to_string(scratch.path("all.jsonl")).unwrap();
    assert_eq!(exported(&scratch, "receipts.db"), original);
    let said = on(&scratch, "other.db", "import all.jsonl");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.stdout.starts_with("added=") && said.stdout.ends_with(" unchanged=0\n"),
        "{said:?}"
    );
    assert!(
        said.stderr.starts_with("note: created ledger /"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("\nnote: the ledger is a copy "),
        "{said:?}"
    );
    assert_eq!(exported(&scratch, "other.db"), original);
    for args in [
        "list",
        "stats",
        "verify",
        "show --key failed --history",
        "show --key old:contested",
    ] {
        assert_eq!(on(&scratch, "other.db", args), scratch.run(args), "{args}");
    }
}

#[test]
fn results_come_through_as_they_were_given() {
    let scratch = with_export();
    assert_eq!(on(&scratch, "other.db", "import all.jsonl").code, 0);
    for (number, result) in RESULTS.iter().enumerate() {
        let args = format!("show --key result:{number} --format json");
        let shown = on(&scratch, "other.db", &args).stdout;
        assert!(
            shown.ends_with(&format!(",\"result\":{result}}}\n")),
            "{shown}"
        );
    }
    let none = on(&scratch, "other.db", "show --key reserved --format json").stdout;
    assert!(none.ends_with(",\"result\":null}\n"), "{none}");
}

#[test]
fn a_kept_payload_comes_through_byte_for_byte() {
    let scratch = with_export();
    assert_eq!(on(&scratch, "other.db", "import all.jsonl").code, 0);
    assert_eq!(on(&scratch, "other.db", "restore --accept-gap").code, 0);
    let mut drain = super::support::binary();
    drain
        .current_dir(scratch.path("."))
        .args([
            "--db",
            "other.db",
            "drain",
            "--prefix",
            "recorded:payload",
            "--",
        ])
        .args(["sh", "-c", "cat >got"]);
    let said = said(&drain.output().unwrap());
    assert_eq!(
        said.stdout, "drained=1 succeeded=1 failed=0 unknown=0\n",
        "{said:?}"
    );
    assert_eq!(fs::read(scratch.path("got")).unwrap(), b"\x00\xff\npayload");
}

#[test]
fn through_a_pipe_it_is_the_same() {
    let scratch = with_export();
    let mut export = scratch
        .command(["export"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut import = super::support::binary();
    import
        .current_dir(scratch.path("."))
        .args(["--db", "other.db", "import", "-"])
        .stdin(export.stdout.take().unwrap());
    let said = said(&import.output().unwrap());
    assert!(export.wait().unwrap().success());
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        exported(&scratch, "other.db"),
        exported(&scratch, "receipts.db")
    );
}

#[test]
fn importing_twice_changes_nothing_and_marks_nothing() {
    let scratch = with_export();
    let before = untouched(&scratch.path("receipts.db"));
    let said = scratch.run("import all.jsonl");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let lines = fs::read_to_string(scratch.path("all.jsonl"))
        .unwrap()
        .lines()
        .count();
    assert_eq!(said.stdout, format!("added=0 unchanged={}\n", lines - 2));
    assert_eq!(untouched(&scratch.path("receipts.db")), before);
    scratch.says(
        "reserve --key new --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
}

#[test]
fn an_import_of_a_ledger_in_use_is_marked_and_of_a_retired_one_is_not() {
    let scratch = with_export();
    assert_eq!(on(&scratch, "copy.db", "import all.jsonl").code, 0);
    assert!(refused(&scratch, "copy.db"));
    assert_eq!(scratch.run("export --retire --to moved.jsonl").code, 0);
    let said = on(&scratch, "moved.db", "import moved.jsonl");
    assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
    assert!(!refused(&scratch, "moved.db"));
    // Into a marked one it may go all the same, and does not lift the mark.
    let said = on(&scratch, "copy.db", "import moved.jsonl");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(refused(&scratch, "copy.db"));
}

#[test]
fn the_mark_comes_with_the_first_receipt_that_is_added_to_a_ledger_in_use() {
    let scratch = with_export();
    let other = "reserve --key of-its-own --fingerprint f";
    assert_eq!(on(&scratch, "other.db", other).code, 0);
    assert_eq!(on(&scratch, "other.db", "import all.jsonl").code, 0);
    assert!(refused(&scratch, "other.db"));
    let shown = on(&scratch, "other.db", "show --key of-its-own");
    assert_eq!(shown.code, 0, "{shown:?}");
}

#[test]
fn a_contradiction_changes_nothing_at_all() {
    let original = with_export();
    let text = fs::read_to_string(original.path("all.jsonl")).unwrap();
    // Each call makes another ledger say something else about one key; the rest of the export is new to it.
    for differs in [
        "reserve --key recorded --fingerprint f",
        "record --key result:3 --fingerprint f",
        "reserve --key unknown --fingerprint other",
        "reserve --key old:failed --fingerprint f",
        "record --key old:contested --fingerprint f",
        "record --key recorded --fingerprint f --run run-1",
    ] {
        let scratch = Scratch::with_ledger();
        fs::write(scratch.path("all.jsonl"), &text).unwrap();
        for args in [differs, "reserve --key of-its-own --fingerprint f"] {
            assert_eq!(scratch.run(args).code, 0);
        }
        let before = exported(&scratch, "receipts.db");
        let said = scratch.run("import all.jsonl");
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{differs}");
        assert!(
            said.stderr.starts_with("error[contradiction]: "),
            "{said:?}"
        );
        assert_eq!(exported(&scratch, "receipts.db"), before, "{differs}");
        scratch.says(
            "reserve --key new --fingerprint f",
            "decision=EXECUTE state=reserved attempt=1\n",
        );
    }
}

#[test]
fn a_contradiction_in_json_is_an_object_and_still_exit_3() {
    let scratch = with_export();
    let changed = fs::read_to_string(scratch.path("all.jsonl")).unwrap();
    let changed = changed.replacen(
        "\"key\":\"recorded\",\"fingerprint\":\"f\"",
        "\"key\":\"recorded\",\"fingerprint\":\"g\"",
        1,
    );
    fs::write(scratch.path("changed.jsonl"), changed).unwrap();
    let said = scratch.run("import changed.jsonl --format json");
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    assert!(
        said.stderr
            .starts_with("{\"error\":{\"code\":\"contradiction\","),
        "{said:?}"
    );
}

#[test]
fn how_many_were_forgotten_comes_along_and_is_never_counted_twice() {
    let scratch = rich();
    scratch.says("prune --forget --pruned", "pruned=2 kept_live=0\n");
    assert_eq!(scratch.run("export --to all.jsonl").code, 0);
    for _ in 0..2 {
        assert_eq!(on(&scratch, "other.db", "import all.jsonl").code, 0);
        assert!(
            on(&scratch, "other.db", "stats")
                .stdout
                .contains(" forgotten=2 ")
        );
    }
    assert_eq!(
        exported(&scratch, "other.db"),
        exported(&scratch, "receipts.db")
    );
}

#[test]
fn an_export_is_for_its_owner_alone_and_an_empty_ledger_has_one_too() {
    let scratch = with_export();
    assert_eq!(mode(&scratch.path("all.jsonl")), 0o600);
    let empty = Scratch::with_ledger();
    empty.says(
        "export --to none.jsonl",
        "receipts=0 pruned=0 forgotten=0\n",
    );
    assert_eq!(
        on(&empty, "other.db", "import none.jsonl").stdout,
        "added=0 unchanged=0\n"
    );
    assert!(refused(&empty, "other.db"), "its source still decides");
    let left = names(&empty.path("."));
    assert!(
        !left.iter().any(|name| name.ends_with(".draft")),
        "{left:?}"
    );
}

#[test]
fn an_import_that_dies_changes_nothing() {
    let scratch = with_export();
    let other = Scratch::with_ledger();
    let before = exported(&other, "receipts.db");
    let export = fs::read(scratch.path("all.jsonl")).unwrap();
    let mut import = other
        .command(["import", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = import.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &export[..export.len() - 30]).unwrap();
    import.kill().unwrap();
    import.wait().unwrap();
    drop(stdin);
    assert_eq!(exported(&other, "receipts.db"), before);
    let count: u32 = plain(&other.path("receipts.db"))
        .query_row("SELECT count(*) FROM receipt_ledger_history", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(count, 0);
}
