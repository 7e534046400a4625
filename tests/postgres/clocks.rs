//! Leases go by the server's clock, whatever the callers' clocks say.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::support::{Said, Scratch, said};

/// Moves the clock of whatever loads it.
const SKEW: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int got = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec += atol(getenv("SKEW_S"));
    return got;
}
"#;

#[test]
fn two_clients_whose_clocks_differ_by_an_hour_agree_on_every_lease() {
    if cfg!(not(target_os = "linux")) {
        eprintln!("skipped: clocks are set askew with Linux's LD_PRELOAD");
        return;
    }
    let ledger = Scratch::with_ledger();
    let (source, library) = (ledger.path("skew.c"), ledger.path("skew.so"));
    fs::write(&source, SKEW).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success());
    let skewed = |seconds: i64, args: &str| -> Said {
        let mut command = ledger.command(args.split(' '));
        command
            .env("LD_PRELOAD", &library)
            .env("SKEW_S", seconds.to_string());
        said(&command.output().unwrap())
    };
    let file = ledger.at("askew.db");
    let mut askew = file.command("reserve --key k --fingerprint f".split(' '));
    askew.env("LD_PRELOAD", &library).env("SKEW_S", "3600");
    assert_eq!(said(&askew.output().unwrap()).code, 0);
    let created = |show: &Said| {
        let at = show.stdout.find("created_at=").unwrap();
        show.stdout[at + 11..at + 24].to_owned()
    };
    let now = ledger.sql("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24')");
    assert_ne!(
        created(&file.run("show --key k")),
        now,
        "the clock was really askew"
    );

    for (name, seconds) in [("slow", -1800), ("fast", 1800)] {
        for lease in ["1h", "40m"] {
            let key = format!("{name}:{lease}");
            let said = skewed(
                seconds,
                &format!("reserve --key {key} --fingerprint f --lease {lease}"),
            );
            assert_eq!(
                said.stdout, "decision=EXECUTE state=reserved attempt=1\n",
                "{said:?}"
            );
            for other in [-1800, 0, 1800] {
                let said = skewed(other, &format!("reserve --key {key} --fingerprint f"));
                assert_eq!(
                    said.stdout,
                    "decision=SKIP_IN_FLIGHT state=reserved attempt=1\n"
                );
            }
        }
        let key = format!("{name}:short");
        skewed(
            seconds,
            &format!("reserve --key {key} --fingerprint f --lease 300ms"),
        );
        // Time itself is what is tested here.
        thread::sleep(Duration::from_millis(400));
        for other in [-1800, 0, 1800] {
            let said = skewed(other, &format!("reserve --key {key} --fingerprint f"));
            assert_eq!(
                said.stdout,
                "decision=SKIP_UNKNOWN state=unknown attempt=1\n"
            );
        }
    }
}
