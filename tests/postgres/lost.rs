//! A COMMIT without a plain answer is no answer, unless what it wrote is found (contract 10.4, 10.5).

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::cluster::{Cluster, shared};
use super::procs::alone;
use super::proxy::{Breaks, line};
use super::support::{Scratch, batch_of, said};

const RESERVE: &str = "reserve --key order:1 --fingerprint v1";

fn through(ledger: &Scratch, port: u16, args: &str) -> super::support::Said {
    let url = format!(
        "postgresql://postgres@127.0.0.1:{port}/{}?sslmode=disable",
        ledger.database
    );
    ledger.at(&url).run(args)
}

#[test]
fn an_answer_lost_behind_the_commit_is_proven_by_what_only_this_call_wrote() {
    let ledger = Scratch::with_ledger();
    for (args, stdout) in [
        (RESERVE, "decision=EXECUTE state=reserved attempt=1\n"),
        ("fail --key order:1 --attempt 1", "state=failed attempt=1\n"),
        (
            "reserve --key order:1 --fingerprint v1 --allow-failed-retry",
            "decision=RETRY state=reserved attempt=2\n",
        ),
        (
            "renew --key order:1 --attempt 2 --lease 1h",
            "state=reserved attempt=2\n",
        ),
        (
            "succeed --key order:1 --attempt 2",
            "state=succeeded attempt=2\n",
        ),
    ] {
        let port = line(shared().port, Breaks::AnswerLost);
        let said = through(&ledger, port, args);
        assert_eq!(
            (said.stdout.as_str(), said.stderr.as_str(), said.code),
            (stdout, "", 0),
            "{args}"
        );
    }
    ledger.says(
        RESERVE,
        "decision=SKIP_SUCCEEDED state=succeeded attempt=2\n",
    );
    ledger.says("verify", "verify=ok receipts=1\n");
}

#[test]
fn an_answer_lost_without_a_way_back_is_no_answer_and_the_next_call_tells_the_truth() {
    let ledger = Scratch::with_ledger();
    let port = line(shared().port, Breaks::AnswerLostForGood);
    let said = through(&ledger, port, &format!("--busy-timeout 500ms {RESERVE}"));
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(said.stderr.starts_with("error[io]: "), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("not known whether the decision was stored"),
        "{}",
        said.stderr
    );
    ledger.says(
        RESERVE,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
}

#[test]
fn a_commit_that_never_arrived_is_no_answer_either() {
    let ledger = Scratch::with_ledger();
    let port = line(shared().port, Breaks::CommitLost);
    let said = through(&ledger, port, &format!("--busy-timeout 500ms {RESERVE}"));
    assert_eq!((said.stdout.as_str(), said.code), ("", 2));
    assert!(
        said.stderr
            .contains("not known whether the decision was stored"),
        "{}",
        said.stderr
    );
    ledger.says(RESERVE, "decision=EXECUTE state=reserved attempt=1\n");
}

#[test]
fn a_group_whose_answer_is_lost_is_proven_as_a_whole() {
    let ledger = Scratch::with_ledger();
    let port = line(shared().port, Breaks::AnswerLost);
    let url = format!(
        "postgresql://postgres@127.0.0.1:{port}/{}?sslmode=disable",
        ledger.database
    );
    let lines: String = (0..50)
        .map(|n| format!("{{\"op\":\"reserve\",\"key\":\"k{n}\",\"fingerprint\":\"f\"}}\n"))
        .collect();
    let input = ledger.path("lines");
    std::fs::write(&input, lines).unwrap();
    let broken = ledger.at(&url);
    let mut batch = broken.command(["batch"]);
    let output = batch
        .stdin(std::fs::File::open(input).unwrap())
        .output()
        .unwrap();
    let said = said(&output);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(said.stdout.matches("\"EXECUTE\"").count(), 50);
    assert!(
        ledger
            .run("stats")
            .stdout
            .starts_with("recorded=0 reserved=50 ")
    );
}

#[test]
fn a_commit_that_the_server_did_not_wait_for_was_surely_not_kept() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let port = line(shared().port, Breaks::CommitLate);
    let url = format!(
        "postgresql://postgres@127.0.0.1:{port}/{}?sslmode=disable",
        ledger.database
    );
    let reserve = |key| format!("{{\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"f\"}}\n");
    let slow = ledger.at(&url);
    let told = batch_of(
        &slow,
        &["--busy-timeout", "1s"],
        &(reserve("a") + &reserve("b")),
    );
    assert_eq!(told.code, 2, "{told:?}");
    assert_eq!(
        told.stdout.matches("\"code\":\"io\"").count(),
        2,
        "{told:?}"
    );
    assert!(!told.stdout.contains("not known"), "{told:?}");
    ledger.says(
        "reserve --key a --fingerprint f",
        "decision=EXECUTE state=reserved attempt=1\n",
    );
}

/// Waits for a session that waits for a standby.
fn waiting_for_standby(cluster: &Cluster) -> String {
    let began = Instant::now();
    loop {
        let waiting = cluster.sql(
            "postgres",
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        );
        if !waiting.is_empty() {
            return waiting;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nobody waits");
        thread::yield_now();
    }
}

#[test]
fn a_commit_waits_for_its_standby_beyond_every_timeout_and_one_that_is_cut_short_is_no_answer() {
    let _alone = alone();
    let cluster = Cluster::new(&[]);
    let ledger = Scratch::of(&cluster).init();
    let standby = |names: &str| {
        cluster.sql(
            "postgres",
            &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
        );
        cluster.sql("postgres", "SELECT pg_reload_conf()");
    };
    let call = |key: &str| {
        let mut command = ledger.command([
            "--busy-timeout",
            "100ms",
            "reserve",
            "--fingerprint",
            "v1",
            "--key",
            key,
        ]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    // Even where the role would have it otherwise, and would not hear of it.
    cluster.sql(
        "postgres",
        "ALTER ROLE postgres SET statement_timeout = '300ms'",
    );
    cluster.sql(
        "postgres",
        "ALTER ROLE postgres SET synchronous_commit = 'off'",
    );
    cluster.sql(
        "postgres",
        "ALTER ROLE postgres SET client_min_messages = 'error'",
    );
    standby("nobody");
    let mut cut = call("order:cut");
    let waiting = waiting_for_standby(&cluster);
    cluster.sql(
        "postgres",
        &format!("SET synchronous_commit = local; SELECT pg_cancel_backend({waiting})"),
    );
    cut.wait().unwrap();
    let told = said(&cut.wait_with_output().unwrap());
    assert_eq!((told.stdout.as_str(), told.code), ("", 2), "{told:?}");
    assert!(
        told.stderr
            .contains("not known whether the decision was stored"),
        "{told:?}"
    );
    assert!(
        told.stderr
            .contains("canceling wait for synchronous replication"),
        "{told:?}"
    );

    // It can be seen, but no standby knows of it: to say so is an answer, too.
    let mut seen = call("order:cut");
    let mut batch = ledger.command(["--busy-timeout", "2s", "batch"]);
    let lines = ["order:cut", "order:cut"]
        .map(|key| format!("{{\"op\":\"reserve\",\"key\":\"{key}\",\"fingerprint\":\"v1\"}}\n"));
    std::fs::write(ledger.path("lines"), lines.concat()).unwrap();
    waiting_for_standby(&cluster);
    let mut waits = call("order:waits");
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) {
        assert!(waits.try_wait().unwrap().is_none(), "it did not wait");
        assert!(seen.try_wait().unwrap().is_none(), "it did not wait");
        thread::sleep(Duration::from_millis(50));
    }
    standby("");
    let told = said(&seen.wait_with_output().unwrap());
    assert_eq!(
        told.stdout, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
        "{told:?}"
    );
    standby("nobody");
    batch.stdin(std::fs::File::open(ledger.path("lines")).unwrap());
    batch.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = batch.spawn().unwrap();
    waiting_for_standby(&cluster);
    thread::sleep(Duration::from_millis(500));
    assert!(group.try_wait().unwrap().is_none(), "it did not wait");
    standby("");
    let told = said(&group.wait_with_output().unwrap());
    assert_eq!(
        told.stdout.matches("\"SKIP_IN_FLIGHT\"").count(),
        2,
        "{told:?}"
    );
    let told = said(&waits.wait_with_output().unwrap());
    assert_eq!(
        told.stdout, "decision=EXECUTE state=reserved attempt=1\n",
        "{told:?}"
    );
    ledger.says(
        "reserve --key order:cut --fingerprint v1",
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
    );
    // Whatever the SQL beside the receipt has asked for.
    standby("nobody");
    std::fs::write(
        ledger.path("effect.sql"),
        "SET LOCAL synchronous_commit = off; SET LOCAL client_min_messages = error",
    )
    .unwrap();
    let mut apply = ledger.command(["apply", "--key", "order:applied", "--fingerprint", "v1"]);
    apply.args(["--sql", "effect.sql"]);
    apply.stdout(Stdio::piped()).stderr(Stdio::piped());
    let applied = apply.spawn().unwrap();
    waiting_for_standby(&cluster);
    standby("");
    let told = said(&applied.wait_with_output().unwrap());
    assert_eq!(
        told.stdout, "decision=EXECUTE state=succeeded attempt=1\n",
        "{told:?}"
    );
}

#[test]
fn every_commit_promises_stable_storage_without_limits_and_more_where_the_server_is_told_more() {
    for (told, promised) in [
        ("off", "on"),
        ("local", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        let ledger = Scratch::with_ledger();
        let database = &ledger.database;
        // Deferred: it sees what holds when COMMIT begins.
        ledger.sql(&format!(
            "ALTER DATABASE {database} SET synchronous_commit = '{told}'; \
             ALTER DATABASE {database} SET client_min_messages = 'error'; \
             CREATE TABLE seen (setting text); \
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO seen VALUES (concat_ws(' ', current_setting('synchronous_commit'), current_setting('client_min_messages'), \
             current_setting('statement_timeout'), current_setting('lock_timeout'))); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON receipt_ledger.receipt \
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()"
        ));
        ledger.says(
            "reserve --key a --fingerprint f",
            "decision=EXECUTE state=reserved attempt=1\n",
        );
        ledger.says("fail --key a", "state=failed attempt=1\n");
        let reserve = |nth| format!(r#"{{"op":"reserve","key":"b:{nth}","fingerprint":"f"}}"#);
        let lines: Vec<_> = (0..2500).map(reserve).collect();
        std::fs::write(ledger.path("lines"), lines.join("\n")).unwrap();
        let mut batch = ledger.command(["batch"]);
        batch.stdin(std::fs::File::open(ledger.path("lines")).unwrap());
        assert_eq!(said(&batch.output().unwrap()).code, 0);
        ledger.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
        let seen = ledger.sql("SELECT setting, count(*) FROM seen GROUP BY 1");
        assert_eq!(seen, format!("{promised} warning 0 0|2503"), "{told}");
    }
}
