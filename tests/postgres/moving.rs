//! From a file to a server and back: `export --retire`, `import` (contract 9.4).

use std::fs::{self, File};

use super::support::{Scratch, said};

#[test]
fn a_ledger_moves_from_a_file_to_a_server_and_its_export_stays_the_same_byte_for_byte() {
    let server = Scratch::new();
    let file = server.at("receipts.db");
    file.run("init");
    for line in [
        "reserve --key order:1 --fingerprint v1 --owner w1 --run r1 --amount 12.50 --currency EUR",
        "succeed --key order:1 --result-json {\"a\":[1,2.50,\"\\u0000\"]}",
        "reserve --key order:2 --fingerprint v1 --lease 1h",
        "reserve --key order:2 --fingerprint v2",
        "reserve --key order:3 --fingerprint v1",
        "fail --key order:3 --reason declined",
        "reserve --key old --fingerprint v1",
        "succeed --key old",
        "record --key later --fingerprint f",
    ] {
        file.run(line);
    }
    fs::write(file.path("payload"), [0, 1, 255, b'\n']).unwrap();
    file.run("record --key kept --payload-file payload --keep-payload");
    file.run("prune --older-than 0s --state succeeded");
    file.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
    let exported = file.run("export --retire");
    assert_eq!(exported.code, 0, "{exported:?}");
    fs::write(server.path("moved"), &exported.stdout).unwrap();
    file.refuses("reserve --key new --fingerprint v1", "retired");

    let import = || {
        let mut command = server.command(["import", "-"]);
        command.stdin(File::open(server.path("moved")).unwrap());
        said(&command.output().unwrap())
    };
    let imported = import();
    assert_eq!(
        (imported.stdout.as_str(), imported.code),
        ("added=6 unchanged=0\n", 0),
        "{imported:?}"
    );
    assert!(
        imported
            .stderr
            .starts_with("note: created ledger postgresql://"),
        "{imported:?}"
    );
    let again = import();
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str()),
        ("added=0 unchanged=6\n", "")
    );
    let back = server.run("export").stdout;
    let without_mark = |text: &str| text.replacen("\"retired\":true", "\"retired\":false", 1);
    assert_eq!(back, without_mark(&exported.stdout));
    server.says("verify", "verify=ok receipts=4\n");
    server.says(
        "reserve --key order:1 --fingerprint v1",
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
    server.says(
        "reserve --key order:2 --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );

    // What it now says otherwise it does not take back.
    server.run("unknown --key order:2");
    let contradicted = import();
    assert_eq!(
        (contradicted.stdout.as_str(), contradicted.code),
        ("", 3),
        "{contradicted:?}"
    );
}

#[test]
fn an_import_that_fails_creates_no_ledger_and_a_copy_does_not_decide() {
    let server = Scratch::new();
    let file = server.at("receipts.db");
    file.run("reserve --key k --fingerprint f");
    let exported = file.run("export").stdout;
    fs::write(server.path("torn"), &exported[..exported.len() - 20]).unwrap();
    let torn = server.run_args(&["import", server.path("torn").to_str().unwrap()]);
    assert!(
        torn.stderr.starts_with("error[invalid-input]: "),
        "{torn:?}"
    );
    server.refuses("show --key k", "no-ledger");
    fs::write(server.path("whole"), &exported).unwrap();
    let whole = server.run_args(&["import", server.path("whole").to_str().unwrap()]);
    assert_eq!(whole.stdout, "added=1 unchanged=0\n", "{whole:?}");
    server.refuses("reserve --key k --fingerprint f", "restored-backup");
    server.refuses("reserve --key new --fingerprint f", "restored-backup");
    server.refuses("succeed --key k", "restored-backup");
    assert!(
        server
            .run("show --key k")
            .stdout
            .starts_with("state=reserved ")
    );
    server.says("restore --accept-gap", "standing=in_use\n");
    server.says(
        "reserve --key k --fingerprint f",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    assert_eq!(server.run("export --retire").code, 0);
    server.refuses("reserve --key k --fingerprint f", "retired");
}

#[test]
fn two_ledgers_come_into_one_that_is_marked_and_nothing_of_either_is_lost() {
    let server = Scratch::new();
    let file = server.at("into.db");
    let sources = ["a", "b"].map(|name| {
        let source = server.at(server.path(&format!("{name}.db")).to_str().unwrap());
        for key in ["1", "2", "old"] {
            source.run(&format!("reserve --key {name}:{key} --fingerprint f"));
        }
        source.run(&format!("succeed --key {name}:old"));
        source.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
        let exported = file.path(name);
        fs::write(&exported, source.run("export").stdout).unwrap();
        exported
    });
    for ledger in [&*server, &file] {
        for source in &sources {
            let taken = ledger.run_args(&["import", source.to_str().unwrap()]);
            assert_eq!(taken.stdout, "added=3 unchanged=0\n", "{taken:?}");
        }
        ledger.says("verify", "verify=ok receipts=4\n");
        ledger.says("restore --accept-gap", "standing=in_use\n");
        for key in ["a:1", "a:2", "b:1", "b:2"] {
            ledger.says(
                &format!("reserve --key {key} --fingerprint f"),
                "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
            );
        }
        ledger.says(
            "reserve --key b:old --fingerprint f",
            "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
        );
    }
}
