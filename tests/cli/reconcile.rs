//! Contract §9.2 through the binary.

use std::fs;

use rusqlite::types::Value;

use super::prepared::{prepare, rewrite, run_out};
use super::support::{Said, Scratch};

const HEADER: &str = "key,status,amount,currency,reference\n";
/// When everything below happened, and a window around it.
const LIVED: (i64, i64) = (1_736_899_200_000, 1_736_902_800_000);
const WINDOW: &str = "--since 2025-01-01T00:00:00Z --until 2025-02-01T00:00:00Z";

struct Shop(Scratch);

impl Shop {
    fn new() -> Shop {
        Shop(Scratch::with_ledger())
    }

    /// Runs these calls of the binary, separated by semicolons; all of them succeed.
    fn calls(&self, calls: &str) {
        for call in calls
            .split(';')
            .map(str::trim)
            .filter(|call| !call.is_empty())
        {
            let said = self.0.run(call);
            assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{call}");
        }
    }

    /// Everything on record happened within [`LIVED`].
    fn long_ago(&self) {
        let sql = "UPDATE receipt_ledger_receipt SET created_at_ms = ?1, updated_at_ms = ?2,
            first_reserved_at_ms = iif(first_reserved_at_ms IS NULL, NULL, ?1),
            attempt_started_at_ms = iif(attempt_started_at_ms IS NULL, NULL, ?1),
            settled_at_ms = iif(settled_at_ms IS NULL, NULL, ?2)";
        rewrite(&self.0, sql, &[&LIVED.0, &LIVED.1]);
    }

    fn column(&self, key: &str, column: &str, value: Option<i64>) {
        let sql = format!("UPDATE receipt_ledger_receipt SET {column} = ?2 WHERE key = ?1");
        rewrite(
            &self.0,
            &sql,
            &[&key, &value.map_or(Value::Null, Value::Integer)],
        );
    }

    /// Compares with rows below the usual header.
    fn reconcile(&self, rows: &str, more: &str) -> Said {
        self.with_file("charges.csv", &format!("{HEADER}{rows}"), more)
    }

    fn with_file(&self, name: &str, text: &str, more: &str) -> Said {
        fs::write(self.0.path(name), text).unwrap();
        let said = self.0.run(&format!("reconcile --provider {name} {more}"));
        Said {
            stdout: without_ages(&said.stdout),
            ..said
        }
    }

    fn shown(&self, key: &str) -> String {
        self.0.run(&format!("show --key {key} --history")).stdout
    }

    /// The ledger as it lies on disk.
    fn bytes(&self) -> Vec<u8> {
        fs::read(self.0.path("receipts.db")).unwrap()
    }
}

/// Ages and moments differ from run to run.
fn without_ages(text: &str) -> String {
    let word = |word: &str| {
        for name in ["oldest_unreconciled_age_s=", "since="] {
            if word.starts_with(name) && word.len() > name.len() {
                return format!("{name}…");
            }
        }
        word.to_owned()
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n";
    text.lines().map(line).collect()
}

fn says(said: &Said, code: i32, stdout: &str) {
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str(), said.code),
        (stdout, "", code)
    );
}

/// One receipt of each category, and one each that agrees, is in flight or proves nothing.
fn one_of_each() -> Shop {
    let shop = Shop::new();
    shop.calls(
        "reserve --key agree --fingerprint f --amount 10.0 --currency EUR; succeed --key agree;
         reserve --key differs --fingerprint f --amount 10.00 --currency EUR; succeed --key differs;
         reserve --key not-applied --fingerprint f --amount 5.00 --currency USD; succeed --key not-applied;
         reserve --key lost --fingerprint f --amount 7.00 --currency EUR; unknown --key lost;
         reserve --key found --fingerprint f; unknown --key found;
         reserve --key failed --fingerprint f; fail --key failed;
         record --key later --fingerprint f --amount 3.00 --currency EUR;
         reserve --key twice --fingerprint f; succeed --key twice;
         reserve --key flying --fingerprint f;
         reserve --key pending --fingerprint f; unknown --key pending;
         reserve --key quiet --fingerprint f; fail --key quiet",
    );
    prepare(&shop.0, "pruned failed", "of-old");
    prepare(&shop.0, "pruned succeeded", "of-older");
    prepare(&shop.0, "pruned succeeded", "pruned-and-lacking");
    shop.long_ago();
    shop
}

const EACH: &str = "\
agree,succeeded,10.00,eur,ch_1
differs,succeeded,10.50,EUR,ch_2
found,succeeded,1.10,EUR,ch_3
failed,succeeded,,,ch_4
later,succeeded,,,ch_5
twice,succeeded,2.00,EUR,ch_6
never,succeeded,0.10,EUR,it's ch_7
pending,pending,9.00,EUR,ch_8
twice,succeeded,2.50,EUR,ch_9
flying,succeeded,8.00,EUR,ch_10
of-old,succeeded,0.20,EUR,ch_11
of-older,succeeded,4.00,EUR,ch_12
";

const EACH_DRIFT: &str = "\
drift=amount_differs key=differs state=succeeded attempt=1 pruned=false since=… amount=10.00 currency=EUR provider_amount=10.50 provider_currency=EUR reference=ch_2 line=3 rows=1
drift=recorded_not_applied key=not-applied state=succeeded attempt=1 pruned=false since=… amount=5.00 currency=USD provider_amount= provider_currency= reference= line= rows=0
drift=not_applied key=lost state=unknown attempt=1 pruned=false since=… amount=7.00 currency=EUR provider_amount= provider_currency= reference= line= rows=0
drift=applied_not_recorded key=found state=unknown attempt=1 pruned=false since=… amount= currency= provider_amount=1.10 provider_currency=EUR reference=ch_3 line=4 rows=1
drift=applied_not_recorded key=failed state=failed attempt=1 pruned=false since=… amount= currency= provider_amount= provider_currency= reference=ch_4 line=5 rows=1
drift=applied_not_recorded key=later state=recorded attempt=0 pruned=false since=… amount=3.00 currency=EUR provider_amount= provider_currency= reference=ch_5 line=6 rows=1
drift=applied_twice key=twice state=succeeded attempt=1 pruned=false since=… amount= currency= provider_amount=2.50 provider_currency=EUR reference=ch_9 line=10 rows=2
drift=unrecorded key=never state= attempt= pruned=false since= amount= currency= provider_amount=0.10 provider_currency=EUR reference='it'\\''s ch_7' line=8 rows=1
drift=applied_not_recorded key=of-old state=failed attempt=1 pruned=true since= amount= currency= provider_amount=0.20 provider_currency=EUR reference=ch_11 line=12 rows=1
";

#[test]
fn each_category_has_its_line_and_then_the_sum_of_all() {
    let shop = one_of_each();
    let said = shop.reconcile(EACH, &format!("{WINDOW} --complete"));
    // EUR: 0.50 + 7.00 + 1.10 + 3.00 + 2.50 + 0.10 + 0.20
    let sum = "agree=3 in_flight=2 drift_count=9 oldest_unreconciled_age_s=… drift_amount_EUR=14.40 drift_amount_USD=5.00\n";
    says(&said, 3, &format!("{EACH_DRIFT}{sum}"));
    let again = shop.reconcile(EACH, &format!("{WINDOW} --complete"));
    assert_eq!(said, again, "the order is stable and nothing was changed");
}

#[test]
fn without_complete_what_the_provider_lacks_proves_nothing() {
    let shop = one_of_each();
    let lines = EACH_DRIFT.lines().filter(|line| !line.contains("rows=0"));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let sum =
        "agree=2 in_flight=2 drift_count=7 oldest_unreconciled_age_s=… drift_amount_EUR=7.40\n";
    for more in ["", WINDOW] {
        says(&shop.reconcile(EACH, more), 3, &format!("{lines}{sum}"));
    }
}

#[test]
fn json_has_the_same_facts() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f --amount 0.10 --currency EUR; unknown --key a");
    shop.long_ago();
    let said = shop.with_file(
        "charges.csv",
        "key,amount,reference\na,0.30,x\nb,,\n",
        "--format json",
    );
    let mut lines = said.stdout.lines();
    assert_eq!(
        lines.next().unwrap(),
        r#"{"drift":"applied_not_recorded","key":"a","state":"unknown","attempt":1,"pruned":false,"since":"2025-01-15T00:00:00.000Z","amount":"0.10","currency":"EUR","provider_amount":"0.30","provider_currency":null,"reference":"x","line":2,"rows":1}"#
    );
    assert_eq!(
        lines.next().unwrap(),
        r#"{"drift":"unrecorded","key":"b","state":null,"attempt":null,"pruned":false,"since":null,"amount":null,"currency":null,"provider_amount":null,"provider_currency":null,"reference":null,"line":3,"rows":1}"#
    );
    let sum = lines.next().unwrap();
    let age = sum
        .strip_prefix(r#"{"agree":0,"in_flight":0,"drift_count":2,"oldest_unreconciled_age_s":"#)
        .and_then(|rest| rest.strip_suffix(r#","drift_amount_EUR":"0.30"}"#));
    assert!(age.unwrap().parse::<u64>().unwrap() > 86_400, "{sum}");
    assert_eq!((lines.next(), said.code), (None, 3));
}

#[test]
fn all_in_agreement_is_exit_0_and_has_no_age_and_no_figure() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; succeed --key a");
    let sum = "agree=1 in_flight=0 drift_count=0 oldest_unreconciled_age_s=\n";
    says(&shop.reconcile("a,succeeded,5,EUR,r\n", ""), 0, sum);
    let json = shop.reconcile("a,succeeded,5,EUR,r\n", "--format json");
    let object = r#"{"agree":1,"in_flight":0,"drift_count":0,"oldest_unreconciled_age_s":null}"#;
    assert_eq!(json.stdout, format!("{object}\n"));
}

#[test]
fn the_age_is_that_of_the_oldest_receipt_in_drift_since_it_was_first_reserved() {
    let shop = Shop::new();
    shop.calls(
        "reserve --key old --fingerprint f; succeed --key old; reserve --key a --fingerprint f; unknown --key a;
         reserve --key b --fingerprint f; unknown --key b; record --key c --fingerprint f",
    );
    shop.long_ago();
    for key in ["a", "b", "c"] {
        shop.column(key, "created_at_ms", Some(1_767_225_600_000));
        shop.column(key, "updated_at_ms", Some(1_767_300_000_000));
    }
    shop.column(
        "a",
        "first_reserved_at_ms",
        Some(1_767_225_600_000 + 60_000),
    );
    shop.column(
        "b",
        "first_reserved_at_ms",
        Some(1_767_225_600_000 + 120_000),
    );
    let age = |rows: &str| {
        fs::write(shop.0.path("charges.csv"), format!("key\n{rows}")).unwrap();
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let said = shop.0.run("reconcile --provider charges.csv").stdout;
        let (_, age) = said.split_once("oldest_unreconciled_age_s=").unwrap();
        let age: u64 = age.split_whitespace().next().unwrap().parse().unwrap();
        let since = now.as_secs() - age;
        // The clock goes on between the two looks at it.
        (since.abs_diff(1_767_225_600) + 30) / 60
    };
    assert_eq!(age("old\na\nb\n"), 1);
    assert_eq!(age("b\na\n"), 1);
    assert_eq!(age("b\n"), 2);
    assert_eq!(age("b\nc\n"), 0, "what was only recorded counts from there");
}

#[test]
fn cells_are_text_in_either_format() {
    let shop = Shop::new();
    for key in ["00042", "42", "9912140633506421", "9.91214E+15"] {
        shop.calls(&format!(
            "reserve --key {key} --fingerprint f --amount 10.0 --currency EUR; succeed --key {key}"
        ));
    }
    let csv = "\u{feff}\"key\",status,amount,currency,reference\r\n00042,succeeded,10.00,EUR,\"a, b\r\nc\"\r\n\
        9912140633506421,succeeded,010.0,eur,\r\n9.91214E+15,succeeded,10,EUR,x\r\n42,succeeded,10.000,EUR,";
    let sum = "agree=4 in_flight=0 drift_count=0 oldest_unreconciled_age_s=\n";
    says(&shop.with_file("charges.csv", csv, ""), 0, sum);
    let json = "\u{feff}{\"key\":\"00042\",\"status\":\"succeeded\",\"amount\":10.00,\"currency\":\"eur\"}\r\n\
        {\"key\":9912140633506421,\"status\":\"succeeded\",\"amount\":\"10\"}\n\n\
        {\"key\":9.91214E+15,\"status\":\"succeeded\"}\n{\"key\":42,\"status\":\"succeeded\",\"amount\":10.0}";
    says(&shop.with_file("charges.jsonl", json, ""), 0, sum);
    says(&shop.with_file("charges.NDJSON", json, ""), 0, sum);
    says(
        &shop.with_file("charges", json, "--provider-format jsonl"),
        0,
        sum,
    );
    says(
        &shop.with_file("charges.txt", csv, "--provider-format csv"),
        0,
        sum,
    );
}

#[test]
fn a_line_of_drift_can_be_evaluated_whatever_the_provider_wrote() {
    let shop = Shop::new();
    let rows = "a,succeeded,1,EUR,\"$(touch hit) `touch hit`; touch hit\n'\u{1b}[31m\"\n";
    let said = shop.reconcile(rows, "");
    let reference = r"reference='$(touch hit) `touch hit`; touch hit\n'\''\u001b[31m'";
    assert!(said.stdout.contains(reference), "{}", said.stdout);
    assert_eq!(said.stdout.lines().count(), 2);
}

#[test]
fn statuses_prove_nothing_unless_they_are_named() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; unknown --key a; reserve --key b --fingerprint f; unknown --key b");
    shop.long_ago();
    let rows = "a,pending,1,EUR,\nb,refunded,1,EUR,\n";
    let complete = format!("{WINDOW} --complete --settle --settle-absent");
    let before = shop.bytes();
    let quiet = "agree=0 in_flight=2 drift_count=0 oldest_unreconciled_age_s=\n";
    says(&shop.reconcile(rows, &complete), 0, quiet);
    assert_eq!(shop.bytes(), before);
    let drift = |more: &str| {
        let said = shop.reconcile(rows, more);
        said.stdout.matches("drift=applied_not_recorded").count()
    };
    assert_eq!(drift("--applied-status refunded"), 1);
    assert_eq!(drift("--applied-status refunded,pending"), 2);
    assert_eq!(
        drift("--applied-status refunded --applied-status pending"),
        2
    );
    assert_eq!(drift("--applied-status succeeded"), 0);
    // Without a status column every row was applied.
    let said = shop.with_file("charges.csv", "key\na\nb\n", "");
    assert_eq!(said.stdout.matches("drift=applied_not_recorded").count(), 2);
    let renamed = "key,state\na,paid\nb,open\n";
    let more = "--status-column state --applied-status paid";
    let said = shop.with_file("charges.csv", renamed, more);
    assert!(
        said.stdout
            .ends_with("agree=0 in_flight=1 drift_count=1 oldest_unreconciled_age_s=…\n")
    );
}

#[test]
fn what_is_wrong_with_an_export_changes_nothing() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; unknown --key a");
    shop.long_ago();
    let before = shop.bytes();
    for (text, more, line) in [
        ("", "", "the file is empty"),
        ("key\n", "", "there is not a single row in it"),
        ("id\na\n", "", "line 1: there is no column"),
        (
            "key\na\n",
            "--amount-column amount",
            "line 1: there is no column",
        ),
        (
            "key\na\n",
            "--applied-status paid",
            "line 1: there is no column",
        ),
        ("key,key\na,b\n", "", "line 1: the name"),
        (
            "key,amount\na,1\nb\n",
            "",
            "line 3: the row has 1 cells, the header 2",
        ),
        ("key,amount\na,1\n,2\n", "", "line 3: the key is empty"),
        ("key,amount\na,1\nb,\"1,000\"\n", "", "line 3: the amount"),
        ("key,note\na,1\nb,\"2\n", "", "line 3: a quote"),
    ] {
        let more = format!("{more} {WINDOW} --complete --settle --settle-absent");
        let said = shop.with_file("charges.csv", text, &more);
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{text}");
        let start = format!("error[invalid-input]: --provider charges.csv: {line}");
        assert!(said.stderr.starts_with(&start), "{text}: {}", said.stderr);
    }
    fs::write(shop.0.path("charges.csv"), b"key\na\n\xff\n").unwrap();
    let told = shop
        .0
        .refuses("reconcile --provider charges.csv --settle", "invalid-input");
    assert!(told.contains("line 3: it is not UTF-8"), "{told}");
    let said = shop.with_file(
        "charges.jsonl",
        "{\"key\":\"a\"}\n{\"key\":\"b\",\"key\":\"c\"}\n",
        "--settle",
    );
    assert!(
        said.stderr
            .starts_with("error[invalid-input]: --provider charges.jsonl: line 2: the name")
    );
    let told = shop.0.refuses("reconcile --provider none.csv", "io");
    assert!(told.contains("cannot read --provider"), "{told}");
    assert_eq!(shop.bytes(), before);
}

#[test]
fn the_flags_belong_together() {
    let shop = Shop::new();
    fs::write(shop.0.path("charges.csv"), "key\na\n").unwrap();
    for (more, code) in [
        ("--complete", "usage"),
        ("--complete --since 2025-01-01T00:00:00Z", "usage"),
        ("--since 2025-01-01T00:00:00Z", "usage"),
        ("--until 2025-01-01T00:00:00Z", "usage"),
        ("--settle-absent", "usage"),
        (&format!("{WINDOW} --settle-absent"), "usage"),
        ("--since 2025-01-01 --until 2025-02-01", "invalid-input"),
        (
            "--since 2025-02-01T00:00:00Z --until 2025-02-01T00:00:00Z",
            "invalid-input",
        ),
        (
            "--since 2025-01-01T00:00:00Z --until 9999-01-01T00:00:00Z --complete",
            "invalid-input",
        ),
        ("--applied-status=", "invalid-input"),
        ("--key-column=", "invalid-input"),
        ("--provider-format xml", "invalid-input"),
        ("--prefix=", "invalid-input"),
    ] {
        shop.0
            .refuses(&format!("reconcile --provider charges.csv {more}"), code);
    }
    shop.0.refuses("reconcile", "usage");
    shop.0.refuses("reconcile --provider -", "usage");
    fs::write(shop.0.path("charges.txt"), "key\na\n").unwrap();
    shop.0.refuses("reconcile --provider charges.txt", "usage");
    // A window that is not over yet is fine where nothing is concluded from it.
    let open = "--since 2025-01-01T00:00:00+01:00 --until 9999-01-01T00:00:00Z";
    assert_eq!(
        shop.0
            .run(&format!("reconcile --provider charges.csv {open}"))
            .code,
        3
    );
}

#[test]
fn an_export_that_does_not_cover_a_life_proves_nothing() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f --lease 1h");
    shop.long_ago();
    // Reserved 2025-01-15 00:00, last changed 01:00, the lease ran out at 02:00.
    shop.column("a", "lease_expires_at_ms", Some(LIVED.1 + 3_600_000));
    let drift = |since: &str, until: &str| {
        let window = format!("--since 2025-01-{since}Z --until 2025-01-{until}Z --complete");
        let said = shop.reconcile("other,pending,,,\n", &window);
        (
            said.code,
            said.stdout.matches("drift=not_applied key=a").count(),
        )
    };
    assert_eq!(drift("15T00:00:00", "15T02:00:00.001"), (3, 1));
    assert_eq!(
        drift("15T00:00:00", "15T02:00:00"),
        (0, 0),
        "it ends before the lease does"
    );
    assert_eq!(drift("15T00:00:00", "15T01:30:00"), (0, 0));
    assert_eq!(
        drift("15T00:00:00.001", "16T00:00:00"),
        (0, 0),
        "it begins after the first attempt"
    );
    assert_eq!(drift("01T00:00:00", "31T00:00:00"), (3, 1));
}

#[test]
fn receipts_outside_the_window_are_not_looked_at_and_that_is_said() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; unknown --key a; reserve --key b --fingerprint f; unknown --key b");
    shop.long_ago();
    let later = "--since 2025-03-01T00:00:00Z --until 2025-04-01T00:00:00Z --complete --settle --settle-absent";
    let before = shop.bytes();
    let said = shop.reconcile("a,succeeded,,,\n", later);
    let sum = "agree=0 in_flight=0 drift_count=0 oldest_unreconciled_age_s=\n";
    assert_eq!((said.stdout.as_str(), said.code), (sum, 0));
    let note =
        "note: 1 receipts outside the window have rows in the export and were not looked at\n";
    assert_eq!(said.stderr, note);
    assert_eq!(shop.bytes(), before);
}

#[test]
fn settle_puts_on_record_what_the_provider_applied_once() {
    let shop = one_of_each();
    let said = shop.reconcile(EACH, "--settle");
    let lines = EACH_DRIFT
        .lines()
        .filter(|line| !line.contains("rows=0") && !line.contains("drift=applied_not_recorded"));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let sum =
        "agree=6 in_flight=2 drift_count=3 oldest_unreconciled_age_s=… drift_amount_EUR=3.10\n";
    says(&said, 3, &format!("{lines}{sum}"));
    for (key, line, attempt) in [("found", 4, 1), ("failed", 5, 1), ("later", 6, 1)] {
        let shown = shop.shown(key);
        let evidence = format!("'file charges.csv line {line}'");
        assert!(
            shown.starts_with(&format!("state=succeeded attempt={attempt} ")),
            "{shown}"
        );
        assert!(
            shown.contains(&format!("settled_by=reconciled reason={evidence}")),
            "{shown}"
        );
        let last = shown.lines().last().unwrap();
        let row = format!("event=succeeded attempt={attempt} actor= detail={evidence}");
        assert!(last.ends_with(&row), "{last}");
    }
    shop.0.says(
        "show --key of-old",
        "state=succeeded attempt=1 key=of-old pruned=true\n",
    );
    for key in ["twice", "differs"] {
        assert!(!shop.shown(key).contains("file charges.csv"), "{key}");
    }
    let again = shop.reconcile(EACH, "--settle");
    assert_eq!(said, again, "what was settled agrees, and stays so");
}

#[test]
fn settle_absent_frees_what_is_unknown_and_was_not_applied() {
    let shop = Shop::new();
    shop.calls(
        "reserve --key a --fingerprint f; unknown --key a;
         reserve --key b --fingerprint f; fail --key b --attempt 1; reserve --key b --fingerprint f --allow-failed-retry;
         reserve --key c --fingerprint f; succeed --key c;
         record --key d --fingerprint f; reserve --key e --fingerprint f;
         reserve --key f --fingerprint f; unknown --key f; reserve --key g --fingerprint f; fail --key g",
    );
    run_out(&shop.0, "b");
    shop.long_ago();
    let rows = "f,pending,,,\n";
    let all = format!("{WINDOW} --complete --settle-absent");
    let said = shop.reconcile(rows, &all);
    let drift = "drift=recorded_not_applied key=c state=succeeded attempt=1 pruned=false since=… amount= currency= provider_amount= provider_currency= reference= line= rows=0\n";
    let sum = "agree=3 in_flight=3 drift_count=1 oldest_unreconciled_age_s=…\n";
    says(&said, 3, &format!("{drift}{sum}"));
    let evidence =
        "'absent from charges.csv, window 2025-01-01T00:00:00.000Z to 2025-02-01T00:00:00.000Z'";
    for (key, attempt) in [("a", 1), ("b", 2)] {
        let shown = shop.shown(key);
        assert!(
            shown.starts_with(&format!("state=failed attempt={attempt} ")),
            "{shown}"
        );
        let row = format!("event=failed attempt={attempt} actor= detail={evidence}\n");
        assert!(shown.ends_with(&row), "{shown}");
    }
    for (key, state) in [
        ("c", "succeeded"),
        ("d", "recorded"),
        ("e", "reserved"),
        ("f", "unknown"),
        ("g", "failed"),
    ] {
        let shown = shop.shown(key);
        assert!(shown.starts_with(&format!("state={state} ")), "{shown}");
        assert!(!shown.contains("absent from"), "{shown}");
    }
    // What was settled now has a last change outside the window, and is no drift there either way.
    let again = shop.reconcile(rows, &all);
    let sum = "agree=1 in_flight=3 drift_count=1 oldest_unreconciled_age_s=…\n";
    says(&again, 3, &format!("{drift}{sum}"));
}

#[test]
fn absence_settles_nothing_without_its_flag() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; unknown --key a");
    shop.long_ago();
    let said = shop.reconcile("b,pending,,,\n", &format!("{WINDOW} --complete --settle"));
    assert_eq!(said.code, 3);
    assert!(
        said.stdout
            .starts_with("drift=not_applied key=a state=unknown ")
    );
    assert!(shop.shown("a").starts_with("state=unknown "));
}

#[test]
fn settled_with_another_amount_is_drift_of_another_kind() {
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f --amount 0.10 --currency EUR; unknown --key a");
    let said = shop.reconcile("a,succeeded,0.40,EUR,\n", "--settle");
    assert_eq!(said.code, 3);
    assert!(
        said.stdout
            .starts_with("drift=amount_differs key=a state=succeeded "),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.ends_with(" drift_amount_EUR=0.30\n"),
        "{}",
        said.stdout
    );
}

#[test]
fn sums_are_exact_and_by_currency() {
    let shop = Shop::new();
    let rows =
        "a,succeeded,0.10,EUR,\nb,succeeded,0.20,EUR,\nc,succeeded,5,usd,\nd,succeeded,1.5,,\n";
    let said = shop.reconcile(rows, "");
    let sum = "agree=0 in_flight=0 drift_count=4 oldest_unreconciled_age_s= drift_amount_EUR=0.30 drift_amount_USD=5 drift_amount_XXX=1.5\n";
    assert!(said.stdout.ends_with(sum), "{}", said.stdout);
    let order: Vec<&str> = said
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(
        order,
        ["key=a", "key=b", "key=c", "key=d", "in_flight=0"],
        "in the export's order"
    );
}

#[test]
fn a_prefix_leaves_the_rest_of_both_sides_out() {
    let shop = Shop::new();
    shop.calls(
        "reserve --key x:a --fingerprint f; unknown --key x:a; reserve --key y:a --fingerprint f; unknown --key y:a;
         reserve --key x_b --fingerprint f; unknown --key x_b",
    );
    let rows = "x:a,succeeded,1,EUR,\ny:a,succeeded,2,EUR,\nx:c,succeeded,4,EUR,\ny:c,succeeded,8,EUR,\nx_b,succeeded,16,EUR,\n";
    let said = shop.reconcile(rows, "--prefix x: --settle");
    let sum = "agree=1 in_flight=0 drift_count=1 oldest_unreconciled_age_s= drift_amount_EUR=4\n";
    assert!(said.stdout.ends_with(sum), "{}", said.stdout);
    assert!(said.stdout.starts_with("drift=unrecorded key=x:c "));
    assert!(shop.shown("y:a").starts_with("state=unknown "));
    assert!(shop.shown("x_b").starts_with("state=unknown "));
    let said = shop.reconcile(rows, "--prefix z");
    says(
        &said,
        0,
        "agree=0 in_flight=0 drift_count=0 oldest_unreconciled_age_s=\n",
    );
}

#[test]
fn the_export_may_come_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let shop = Shop::new();
    shop.calls("reserve --key a --fingerprint f; unknown --key a");
    let mut command = shop
        .0
        .command("reconcile --provider - --provider-format csv --settle".split(' '));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"key\na\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(shop.shown("a").contains("detail='file - line 2'"));
}

#[test]
fn it_looks_without_a_trace_and_creates_nothing() {
    let shop = one_of_each();
    let before = shop.bytes();
    shop.reconcile(EACH, &format!("{WINDOW} --complete"));
    assert_eq!(shop.bytes(), before);
    let empty = Scratch::new();
    fs::write(empty.path("charges.csv"), "key\na\n").unwrap();
    for more in ["", "--settle"] {
        empty.refuses(
            &format!("reconcile --provider charges.csv {more}"),
            "no-ledger",
        );
        assert!(!empty.path("receipts.db").exists());
    }
}

#[test]
fn drift_that_cannot_be_printed_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let shop = Shop::new();
    fs::write(shop.0.path("charges.csv"), "key\na\n").unwrap();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = shop
        .0
        .command("reconcile --provider charges.csv".split(' '));
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"error[output]: "));
}
