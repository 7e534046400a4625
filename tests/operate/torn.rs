//! Exports that are torn, or none at all (contract §9.4): `invalid-input`, and nothing is changed.

use std::fs;

use super::procs::names;
use super::stage::{exported, on, rich};
use super::support::Scratch;

fn export_of_rich() -> String {
    exported(&rich(), "receipts.db")
}

fn refuses(scratch: &Scratch, text: impl AsRef<[u8]>, what: &str) -> String {
    fs::write(scratch.path("given.jsonl"), text).unwrap();
    let said = scratch.run("import given.jsonl");
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (2, ""),
        "{what}: {said:?}"
    );
    assert!(
        said.stderr.starts_with("error[invalid-input]: import: "),
        "{what}: {said:?}"
    );
    said.stderr
}

#[test]
fn cut_off_at_any_byte_it_is_refused_and_nothing_is_taken() {
    let text = export_of_rich();
    let scratch = Scratch::with_ledger();
    scratch.says(
        "reserve --key of-its-own --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    let before = exported(&scratch, "receipts.db");
    let bytes = text.as_bytes();
    let line_ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
    let around = line_ends.iter().flat_map(|&at| [at, at + 1, at + 2]);
    let spread = (0..bytes.len()).step_by(bytes.len() / 60);
    let mut cuts: Vec<usize> = around
        .chain(spread)
        .filter(|&at| at < bytes.len())
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    for at in cuts {
        refuses(&scratch, &bytes[..at], &format!("cut at {at}"));
    }
    assert_eq!(exported(&scratch, "receipts.db"), before);
    fs::write(scratch.path("given.jsonl"), bytes).unwrap();
    assert_eq!(scratch.run("import given.jsonl").code, 0);
}

#[test]
fn a_torn_one_says_so_and_leaves_no_ledger_where_none_was() {
    let text = export_of_rich();
    let scratch = Scratch::new();
    for (text, says) in [
        (&text[..text.len() - 1], "torn"),
        (&text[..text.len() / 2], "torn"),
        ("", "torn"),
        ("{}\n", "line 1 is not the header"),
    ] {
        let told = refuses(&scratch, text, "torn");
        assert!(told.contains(says), "{told}");
        assert_eq!(names(&scratch.path(".")), ["given.jsonl"]);
    }
    let said = on(&scratch, "receipts.db", "import missing.jsonl");
    assert!(said.stderr.starts_with("error[io]: "), "{said:?}");
    assert_eq!(names(&scratch.path(".")), ["given.jsonl"]);
}

#[test]
fn a_line_lost_doubled_swapped_or_added_is_noticed() {
    let text = export_of_rich();
    let lines: Vec<&str> = text.lines().collect();
    let scratch = Scratch::with_ledger();
    let join = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    for lost in 0..lines.len() {
        let mut others = lines.clone();
        others.remove(lost);
        refuses(
            &scratch,
            join(&others),
            &format!("without line {}", lost + 1),
        );
    }
    let mut more = lines.clone();
    more.insert(1, lines[0]);
    refuses(&scratch, join(&more), "two headers");
    more[1] = lines[1];
    refuses(&scratch, join(&more), "a line twice");
    let mut after = lines.clone();
    after.push(lines[1]);
    refuses(&scratch, join(&after), "a line behind the last");
    after.pop();
    after.push("");
    refuses(&scratch, join(&after), "an empty line behind the last");
    assert_eq!(scratch.run("list").stdout, "");
}

#[test]
fn what_is_no_export_is_refused() {
    let scratch = Scratch::with_ledger();
    for foreign in [
        "key,status\nk,succeeded\n",
        "SQLite format 3\0",
        "\u{feff}{\"receipt_ledger_export\":{\"version\":1,\"retired\":false}}\n",
        "{\"receipt_ledger_export\":{\"version\":2,\"retired\":false}}\n",
        "{\"receipt_ledger_export\":{\"version\":1}}\n",
        "{\"receipt_ledger_export\":{\"version\":1,\"retired\":false,\"more\":1}}\n",
        "\n",
        "null\n",
        "[]\n",
    ] {
        refuses(&scratch, foreign, foreign);
    }
    refuses(
        &scratch,
        fs::read(scratch.path("receipts.db")).unwrap(),
        "a ledger",
    );
}

#[test]
fn a_member_that_no_ledger_writes_is_noticed_and_the_line_named() {
    let text = export_of_rich();
    let scratch = Scratch::with_ledger();
    for (from, to) in [
        ("\"key\":\"unknown\"", "\"key\":\"un known\""),
        ("\"key\":\"unknown\"", "\"key\":\"\""),
        ("\"state\":\"unknown\"", "\"state\":\"pruned\""),
        ("\"state\":\"unknown\"", "\"state\":\"failed\""),
        (
            "\"state\":\"unknown\",\"attempt\":1",
            "\"state\":\"unknown\",\"attempt\":2",
        ),
        (
            "\"state\":\"unknown\",\"attempt\":1",
            "\"state\":\"unknown\",\"attempt\":-1",
        ),
        (
            "\"state\":\"unknown\",\"attempt\":1",
            "\"state\":\"unknown\",\"attempt\":4294967296",
        ),
        ("\"amount\":\"10.50\"", "\"amount\":\"10,50\""),
        ("\"amount\":\"10.50\"", "\"amount\":null"),
        ("\"late_success\":true", "\"late_success\":false"),
        ("\"late_success\":true", "\"late_success\":1"),
        ("\"event\":\"unknown\"", "\"event\":\"vanished\""),
        ("\"event\":\"unknown\"", "\"event\":\"succeeded\""),
        ("\"key_digest\":\"", "\"key_digest\":\"0"),
        ("\"contested\":true", "\"contested\":false,\"more\":1"),
        ("\"payload_base64\":\"", "\"payload_base64\":\"!"),
        (
            "\"key\":\"unknown\"",
            "\"key\":\"unknown\",\"key\":\"unknown\"",
        ),
        ("\"key\":\"unknown\"", "\"clé\":1,\"key\":\"unknown\""),
    ] {
        assert!(text.contains(from), "{from}");
        let told = refuses(
            &scratch,
            text.replacen(from, to, 1),
            &format!("{from} -> {to}"),
        );
        assert!(told.contains("import: line "), "{told}");
    }
    assert_eq!(scratch.run("list").stdout, "");
}

#[test]
fn no_payload_and_no_result_is_told_in_a_refusal() {
    let text = export_of_rich();
    let scratch = Scratch::with_ledger();
    let secret = text.replacen("\"result\":false", "\"result\":\"SECRET", 1);
    assert_ne!(secret, text);
    assert!(!refuses(&scratch, secret, "secret").contains("SECRET"));
}

/// A sync that fails, whichever it is: under the name is nothing, or all of it.
#[cfg(target_os = "linux")]
#[test]
fn an_import_whose_syncs_fail_leaves_no_ledger_or_a_whole_one() {
    let inject = |nth: u32| format!("inject=fdatasync:error=EIO:when={nth}");
    if !super::procs::has("strace", &["-f", "-e", &inject(9), "true"]) {
        eprintln!("skipped: no strace that injects errors");
        return;
    }
    let text = export_of_rich();
    let mut failed = 0;
    for nth in 1..=8 {
        let scratch = Scratch::new();
        fs::write(scratch.path("given.jsonl"), &text).unwrap();
        let import = scratch.command(["import", "given.jsonl"]);
        let mut strace = std::process::Command::new("strace");
        strace
            .args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e"])
            .arg(inject(nth))
            .arg(import.get_program())
            .args(import.get_args())
            .current_dir(scratch.path("."));
        let output = strace.output().unwrap();
        if !output.status.success() {
            failed += 1;
        }
        if scratch.path("receipts.db").exists() {
            assert_eq!(exported(&scratch, "receipts.db"), text, "sync {nth}");
        } else {
            assert!(!output.status.success(), "sync {nth}: {output:?}");
        }
    }
    assert!(failed > 0);
}
