//! `export --retire` (contract §9.4): the source never decides again.

use super::marked::decides_nothing;
use super::stage::{exported, on, rich};

#[test]
fn a_retired_ledger_answers_retired_to_everything_that_could_decide_or_change() {
    let scratch = rich();
    assert_eq!(scratch.run("export --retire --to moved.jsonl").code, 0);
    decides_nothing(&scratch, "receipts.db", "retired");
    scratch.refuses("restore --accept-gap", "invalid-transition");
    scratch.refuses("import moved.jsonl", "retired");
}

#[test]
fn it_can_be_exported_again_and_says_the_same() {
    let scratch = rich();
    let before = exported(&scratch, "receipts.db");
    let said = scratch.run("export --retire");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(
        said.stdout,
        before.replacen("\"retired\":false", "\"retired\":true", 1)
    );
    assert_eq!(exported(&scratch, "receipts.db"), said.stdout);
    assert_eq!(scratch.run("export --retire").stdout, said.stdout);
}

#[test]
fn what_was_moved_decides_in_its_new_place_as_it_did_before() {
    let scratch = rich();
    let keys = [
        "new",
        "unknown",
        "result:3",
        "reserved",
        "failed",
        "old:failed",
        "old:contested",
    ];
    let ask = |key: &str| format!("reserve --key {key} --fingerprint f --allow-failed-retry");
    assert_eq!(scratch.run("backup --to copy.db").code, 0);
    assert_eq!(on(&scratch, "copy.db", "restore --accept-gap").code, 0);
    assert_eq!(scratch.run("export --retire --to moved.jsonl").code, 0);
    assert_eq!(on(&scratch, "moved.db", "import moved.jsonl").code, 0);
    for key in keys {
        let before = on(&scratch, "copy.db", &ask(key));
        assert_eq!(on(&scratch, "moved.db", &ask(key)), before, "{key}");
        assert_eq!(before.code, 0, "{key}");
    }
}

#[test]
fn where_the_export_cannot_be_written_the_ledger_is_retired_all_the_same_and_can_be_exported_again()
{
    let scratch = rich();
    scratch.refuses("export --retire --to missing/moved.jsonl", "io");
    assert_eq!(scratch.run("export --to moved.jsonl").code, 0);
    assert_eq!(on(&scratch, "moved.db", "import moved.jsonl").code, 0);
    let asked = on(&scratch, "moved.db", "reserve --key new --fingerprint f");
    assert_eq!(asked.stdout, "decision=EXECUTE state=reserved attempt=1\n");
}
