//! `record` (contract 7.1): an intent on record, and a payload that is kept until it is of no more use.

use std::fs;

use super::procs::{alone, chance, count, plain, together};
use super::stage::{finish, lines, stands};
use super::support::{Said, Scratch};

const MIB: usize = 1024 * 1024;

#[test]
fn a_new_key_is_created_as_recorded_with_attempt_0() {
    let ledger = Scratch::new();
    ledger.says(
        "record --key a --fingerprint v1",
        "created=true state=recorded attempt=0\n",
    );
    ledger.says(
        "record --key a --fingerprint v1",
        "created=false state=recorded attempt=0\n",
    );
    ledger.says(
        "--format json record --key b --fingerprint v1",
        "{\"key\":\"b\",\"created\":true,\"state\":\"recorded\",\"attempt\":0}\n",
    );
    ledger.says(
        "record --key c --fingerprint v1 --owner w --run r --amount 10.0 --currency EUR",
        "created=true state=recorded attempt=0\n",
    );
    let shown = ledger.run("show --key c --history").stdout;
    for fact in [
        "owner=w ",
        "run=r ",
        "amount=10.0 ",
        "currency=EUR ",
        "event=recorded attempt=0 actor=w ",
    ] {
        assert!(shown.contains(fact), "{fact}: {shown}");
    }
    ledger.says(
        "reserve --key a --fingerprint v1",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
}

#[test]
fn a_key_on_record_is_told_as_it_stands_and_never_changed() {
    let ledger = Scratch::with_ledger();
    for (verbs, stands_as) in [
        (
            &["reserve --key K --fingerprint v1"][..],
            "reserved attempt=1",
        ),
        (
            &["reserve --key K --fingerprint v1", "succeed --key K"],
            "succeeded attempt=1",
        ),
        (
            &["reserve --key K --fingerprint v1", "fail --key K"],
            "failed attempt=1",
        ),
        (
            &["reserve --key K --fingerprint v1", "unknown --key K"],
            "unknown attempt=1",
        ),
        (
            &[
                "reserve --key K --fingerprint v1",
                "fail --key K",
                "reserve --key K --fingerprint v1 --allow-failed-retry",
            ],
            "reserved attempt=2",
        ),
        (
            &[
                "reserve --key K --fingerprint v1",
                "succeed --key K",
                "prune --older-than 0s",
            ],
            "succeeded attempt=1",
        ),
    ] {
        let key = format!("k:{}", stands_as.replace(' ', ":"));
        let key = if verbs.len() == 3 {
            format!("{key}:3")
        } else {
            key
        };
        for verb in verbs {
            assert_eq!(ledger.run(&verb.replace('K', &key)).code, 0);
        }
        let before = ledger.run(&format!("show --key {key} --history"));
        for more in ["", " --owner somebody --run r"] {
            ledger.says(
                &format!("record --key {key} --fingerprint v1{more}"),
                &format!("created=false state={stands_as}\n"),
            );
        }
        assert_eq!(ledger.run(&format!("show --key {key} --history")), before);
        ledger.conflicts(
            &format!("record --key {key} --fingerprint v2"),
            &format!("decision=CONFLICT state={stands_as}\n"),
        );
    }
    assert!(ledger.run("verify").stdout.starts_with("verify=ok "));
}

#[test]
fn a_payload_is_only_kept_where_one_is_given_and_asked_for() {
    let ledger = Scratch::with_ledger();
    fs::write(ledger.path("p"), "{\"a\": 1}").unwrap();
    ledger.refuses("record --key a --fingerprint v1 --keep-payload", "usage");
    ledger.refuses("record --key a --keep-payload", "usage");
    ledger.refuses("record --key a", "usage");
    ledger.refuses("reserve --key a --payload-file p --keep-payload", "usage");
    ledger.says(
        "record --key a --payload-file p",
        "created=true state=recorded attempt=0\n",
    );
    assert_eq!(payloads(&ledger), 0);
    // What is on record already is not given a payload afterwards.
    ledger.says(
        "record --key a --payload-file p --keep-payload",
        "created=false state=recorded attempt=0\n",
    );
    assert_eq!(payloads(&ledger), 0);
    ledger.says(
        "record --key b --payload-json p --keep-payload",
        "created=true state=recorded attempt=0\n",
    );
    assert_eq!(payloads(&ledger), 1);
    ledger.says(
        "reserve --key b --payload-json p",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
    assert_eq!(payloads(&ledger), 1, "kept while it is performed");
    assert!(
        !ledger
            .run("show --key b --history")
            .stdout
            .contains("\"a\""),
        "never shown"
    );
}

fn payloads(ledger: &Scratch) -> u64 {
    let sql = "SELECT count(*) FROM receipt_ledger_payload";
    plain(&ledger.path("receipts.db"))
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_payload_of_any_bytes_reaches_the_command_as_it_was_given() {
    let mut rng = chance("payload bytes");
    let noise: Vec<u8> = (0..100_000).map(|_| rng.u8(..)).collect();
    let all_bytes: Vec<u8> = (0..=255).collect();
    for (n, bytes) in [&b""[..], b"\n", b"no newline", b"\0\0", &all_bytes, &noise]
        .into_iter()
        .enumerate()
    {
        for flag in ["--payload-file=p", "--payload-file=-"] {
            let ledger = Scratch::with_ledger();
            fs::write(ledger.path("p"), bytes).unwrap();
            let mut record = ledger.command(["record", "--key=k", flag, "--keep-payload"]);
            record.stdin(fs::File::open(ledger.path("p")).unwrap());
            assert_eq!(
                finish(&ledger, &mut record).stdout,
                "created=true state=recorded attempt=0\n"
            );
            ledger.run_args(&["drain", "--all", "--", "sh", "-c", "cat >got"]);
            assert!(fs::read(ledger.path("got")).unwrap() == bytes, "{n}");
        }
    }
}

#[test]
fn a_json_payload_is_kept_as_given_and_not_in_its_canonical_form() {
    let given = "\r\n { \"b\" : 1.50 ,\t\"a\" : \"\\u00e9\" } \n";
    let ledger = Scratch::with_ledger();
    fs::write(ledger.path("p"), given).unwrap();
    ledger.says(
        "record --key k --payload-json p --keep-payload",
        "created=true state=recorded attempt=0\n",
    );
    ledger.run_args(&["drain", "--all", "--", "sh", "-c", "cat >got"]);
    assert_eq!(fs::read_to_string(ledger.path("got")).unwrap(), given);
}

#[test]
fn a_payload_of_16_mib_is_kept_and_a_longer_one_is_refused_whole() {
    let ledger = Scratch::with_ledger();
    fs::write(ledger.path("p"), vec![b'x'; 16 * MIB + 1]).unwrap();
    let told = ledger.refuses(
        "record --key k --payload-file p --keep-payload",
        "invalid-input",
    );
    assert!(told.contains("16777216 bytes"), "{told}");
    assert_eq!(stands(&ledger, "k"), "nothing");
    // Without being kept it may have any length.
    ledger.says(
        "record --key long --payload-file p",
        "created=true state=recorded attempt=0\n",
    );
    fs::write(ledger.path("p"), vec![b'x'; 16 * MIB]).unwrap();
    ledger.says(
        "record --key k --payload-file p --keep-payload",
        "created=true state=recorded attempt=0\n",
    );
    ledger.run_args(&["drain", "--prefix=k", "--", "sh", "-c", "wc -c >got"]);
    assert_eq!(lines(&ledger, "got")[0].trim(), "16777216");
}

/// A text that stands nowhere else.
fn marker(n: usize) -> String {
    format!("<<payload {n:05} of this test>>")
}

/// Every marker of which a byte sequence is still in the ledger's file, or in its log.
fn found(ledger: &Scratch, markers: usize) -> Vec<usize> {
    let mut bytes = fs::read(ledger.path("receipts.db")).unwrap();
    bytes.extend(fs::read(ledger.path("receipts.db-wal")).unwrap_or_default());
    let start = memchr::memmem::Finder::new("<<payload ");
    let mut found: Vec<usize> = start
        .find_iter(&bytes)
        .map(|at| {
            std::str::from_utf8(&bytes[at + 10..at + 15])
                .unwrap()
                .parse()
                .unwrap()
        })
        .filter(|n| *n < markers)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn the_bytes_of_a_payload_are_gone_from_the_file_once_its_receipt_has_succeeded() {
    for how in ["succeed", "resolve", "drain", "run", "apply", "prune"] {
        let ledger = Scratch::with_ledger();
        for (n, size) in [(0, 0), (1, 30_000), (2, 10)] {
            fs::write(ledger.path("p"), marker(n) + &"x".repeat(size)).unwrap();
            ledger.run(&format!(
                "record --key k:{n} --payload-file p --keep-payload"
            ));
        }
        assert_eq!(found(&ledger, 3), [0, 1, 2]);
        let fingerprint = |n: usize| {
            let shown = ledger.run(&format!("show --key k:{n}")).stdout;
            shown
                .split(' ')
                .find_map(|word| word.strip_prefix("fingerprint="))
                .unwrap()
                .to_owned()
        };
        for n in [1, 0, 2] {
            let (key, fingerprint) = (format!("k:{n}"), fingerprint(n));
            let reserve = format!("reserve --key {key} --fingerprint {fingerprint}");
            let calls = match how {
                "succeed" => vec![reserve, format!("succeed --key {key}")],
                "resolve" => vec![format!("resolve --key {key} --as succeeded --evidence e")],
                "drain" => vec![format!("drain --prefix {key} -- true")],
                "run" => vec![format!(
                    "run --key {key} --fingerprint {fingerprint} -- true"
                )],
                "apply" => {
                    fs::write(ledger.path("sql"), "SELECT 1;").unwrap();
                    vec![format!(
                        "apply --key {key} --fingerprint {fingerprint} --sql sql"
                    )]
                }
                _ => vec![
                    reserve,
                    format!("fail --key {key}"),
                    "prune --older-than 0s".to_owned(),
                ],
            };
            for call in calls {
                assert_eq!(ledger.run(&call).code, 0, "{call}");
            }
            assert!(
                !found(&ledger, 3).contains(&n),
                "{how}: payload {n} is still there"
            );
        }
        assert_eq!(payloads(&ledger), 0);
    }
}

#[test]
fn a_payload_is_kept_while_its_receipt_failed_or_nobody_knows() {
    let ledger = Scratch::with_ledger();
    for (n, verb) in ["fail", "unknown"].into_iter().enumerate() {
        fs::write(ledger.path("p"), marker(n)).unwrap();
        ledger.run(&format!(
            "record --key k:{n} --payload-file p --keep-payload"
        ));
        ledger.run(&format!("reserve --key k:{n} --payload-file p"));
        ledger.run(&format!("{verb} --key k:{n}"));
    }
    assert_eq!(found(&ledger, 2), [0, 1]);
}

/// Rows move between pages as others come and go; what they leave behind is of payloads too.
#[test]
fn of_hundreds_of_payloads_that_came_and_went_in_any_order_nothing_is_left_in_the_end() {
    const COUNT: usize = 600;
    let mut rng = chance("payloads that come and go");
    let ledger = Scratch::with_ledger();
    let line = |rng: &mut fastrand::Rng, n: usize| {
        let size = if rng.u8(0..10) == 0 {
            rng.usize(0..20_000)
        } else {
            rng.usize(0..1_500)
        };
        let payload = marker(n) + &"x".repeat(size);
        format!(
            "{{\"op\":\"record\",\"key\":\"k:{n}\",\"payload\":\"{payload}\",\"keep_payload\":true}}\n"
        )
    };
    let resolved = |n: &usize| {
        format!(
            "{{\"op\":\"resolve\",\"key\":\"k:{n}\",\"as\":\"succeeded\",\"evidence\":\"e\"}}\n"
        )
    };
    let mut all: Vec<usize> = (0..COUNT).collect();
    let mut gone = Vec::new();
    for (part, chunk) in (0..COUNT).collect::<Vec<_>>().chunks(150).enumerate() {
        let input: String = chunk.iter().map(|n| line(&mut rng, *n)).collect();
        assert_eq!(super::talk::batch(&ledger, input).code, 0);
        rng.shuffle(&mut all);
        let mut input = String::new();
        for n in all.iter().filter(|n| **n < (part + 1) * 150).take(120) {
            if !gone.contains(n) {
                gone.push(*n);
                input += &resolved(n);
            }
        }
        assert_eq!(super::talk::batch(&ledger, input).code, 0);
        // SQLite can leave a copy of a row behind where it moves it to another page: of few, and never for good.
        let is_gone = |n: &usize| gone.contains(n);
        let left = found(&ledger, COUNT).into_iter().filter(is_gone).count();
        assert!(
            left <= gone.len() / 20,
            "part {part}: of {} erased payloads {left} are left",
            gone.len()
        );
    }
    let rest = all.iter().filter(|n| !gone.contains(n));
    let input: String = rest.map(resolved).collect();
    assert_eq!(super::talk::batch(&ledger, input).code, 0);
    assert_eq!(
        found(&ledger, COUNT),
        [0; 0],
        "with the last one all are gone"
    );
}

#[test]
fn of_16_at_once_one_creates_it() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let commands: Vec<_> = (0..16)
        .map(|_| ledger.command("--busy-timeout 60s record --key k --fingerprint v1".split(' ')))
        .collect();
    let all = together(&commands);
    let told = |start: &str| {
        all.iter()
            .filter(|said: &&Said| said.stdout == start)
            .count()
    };
    assert_eq!(
        told("created=true state=recorded attempt=0\n"),
        1,
        "{all:?}"
    );
    assert_eq!(
        told("created=false state=recorded attempt=0\n"),
        15,
        "{all:?}"
    );
    assert_eq!(count(&all, "CONFLICT"), 0);
}
