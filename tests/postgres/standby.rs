//! A synchronous standby takes over, and no answered decision is lost (contract 10.4).

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::cluster::{Cluster, finish};
use super::procs::alone;
use super::support::{Scratch, said};

/// A standby of the primary, running and synchronous.
fn standby_of(primary: &Cluster) -> Cluster {
    let folder = tempfile::Builder::new()
        .prefix("receipt-ledger-")
        .tempdir_in(primary.folder.parent().unwrap())
        .unwrap()
        .keep();
    if rustix::process::geteuid().is_root() {
        finish(Command::new("chown").arg("postgres").arg(&folder));
    }
    let mut copy = primary.program("pg_basebackup");
    copy.args([
        "-X",
        "stream",
        "-c",
        "fast",
        "-R",
        "--no-sync",
        "-U",
        "postgres",
        "-D",
    ]);
    copy.arg(folder.join("data"))
        .args(["-d", "application_name=second"]);
    finish(
        copy.arg("-h")
            .arg(&primary.folder)
            .args(["-p", &primary.port.to_string()]),
    );
    let standby = Cluster::over(primary.programs(), folder, &[]);
    standby.start();
    primary.sql(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = 'second'",
    );
    primary.sql("postgres", "SELECT pg_reload_conf()");
    let in_sync = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    while primary.sql("postgres", in_sync) == "0" {
        thread::yield_now();
    }
    standby
}

fn kill(cluster: &Cluster) {
    let pid = std::fs::read_to_string(cluster.data().join("postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap();
    // The whole server at once: the postmaster's children first would let it recover.
    let children = Command::new("pgrep").args(["-P", pid]).output().unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    let mut kill = Command::new("kill");
    kill.args(["-KILL", pid]).args(children.split_whitespace());
    // One of the children may have gone by itself.
    let _ = kill.stderr(Stdio::null()).status();
}

#[test]
fn a_killed_primary_takes_no_answer_with_it() {
    let _alone = alone();
    let primary = Cluster::new(&["wal_level = replica", "max_wal_senders = 4"]);
    let ledger = Scratch::of(&primary).init();
    let standby = standby_of(&primary);
    let both = format!(
        "postgresql://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable",
        primary.port, standby.port, ledger.database
    );
    let (next, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let dead = AtomicBool::new(false);
    let told: Vec<(usize, String)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut told = Vec::new();
                    while !dead.load(Ordering::SeqCst) {
                        let nth = next.fetch_add(1, Ordering::SeqCst);
                        let key = format!("order:{nth}");
                        let mut command = ledger.command([
                            "--busy-timeout",
                            "1s",
                            "reserve",
                            "--fingerprint",
                            "v1",
                            "--key",
                            &key,
                        ]);
                        let said = said(&command.output().unwrap());
                        if said.code == 0 {
                            told.push((nth, said.stdout));
                            answered.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    told
                })
            })
            .collect();
        while answered.load(Ordering::SeqCst) < 100 {
            thread::yield_now();
        }
        kill(&primary);
        dead.store(true, Ordering::SeqCst);
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    let moved = ledger.at(&both);
    // The standby alone can be read, and decides nothing.
    let refused = moved.run("--busy-timeout 500ms reserve --key new --fingerprint v1");
    assert!(
        refused.code == 2 && refused.stderr.starts_with("error[io]: "),
        "{refused:?}"
    );
    assert!(
        standby
            .control(&["-w", "promote"])
            .status()
            .unwrap()
            .success()
    );
    assert!(told.len() >= 100);
    for (nth, line) in &told {
        assert_eq!(line, "decision=EXECUTE state=reserved attempt=1\n");
        let again = moved.run(&format!(
            "--busy-timeout 20s reserve --key order:{nth} --fingerprint v1"
        ));
        assert_eq!(
            again.stdout, "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n",
            "{again:?}"
        );
    }
    let verify = moved.run("verify");
    assert!(verify.stdout.starts_with("verify=ok "), "{verify:?}");
}
