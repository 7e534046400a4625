//! What the server must be like, what its refusals are called, and how long is waited for it.

use std::time::{Duration, Instant};

use super::cluster::{Cluster, free_port, shared};
use super::procs::alone;
use super::proxy::{drip, pooler};
use super::support::{Scratch, batch_of, binary, said};

const RESERVE: &str = "reserve --key order:1 --fingerprint v1";

#[test]
fn only_init_creates_a_ledger_and_everything_else_says_that_there_is_none() {
    let ledger = Scratch::new();
    for args in [
        RESERVE,
        "record --key k --fingerprint f",
        "run --key k --fingerprint f -- true",
        "succeed --key k",
        "show --key k",
        "list",
        "stats",
        "verify",
        "export",
        "prune --older-than 1d",
    ] {
        ledger.refuses(args, "no-ledger");
    }
    let said = ledger.run("init");
    assert_eq!((said.stdout.as_str(), said.code), ("created=true\n", 0));
    assert_eq!(
        said.stderr,
        format!("note: created ledger {}\n", ledger.url)
    );
    ledger.says("init", "created=false\n");
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
}

#[test]
fn the_printed_sql_creates_the_same_ledger() {
    let ledger = Scratch::new();
    let sql = ledger.run("init --print-sql").stdout;
    assert!(sql.starts_with("BEGIN;\n") && sql.ends_with("COMMIT;\n"));
    ledger.sql(&sql);
    ledger.says("init", "created=false\n");
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    let other = Scratch::with_ledger();
    let columns = "SELECT table_name, column_name, data_type FROM information_schema.columns \
                   WHERE table_schema = 'receipt_ledger' ORDER BY 1, 2";
    assert_eq!(ledger.sql(columns), other.sql(columns));
}

#[test]
fn a_newer_ledger_and_a_server_that_does_not_sync_are_refused() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.sql("UPDATE receipt_ledger.meta SET value = '99' WHERE name = 'schema_version'");
    ledger.refuses(RESERVE, "newer-ledger");
    let cluster = Cluster::new(&[]);
    let ledger = Scratch::of(&cluster).init();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    cluster.sql("postgres", "ALTER SYSTEM SET fsync = off");
    cluster.sql("postgres", "SELECT pg_reload_conf(), pg_sleep(0.2)");
    for args in [
        RESERVE,
        "reserve --key other --fingerprint v1",
        "succeed --key order:1",
    ] {
        let told = ledger.refuses(args, "io");
        assert!(told.contains("fsync=off"), "{told}");
    }
    let other = Scratch::of(&cluster);
    assert!(other.refuses("init", "io").contains("fsync=off"));
    let show = ledger.run("show --key order:1");
    assert!(show.stdout.starts_with("state=reserved "), "{show:?}");
}

#[test]
fn a_lock_is_busy_and_waited_for_as_long_as_was_said() {
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    let mut holder = shared_psql(
        &ledger,
        "BEGIN; SELECT id FROM receipt_ledger.receipt FOR UPDATE; SELECT pg_sleep(3);",
    );
    wait_for(
        &ledger,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    let began = Instant::now();
    let told = ledger.refuses("--busy-timeout 300ms succeed --key order:1", "busy");
    assert!(told.contains("300 ms"), "{told}");
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(300) && took < Duration::from_secs(2),
        "{took:?}"
    );
    // What changes nothing waits for nobody.
    ledger.says(
        &format!("--busy-timeout 0s {RESERVE}"),
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    // A settling call tries harder.
    ledger.says("succeed --key order:1", "state=succeeded attempt=1\n");
    holder.wait().unwrap();
}

#[test]
fn a_lease_begins_when_the_row_is_held_not_when_it_was_asked_for() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    let mut holder = shared_psql(
        &ledger,
        "BEGIN; SELECT id FROM receipt_ledger.receipt FOR UPDATE; SELECT pg_sleep(4);",
    );
    wait_for(
        &ledger,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    ledger.says(
        "--busy-timeout 60s renew --key order:1 --attempt 1 --lease 3s",
        "state=reserved attempt=1\n",
    );
    ledger.says(
        RESERVE,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    holder.wait().unwrap();
}

#[test]
fn a_table_that_somebody_holds_alone_is_busy_for_looking_too() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    let mut holder = shared_psql(
        &ledger,
        "BEGIN; LOCK TABLE receipt_ledger.receipt IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(20)",
    );
    wait_for(
        &ledger,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    for args in [
        RESERVE,
        "show --key order:1",
        "show --key order:1 --history",
        "succeed --key order:1",
        "list",
        "stats",
        "verify",
    ] {
        let began = Instant::now();
        ledger.refuses(&format!("--busy-timeout 100ms {args}"), "busy");
        assert!(began.elapsed() < Duration::from_secs(2), "{args}");
    }
    let line = r#"{"op":"reserve","key":"order:1","fingerprint":"v1"}"#;
    let began = Instant::now();
    let told = batch_of(
        &ledger,
        &["--busy-timeout", "100ms"],
        &format!("{line}\n").repeat(30),
    );
    assert_eq!(told.stdout.matches("\"busy\"").count(), 30, "{told:?}");
    // Not the timeout for each line again.
    assert!(began.elapsed() < Duration::from_secs(2), "{told:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_server_that_sends_a_byte_now_and_then_is_waited_for_no_longer() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    for at_once in [0, 500] {
        let slow = ledger.at(&format!(
            "postgresql://postgres@127.0.0.1:{}/{}?sslmode=disable",
            drip(shared().port, at_once, Duration::from_millis(20)),
            ledger.database
        ));
        for args in ["show --key order:1", "list", "stats"] {
            let began = Instant::now();
            slow.refuses(&format!("--busy-timeout 100ms {args}"), "io");
            assert!(began.elapsed() < Duration::from_secs(6), "{args}");
        }
    }
}

#[test]
fn a_server_that_falls_silent_in_the_midst_of_something_long_is_given_up() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let line = |nth| format!(r#"{{"op":"reserve","key":"order:{nth}","fingerprint":"v1"}}"#);
    let lines: Vec<_> = (0..500).map(line).collect();
    assert_eq!(batch_of(&ledger, &[], &lines.join("\n")).code, 0);
    ledger.sql("UPDATE receipt_ledger.receipt SET state = 'succeeded', settled_at_ms = 1, settled_by = 'caller'");
    for args in ["list", "prune --older-than 0s", "export"] {
        let silent = ledger.at(&format!(
            "postgresql://postgres@127.0.0.1:{}/{}?sslmode=disable",
            drip(shared().port, 3000, Duration::from_secs(100)),
            ledger.database
        ));
        let began = Instant::now();
        let told = silent.run(&format!("--busy-timeout 100ms {args}"));
        assert_eq!(told.code, 2, "{args}: {told:?}");
        assert!(told.stderr.starts_with("error[io]: "), "{args}: {told:?}");
        assert!(began.elapsed() < Duration::from_secs(6), "{args}");
    }
}

#[test]
fn a_ledger_that_does_not_decide_prunes_nothing_not_even_nothing() {
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    ledger.says("prune --older-than 9w", "pruned=0 kept_live=0\n");
    for (standing, code) in [("copy", "restored-backup"), ("retired", "retired")] {
        ledger.sql(&format!(
            "INSERT INTO receipt_ledger.meta VALUES ('standing', '{standing}') \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        ));
        ledger.refuses("prune --older-than 9w", code);
        ledger.says("prune --older-than 9w --dry-run", "pruned=0 kept_live=0\n");
    }
}

#[test]
fn a_server_that_is_not_there_is_waited_for_once() {
    let _alone = alone();
    let ledger = Scratch::new();
    let nobody = ledger.at(&format!(
        "postgresql://postgres@127.0.0.1:{}/test?sslmode=disable",
        free_port()
    ));
    let began = Instant::now();
    let told = nobody.refuses(&format!("--busy-timeout 3s {RESERVE}"), "io");
    assert!(told.contains("refused"), "{told}");
    let took = began.elapsed();
    assert!(
        took > Duration::from_secs(3) && took < Duration::from_millis(5800),
        "{took:?}"
    );
    let line = r#"{"op":"reserve","key":"order:1","fingerprint":"v1"}"#;
    let began = Instant::now();
    let told = batch_of(
        &nobody,
        &["--busy-timeout", "3s"],
        &format!("{line}\n").repeat(30),
    );
    assert_eq!(told.stdout.matches("\"io\"").count(), 30, "{told:?}");
    assert!(began.elapsed() < Duration::from_millis(5800), "{told:?}");
}

#[test]
fn several_locks_one_after_the_other_are_busy_too() {
    let ledger = Scratch::with_ledger();
    for key in ["a", "b"] {
        ledger.run(&format!("reserve --key {key} --fingerprint f"));
    }
    let order = ledger.sql("SELECT key FROM receipt_ledger.receipt ORDER BY key_digest");
    let mut holders: Vec<_> = order
        .lines()
        .zip(["0.9", "4"])
        .map(|(key, seconds)| {
            let held = format!(
                "BEGIN; SELECT id FROM receipt_ledger.receipt WHERE key = '{key}' FOR UPDATE; SELECT pg_sleep({seconds})"
            );
            shared_psql(&ledger, &held)
        })
        .collect();
    wait_for(
        &ledger,
        "SELECT count(*) / 2 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
    );
    let lines = ["a", "b"].map(|key| format!(r#"{{"op":"fail","key":"{key}"}}"#));
    let told = batch_of(&ledger, &["--busy-timeout", "1s"], &lines.join("\n"));
    assert_eq!(told.code, 2, "{told:?}");
    assert!(
        told.stderr.starts_with("error[busy]: ") || told.stdout.contains("\"busy\""),
        "{told:?}"
    );
    for holder in &mut holders {
        holder.wait().unwrap();
    }
    ledger.says("fail --key a", "state=failed attempt=1\n");
}

fn shared_psql(ledger: &Scratch, sql: &str) -> std::process::Child {
    let mut command = shared().psql("postgres", &ledger.database, sql);
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

fn wait_for(ledger: &Scratch, sql: &str) {
    let began = Instant::now();
    while ledger.sql(sql) == "0" {
        assert!(began.elapsed() < Duration::from_secs(30), "{sql}");
        std::thread::yield_now();
    }
}

#[test]
fn a_database_that_writes_bytes_the_old_way_is_understood() {
    let ledger = Scratch::with_ledger();
    let database = &ledger.database;
    ledger.sql(&format!(
        "ALTER DATABASE {database} SET bytea_output = 'escape'"
    ));
    let reserve = "reserve --key order:1 --fingerprint v1";
    ledger.says(reserve, "decision=EXECUTE state=reserved attempt=1\n");
    ledger.says("succeed --key order:1", "state=succeeded attempt=1\n");
    ledger.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    ledger.says(
        reserve,
        "decision=SKIP_SUCCEEDED state=succeeded attempt=1\n",
    );
    ledger.conflicts(
        "reserve --key order:1 --fingerprint v2",
        "decision=CONFLICT state=succeeded attempt=1\n",
    );
    std::fs::write(ledger.path("payload"), [0, 255, b'\\', b'a']).unwrap();
    ledger.says(
        "record --key order:2 --payload-file payload --keep-payload",
        "created=true state=recorded attempt=0\n",
    );
    ledger.says(
        "drain --all --quiet -- cmp - payload",
        "drained=1 succeeded=1 failed=0 unknown=0\n",
    );
    ledger.says("verify", "verify=ok receipts=1\n");
}

#[test]
fn somebody_who_is_creating_the_same_receipt_is_waited_for() {
    let ledger = Scratch::with_ledger();
    let insert = "INSERT INTO receipt_ledger.receipt (key_digest, token, attempt, key, fingerprint, state, created_at_ms, \
                  updated_at_ms, attempt_started_at_ms, first_reserved_at_ms, late_success, contested) \
                  VALUES (substring(sha256('order:1') FROM 1 FOR 16), gen_random_uuid(), 1, 'order:1', 'v1', 'reserved', 1, 1, 1, 1, false, false)";
    for (end, decision) in [("ROLLBACK", "EXECUTE"), ("COMMIT", "SKIP_IN_FLIGHT")] {
        let sql = format!("BEGIN; {insert}; SELECT pg_sleep(1); {end};");
        ledger.sql("TRUNCATE receipt_ledger.receipt");
        let mut holder = shared_psql(&ledger, &sql);
        wait_for(
            &ledger,
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
        );
        ledger.refuses(&format!("--busy-timeout 50ms {RESERVE}"), "busy");
        let said = ledger.run(RESERVE);
        assert!(
            said.stdout.starts_with(&format!("decision={decision} ")),
            "{said:?}"
        );
        holder.wait().unwrap();
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_io_within_the_timeout() {
    let url = |host: &str| format!("postgresql://u:geheim@{host}/db?sslmode=disable");
    let nobody = format!("127.0.0.1:{}", free_port());
    for host in [nobody.as_str(), "no-such-host.invalid", "%2Fno-such-folder"] {
        let began = Instant::now();
        let mut command = binary();
        command.args(["--db", &url(host), "--busy-timeout", "300ms"]);
        let said = said(&command.args(RESERVE.split(' ')).output().unwrap());
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{host}");
        assert!(
            said.stderr.starts_with("error[io]: cannot connect to "),
            "{said:?}"
        );
        assert!(!said.stderr.contains("geheim"), "{said:?}");
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{host}: {:?}",
            began.elapsed()
        );
    }
    // One that takes the call and never answers.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let host = format!("127.0.0.1:{}", silent.local_addr().unwrap().port());
    let began = Instant::now();
    let mut command = binary();
    command.args(["--db", &url(&host), "--busy-timeout", "300ms"]);
    let said = said(&command.args(RESERVE.split(' ')).output().unwrap());
    assert!(said.stderr.starts_with("error[io]: "), "{said:?}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_url_that_cannot_be_used_is_a_usage_error_without_the_password() {
    for url in [
        "postgresql://u:geheim@h",
        "postgresql://u:geheim@h/db?sslmode=sometimes",
        "postgresql://u:geheim@h:x/db",
        "postgres://u:geheim@h/db?option=geheim",
    ] {
        let mut command = binary();
        for name in ["PGDATABASE", "PGHOST", "PGPORT", "PGUSER", "PGSSLMODE"] {
            command.env_remove(name);
        }
        let said = said(&command.args(["--db", url, "stats"]).output().unwrap());
        assert_eq!((said.stdout.as_str(), said.code), ("", 2), "{url}");
        assert!(said.stderr.starts_with("error[usage]: "), "{said:?}");
        assert!(!said.stderr.contains("geheim"), "{said:?}");
    }
}

#[test]
fn backup_and_restore_point_to_the_servers_own_tools() {
    let ledger = Scratch::with_ledger();
    for args in ["backup --to copy.db", "restore --from copy.db"] {
        assert!(ledger.refuses(args, "usage").contains("pg_dump"));
    }
}

#[test]
fn a_pooler_may_give_every_transaction_another_session() {
    let ledger = Scratch::with_ledger();
    let (port, sessions) = pooler(shared().port);
    let url = format!(
        "postgresql://postgres@127.0.0.1:{port}/{}?sslmode=disable",
        ledger.database
    );
    let pooled = ledger.at(&url);
    pooled.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    pooled.says(
        RESERVE,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    pooled.says("fail --key order:1", "state=failed attempt=1\n");
    pooled.says(
        &format!("{RESERVE} --allow-failed-retry"),
        "decision=RETRY state=reserved attempt=2\n",
    );
    pooled.says(
        "succeed --key order:1 --attempt 2",
        "state=succeeded attempt=2\n",
    );
    let lines = pooled.path("lines");
    std::fs::write(&lines, "{\"op\":\"reserve\",\"key\":\"a\",\"fingerprint\":\"f\"}\n{\"op\":\"show\",\"key\":\"order:1\"}\n").unwrap();
    let mut batch = pooled.command(["batch"]);
    let batch = said(
        &batch
            .stdin(std::fs::File::open(lines).unwrap())
            .output()
            .unwrap(),
    );
    assert_eq!(
        (batch.code, batch.stdout.lines().count()),
        (0, 2),
        "{batch:?}"
    );
    pooled.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    assert!(pooled.run("list").stdout.contains("key=a "));
    pooled.says("verify", "verify=ok receipts=1\n");
    assert!(sessions.load(std::sync::atomic::Ordering::SeqCst) > 20);
}

#[test]
fn history_cannot_be_rewritten_and_an_impossible_row_is_refused_by_the_server() {
    let ledger = Scratch::with_ledger();
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
    for sql in [
        "UPDATE receipt_ledger.history SET detail = 'x'",
        "DELETE FROM receipt_ledger.history",
        "TRUNCATE receipt_ledger.history",
        "UPDATE receipt_ledger.receipt SET state = 'done'",
        "UPDATE receipt_ledger.receipt SET state = 'recorded'",
        "UPDATE receipt_ledger.receipt SET state = 'succeeded'",
        "UPDATE receipt_ledger.receipt SET state = NULL",
        "UPDATE receipt_ledger.receipt SET attempt = 0",
        "UPDATE receipt_ledger.receipt SET attempt = 4294967296",
        "UPDATE receipt_ledger.receipt SET key = E'a\\n'",
        "UPDATE receipt_ledger.receipt SET key = ''",
        "UPDATE receipt_ledger.receipt SET key = repeat('a', 256)",
        "UPDATE receipt_ledger.receipt SET key = NULL",
        "UPDATE receipt_ledger.receipt SET fingerprint = 'ä'",
        "UPDATE receipt_ledger.receipt SET fingerprint = E'a\\n'",
        "UPDATE receipt_ledger.receipt SET settled_by = 'caller'",
        "UPDATE receipt_ledger.receipt SET settled_at_ms = 1",
        "UPDATE receipt_ledger.receipt SET result = '1'",
        "UPDATE receipt_ledger.receipt SET outcome = 1",
        "UPDATE receipt_ledger.receipt SET attempt_started_at_ms = NULL",
        "UPDATE receipt_ledger.receipt SET currency = 'EUR'",
        "UPDATE receipt_ledger.receipt SET reason = ''",
        "UPDATE receipt_ledger.receipt SET contested = true",
        "UPDATE receipt_ledger.receipt SET key_digest = '\\x00'",
    ] {
        let mut command = shared().psql("postgres", &ledger.database, sql);
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{sql}");
    }
    ledger.says("verify", "verify=ok receipts=1\n");
}

#[test]
fn a_row_that_its_key_would_not_find_is_noticed_wherever_it_is_read() {
    let ledger = Scratch::with_ledger();
    let record = RESERVE.replacen("reserve", "record", 1);
    ledger.says(&record, "created=true state=recorded attempt=0\n");
    ledger.sql("UPDATE receipt_ledger.receipt SET key = 'another'");
    let show = "show --key order:1";
    let batch = r#"{"op":"reserve","key":"order:1","fingerprint":"v1"}"#;
    for command in [
        RESERVE,
        show,
        "list",
        "verify",
        "export",
        "drain --all -- false",
    ] {
        let told = ledger.run(command);
        assert_eq!(told.code, 2, "{command}: {told:?}");
        assert!(
            told.stderr.contains("key_digest") || told.stdout.contains("key_digest"),
            "{told:?}"
        );
    }
    let second = RESERVE.replace("order:1", "order:0");
    ledger.says(&second, "decision=EXECUTE state=reserved attempt=1\n");
    ledger.sql("UPDATE receipt_ledger.receipt SET key = 'more' WHERE key = 'order:0'");
    let findings = ledger.run("verify").stdout;
    for key in ["another", "more"] {
        let finding = format!("'the column key_digest of {key} holds what no ledger writes'");
        assert!(findings.contains(&finding), "{findings}");
    }
    let told = batch_of(
        &ledger,
        &[],
        &format!("{batch}\n{}\n", batch.replace("order:1", "order:2")),
    );
    assert_eq!(told.code, 2, "{told:?}");
    assert_eq!(told.stdout.matches("\"corrupt\"").count(), 1, "{told:?}");
    assert_eq!(told.stdout.matches("\"EXECUTE\"").count(), 1, "{told:?}");
}
