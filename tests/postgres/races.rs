//! Many processes at the same instant, also while the server is restarted under them (contract 4.1, 10.4).

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::cluster::Cluster;
use super::procs::{alone, count, together};
use super::support::{Said, Scratch, said};

fn many(ledger: &Scratch, how_many: usize, args: &str) -> Vec<Said> {
    let commands: Vec<Command> = (0..how_many)
        .map(|_| ledger.command(args.split_whitespace()))
        .collect();
    together(&commands)
}

fn all_answered(all: &[Said]) {
    for said in all {
        assert_eq!((said.stderr.as_str(), said.code), ("", 0), "{said:?}");
        assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    }
}

#[test]
fn of_40_processes_at_once_on_one_key_one_is_told_to_execute() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    for round in 0..3 {
        let args = format!("--busy-timeout 60s reserve --key order:{round} --fingerprint v1");
        let all = many(&ledger, 40, &args);
        all_answered(&all);
        let told = (count(&all, "EXECUTE"), count(&all, "SKIP_IN_FLIGHT"));
        assert_eq!(told, (1, 39), "round {round}");
    }
}

#[test]
fn of_40_processes_at_once_on_a_failed_key_one_is_told_to_retry() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1");
    for attempt in 1..=3 {
        let fail = format!("fail --key order:1 --attempt {attempt}");
        ledger.says(&fail, &format!("state=failed attempt={attempt}\n"));
        let args = "--busy-timeout 60s reserve --key order:1 --fingerprint v1 --allow-failed-retry";
        let all = many(&ledger, 40, args);
        all_answered(&all);
        let told = (count(&all, "RETRY"), count(&all, "SKIP_IN_FLIGHT"));
        assert_eq!(told, (1, 39));
    }
}

#[test]
fn of_40_processes_at_once_on_a_pruned_key_none_executes_and_one_retries() {
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    ledger.run("reserve --key order:1 --fingerprint v1");
    ledger.run("fail --key order:1 --attempt 1");
    ledger.says("prune --older-than 0s", "pruned=1 kept_live=0\n");
    let args = "--busy-timeout 60s reserve --key order:1 --fingerprint v1 --allow-failed-retry";
    let all = many(&ledger, 40, args);
    all_answered(&all);
    let told = (count(&all, "RETRY"), count(&all, "SKIP_IN_FLIGHT"));
    assert_eq!(told, (1, 39));
}

#[test]
fn groups_that_meet_on_the_same_keys_in_other_orders_all_answer_and_each_key_executes_once() {
    const KEYS: usize = 200;
    let _alone = alone();
    let ledger = Scratch::with_ledger();
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..3 {
        let batches: Vec<_> = (0..8)
            .map(|nth| {
                let mut keys: Vec<usize> = (0..KEYS).collect();
                rng.shuffle(&mut keys);
                let line = |key: &usize| {
                    format!("{{\"op\":\"reserve\",\"key\":\"{round}:{key}\",\"fingerprint\":\"f\",\"allow_failed_retry\":true}}\n")
                };
                let path = ledger.path(&format!("lines-{round}-{nth}"));
                std::fs::write(&path, keys.iter().map(line).collect::<String>()).unwrap();
                let mut batch = ledger.command(["--busy-timeout", "60s", "batch"]);
                batch.stdin(std::fs::File::open(path).unwrap());
                batch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut executed = 0;
        for batch in batches {
            let told = said(&batch.wait_with_output().unwrap());
            assert_eq!((told.stderr.as_str(), told.code), ("", 0), "{told:?}");
            assert_eq!(told.stdout.lines().count(), KEYS);
            executed += told.stdout.matches("\"EXECUTE\"").count();
        }
        assert_eq!(executed, KEYS, "round {round}");
    }
    ledger.says("verify", &format!("verify=ok receipts={}\n", 3 * KEYS));
}

#[test]
fn of_20_processes_at_once_that_create_a_ledger_one_does() {
    let _alone = alone();
    for _ in 0..3 {
        let ledger = Scratch::new();
        let all = many(&ledger, 20, "--busy-timeout 60s init");
        let created = all.iter().filter(|said| said.stdout == "created=true\n");
        assert_eq!(created.count(), 1, "{all:?}");
        for said in &all {
            assert_eq!(said.code, 0, "{said:?}");
        }
        ledger.says("verify", "verify=ok receipts=0\n");
    }
}

#[test]
fn what_200_processes_were_told_still_holds_after_the_server_was_killed_three_times_under_them() {
    const PROCESSES: usize = 200;
    const KEYS: usize = 20;
    let _alone = alone();
    let cluster = Cluster::new(&[]);
    let ledger = Scratch::of(&cluster).init();
    let (done, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let over = AtomicBool::new(false);
    let all: Vec<(usize, Said)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut told = Vec::new();
                    loop {
                        let nth = next.fetch_add(1, Ordering::SeqCst);
                        if nth >= PROCESSES {
                            return told;
                        }
                        let key = format!("order:{}", nth % KEYS);
                        let mut command = ledger.command([
                            "--busy-timeout",
                            "20s",
                            "reserve",
                            "--fingerprint",
                            "v1",
                            "--key",
                            &key,
                        ]);
                        told.push((nth % KEYS, said(&command.output().unwrap())));
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for quarter in 1..=3 {
            while done.load(Ordering::SeqCst) < quarter * PROCESSES / 4 {
                thread::yield_now();
            }
            let restarted = cluster
                .control(&["-w", "-t", "120", "-m", "immediate", "restart"])
                .stdin(Stdio::null())
                .status();
            assert!(restarted.unwrap().success());
        }
        let told = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect();
        over.store(true, Ordering::SeqCst);
        told
    });
    let mut executed: BTreeMap<usize, usize> = BTreeMap::new();
    let mut answered = 0;
    for (key, said) in &all {
        match said.stdout.split(' ').next().unwrap() {
            "decision=EXECUTE" => *executed.entry(*key).or_default() += 1,
            "decision=SKIP_IN_FLIGHT" => {}
            _ => {
                let unsure = said.stderr.starts_with("error[io]: ")
                    || said.stderr.starts_with("error[busy]: ");
                assert!(
                    said.code == 2 && said.stdout.is_empty() && unsure,
                    "{said:?}"
                );
                continue;
            }
        }
        answered += 1;
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    }
    assert!(executed.values().all(|times| *times == 1), "{executed:?}");
    assert!(answered > PROCESSES / 2, "only {answered} were answered");
    for key in 0..KEYS {
        let show = ledger.run(&format!("show --key order:{key}"));
        if executed.contains_key(&key) {
            assert!(
                show.stdout.starts_with("state=reserved attempt=1 "),
                "{show:?}"
            );
        }
        let again = ledger.run(&format!("reserve --key order:{key} --fingerprint v1"));
        if show.code == 0 {
            assert!(
                again.stdout.starts_with("decision=SKIP_IN_FLIGHT "),
                "{again:?}"
            );
        }
    }
    eprintln!(
        "answered {answered} of {PROCESSES}, {} keys told to execute",
        executed.len()
    );
    ledger.run("verify");
}
