//! What a decision costs on a PostgreSQL server, against `psql` and `pgbench` doing the same statements.
//!
//! `cargo bench --bench postgres [-- --quick]`; the server is a throw-away one below `BENCH_DIR`, or in memory.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../reserve/clock.rs"]
#[allow(dead_code)]
mod clock;
#[path = "../../tests/postgres/cluster.rs"]
#[allow(dead_code)]
mod cluster;
#[path = "../reserve/table.rs"]
#[allow(dead_code)]
mod table;

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clock::Contender;
use cluster::Cluster;
use table::Table;

const OURS: &str = env!("CARGO_BIN_EXE_receipt-ledger");
const LINE: &str = "decision=EXECUTE state=reserved attempt=1";
const CLIENTS: u64 = 32;

/// The transaction that `reserve` makes for a new key, for psql: it looks, begins, writes, commits.
fn statements(key: &str) -> [String; 7] {
    let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let digest = format!("substring(sha256(convert_to('{key}', 'UTF8')) FROM 1 FOR 16)");
    [
        format!(
            "SELECT key, fingerprint, state, attempt FROM receipt_ledger.receipt WHERE key_digest = {digest};"
        ),
        "BEGIN;".to_owned(),
        "SET LOCAL synchronous_commit = on;".to_owned(),
        "SET LOCAL lock_timeout = '5s';".to_owned(),
        format!(
            "INSERT INTO receipt_ledger.receipt (key_digest, token, attempt, key, fingerprint, state, created_at_ms, \
             updated_at_ms, first_reserved_at_ms, attempt_started_at_ms, late_success, contested) VALUES ({digest}, \
             gen_random_uuid(), 1, '{key}', 'send-v1', 'reserved', {now}, {now}, {now}, {now}, false, false) \
             ON CONFLICT (key_digest) DO NOTHING;"
        ),
        format!(
            "INSERT INTO receipt_ledger.history (receipt, sequence, at_ms, event, attempt) \
             SELECT id, 1, {now}, 'reserved', 1 FROM receipt_ledger.receipt WHERE key_digest = {digest};"
        ),
        "COMMIT;".to_owned(),
    ]
}

fn ours(url: &str, key: &str) -> Command {
    let mut command = Command::new(OURS);
    command.args([
        "--db",
        url,
        "--busy-timeout=20s",
        "reserve",
        "--fingerprint=send-v1",
    ]);
    command.arg(format!("--key={key}"));
    command
}

/// One psql for one transaction, over the same socket.
fn psql(cluster: &Cluster, database: &str, key: &str) -> Command {
    let mut command = Command::new(cluster.programs().join("psql"));
    command
        .args(["-XqAt", "-U", "postgres", "-h"])
        .arg(&cluster.folder);
    command.args(["-p", &cluster.port.to_string(), "-d", database]);
    for statement in statements(key) {
        command.args(["-c", &statement]);
    }
    command.args(["-c", &format!("SELECT '{LINE}'")]);
    command
}

fn main() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let cluster = match std::env::var_os("BENCH_DIR") {
        Some(below) => Cluster::below(Path::new(&below), &[]),
        None => Cluster::new(&[]),
    };
    let database = cluster.database();
    let url = cluster.url(&database);
    cluster::finish(Command::new(OURS).args(["--db", &url, "init"]));
    let mut table = Table::start()?;
    one(
        &cluster,
        &database,
        &url,
        if quick { 40 } else { 300 },
        &mut table,
    )?;
    crowd(
        &cluster,
        &database,
        &url,
        if quick { 5 } else { 20 },
        &mut table,
    )?;
    batch(
        &cluster,
        &url,
        if quick { 10_000 } else { 100_000 },
        &mut table,
    )?;
    Ok(())
}

/// One process, one new key.
fn one(
    cluster: &Cluster,
    database: &str,
    url: &str,
    rounds: u64,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let contenders: [Contender<'_>; 2] = [
        Box::new(|round| ours(url, &format!("one:ours:{round}"))),
        Box::new(|round| psql(cluster, database, &format!("one:psql:{round}"))),
    ];
    let medians = clock::medians(&contenders, rounds, LINE)?;
    table.times(
        "one `reserve` against `psql`",
        medians[0],
        medians[1],
        Some(0.6),
    )?;
    let skips: [Contender<'_>; 2] = [
        Box::new(|_| ours(url, "one:ours:0")),
        Box::new(|_| {
            let mut command = Command::new(cluster.programs().join("psql"));
            command
                .args(["-XqAt", "-U", "postgres", "-h"])
                .arg(&cluster.folder);
            command.args(["-p", &cluster.port.to_string(), "-d", database]);
            command.args([
                "-c",
                "SELECT 'decision=SKIP_IN_FLIGHT state=reserved attempt=1'",
            ]);
            command
        }),
    ];
    let medians = clock::medians(
        &skips,
        rounds,
        "decision=SKIP_IN_FLIGHT state=reserved attempt=1",
    )?;
    table.times(
        "a skip against `psql -c 'SELECT …'`",
        medians[0],
        medians[1],
        None,
    )
}

/// Many at once, a process and a connection for each call, beside `pgbench -C`, a connection for each transaction.
fn crowd(
    cluster: &Cluster,
    database: &str,
    url: &str,
    calls: u64,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let next = AtomicU64::new(0);
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..calls {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    clock::time(&mut ours(url, &format!("crowd:ours:{nth}")), LINE).unwrap();
                }
            });
        }
    });
    let ours = rate(CLIENTS * calls, began.elapsed());
    let script = cluster.folder.join("pgbench.sql");
    let mut text = String::from("\\set n random(1, 1000000000000)\n");
    for statement in statements("crowd:pgbench:::client_id:::n") {
        let statement = statement.replace(
            "'crowd:pgbench:::client_id:::n'",
            "'crowd:pgbench:' || :client_id || ':' || :n",
        );
        writeln!(text, "{statement}")?;
    }
    fs::write(&script, text)?;
    let mut pgbench = Command::new(cluster.programs().join("pgbench"));
    pgbench
        .args(["-n", "-C", "-M", "simple", "-U", "postgres", "-h"])
        .arg(&cluster.folder);
    pgbench.args([
        "-p",
        &cluster.port.to_string(),
        "-c",
        &CLIENTS.to_string(),
        "-j",
        &CLIENTS.to_string(),
    ]);
    pgbench
        .args(["-t", &calls.to_string(), "-f"])
        .arg(&script)
        .arg(database);
    let told = cluster::finish(&mut pgbench);
    let tps = told.lines().find_map(|line| line.strip_prefix("tps = "));
    let tps: f64 = tps
        .and_then(|tps| tps.split(' ').next())
        .ok_or("pgbench tells no tps")?
        .parse()?;
    table.rates(
        "32 clients, distinct keys, against `pgbench -C`",
        ours,
        tps,
        0.9,
    )
}

/// `batch` against one process each, and against the same in a file.
fn batch(cluster: &Cluster, url: &str, keys: u64, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let lines = cluster.folder.join("lines");
    let mut text = String::new();
    for number in 0..keys {
        // Anywhere in a file's index, as the bench of `batch` has them; a server's index is by digest in any case.
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        writeln!(
            text,
            r#"{{"op":"reserve","key":"charge:v1:{key:016x}","fingerprint":"send-v1"}}"#
        )?;
    }
    fs::write(&lines, text)?;
    let each = 200;
    let began = Instant::now();
    for nth in 0..each {
        clock::time(&mut ours(url, &format!("each:{nth}")), LINE)?;
    }
    let each = rate(each, began.elapsed());
    let server = run_batch(url, &lines, keys)?;
    table.rates(
        "`batch` of new keys against one process each",
        server,
        each,
        10.0,
    )?;
    let file = cluster.folder.join("receipts.db");
    cluster::finish(Command::new(OURS).arg("--db").arg(&file).arg("init"));
    let file = run_batch(&file.to_string_lossy(), &lines, keys)?;
    table.rates(
        "`batch` of new keys against a file's `batch`",
        server,
        file,
        0.5,
    )
}

fn run_batch(db: &str, lines: &Path, keys: u64) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(OURS);
    command
        .args(["--db", db, "batch"])
        .stdin(File::open(lines)?)
        .stdout(Stdio::piped());
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed();
    let answers = String::from_utf8(output.stdout)?;
    if output.status.success() && answers.matches("\"EXECUTE\"").count() == usize::try_from(keys)? {
        Ok(rate(keys, took))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

fn rate(calls: u64, took: Duration) -> f64 {
    f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / took.as_secs_f64()
}
