//! Progress of a `drain`: a line that moves where somebody watches, nothing in a pipe (issue: "Progress on a terminal").

use std::process::Command;

use super::procs::{has, wrapped};
use super::stage::finish;
use super::support::{Said, Scratch};

fn recorded() -> Scratch {
    let ledger = Scratch::with_ledger();
    for key in ["a", "b", "c"] {
        ledger.run(&format!("record --key {key} --fingerprint v1"));
    }
    ledger
}

fn drain(ledger: &Scratch) -> Command {
    ledger.command(["drain", "--all", "--quiet", "--", "true"])
}

#[test]
fn in_a_pipe_or_a_file_there_is_no_progress() {
    let ledger = recorded();
    let Said {
        stdout,
        stderr,
        code,
    } = finish(&ledger, &mut drain(&ledger));
    assert_eq!(
        (stdout.as_str(), stderr.as_str(), code),
        ("drained=3 succeeded=3 failed=0 unknown=0\n", "", 0)
    );
}

#[test]
fn on_a_terminal_there_is_progress_and_it_is_gone_at_the_end() {
    if !has("script", &["-qec", "true", "/dev/null"]) {
        eprintln!("skipped: no script");
        return;
    }
    let ledger = recorded();
    // What is typed into a terminal of its own: standard output stays a file, so that both can be told apart.
    let shell = wrapped("sh", &["-c", "\"$0\" \"$@\" >told"], &drain(&ledger));
    let words: Vec<String> = std::iter::once(shell.get_program())
        .chain(shell.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''")))
        .collect();
    let mut script = wrapped::<&str>("script", &[], &shell);
    let mut typed = Command::new("script");
    typed
        .args(["-qec", &words.join(" "), "/dev/null"])
        .current_dir(ledger.path(""))
        .env("TERM", "xterm");
    typed.stdin(std::process::Stdio::null());
    std::mem::swap(&mut script, &mut typed);
    let shown = finish(&ledger, &mut script).stdout;
    assert!(shown.contains("performed"), "{shown:?}");
    assert!(shown.contains('\r'), "{shown:?}");
    assert!(!shown.contains("drained="), "{shown:?}");
    let told = std::fs::read_to_string(ledger.path("told")).unwrap();
    assert_eq!(told, "drained=3 succeeded=3 failed=0 unknown=0\n");
}
