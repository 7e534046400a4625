//! On a terminal `list` and `stats` are tables, coloured unless NO_COLOR; in a pipe they are the contract's lines.

use std::process::Command;

use super::past::{DAY, HOUR, Past};
use super::procs::{has, wrapped};
use super::stage::rich;
use super::support::{Scratch, said};

/// Runs its arguments on a terminal of its own and prints what that shows.
const TERMINAL: &str = "\
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b''
while True:
    try:
        more = os.read(terminal, 65536)
    except OSError:
        break
    if not more:
        break
    shown += more
sys.stdout.buffer.write(shown.replace(b'\\r\\n', b'\\n'))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

fn on_a_terminal(command: &Command, no_color: Option<&str>) -> Option<String> {
    if !has("python3", &["-c", "import pty"]) {
        eprintln!("skipped: no python3 with the module pty");
        return None;
    }
    let mut command = wrapped("python3", &["-c", TERMINAL], command);
    command.env("TERM", "xterm");
    match no_color {
        Some(value) => command.env("NO_COLOR", value),
        None => command.env_remove("NO_COLOR"),
    };
    let said = said(&command.output().unwrap());
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    Some(said.stdout)
}

fn with_receipts() -> Scratch {
    let scratch = Scratch::with_ledger();
    let mut past = Past::ago(&scratch, 2 * DAY + 3 * HOUR);
    for key in ["order:1", "order:2", "order:3"] {
        past.reserve(key);
    }
    past.succeed("order:1", 1, None);
    past.unknown("order:2", 1, Some("a\u{1b}[31m\u{7}\u{202e}b"));
    past.close();
    scratch
}

#[test]
fn list_is_an_aligned_table_with_coloured_states() {
    let scratch = with_receipts();
    let list = scratch.command(["list"]);
    let Some(shown) = on_a_terminal(&list, None) else {
        return;
    };
    let plain = on_a_terminal(&list, Some("1")).unwrap();
    assert_eq!(
        plain,
        "STATE      ATTEMPT  AGE      KEY\n\
         succeeded  1        2d3h     order:1\n\
         unknown    1        2d3h     order:2  reason='a\\u001b[31m\\u0007\\u202eb'\n\
         reserved   1        2d3h     order:3\n"
    );
    assert!(shown.contains("\u{1b}[32msucceeded"), "{shown:?}");
    let without_colours: String = strip(&shown);
    assert_eq!(without_colours, plain);
    assert_eq!(
        on_a_terminal(&list, Some("")).unwrap(),
        shown,
        "an empty NO_COLOR says nothing"
    );
}

/// Without what sets colours.
fn strip(shown: &str) -> String {
    let mut parts = shown.split('\u{1b}');
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').unwrap();
        assert!(code.starts_with('['), "{shown:?}");
        text.push_str(rest);
    }
    text
}

#[test]
fn stats_is_a_table_that_tells_how_old_the_oldest_are() {
    let scratch = with_receipts();
    let stats = scratch.command(["stats"]);
    let Some(shown) = on_a_terminal(&stats, Some("1")) else {
        return;
    };
    assert_eq!(
        shown,
        "recorded              0\n\
         reserved              1  oldest 2d3h\n\
         succeeded             1\n\
         failed                0\n\
         unknown               1  oldest 2d3h\n\
         pruned                0\n\
         forgotten             0\n"
    );
    assert_eq!(strip(&on_a_terminal(&stats, None).unwrap()), shown);
}

#[test]
fn in_a_pipe_or_where_a_format_is_asked_for_there_is_no_table_and_no_colour() {
    let scratch = rich();
    for args in ["list", "stats"] {
        for line in scratch.run(args).stdout.lines() {
            assert!(
                line.starts_with(if args == "list" {
                    "state="
                } else {
                    "recorded="
                }),
                "{line}"
            );
        }
        let json = scratch.command([args, "--format", "json"]);
        let Some(shown) = on_a_terminal(&json, None) else {
            return;
        };
        assert_eq!(shown, scratch.run(&format!("{args} --format json")).stdout);
        assert!(shown.starts_with('{'));
    }
}

#[test]
fn a_prune_shows_progress_on_a_terminal_and_its_answer_last() {
    let scratch = Scratch::with_ledger();
    super::bulk::succeeded(&scratch, 1_500, "[]");
    let prune = scratch.command(["prune", "--older-than", "1d"]);
    let Some(shown) = on_a_terminal(&prune, Some("1")) else {
        return;
    };
    assert!(shown.ends_with("pruned=1500 kept_live=0\n"), "{shown:?}");
    let before = shown.trim_end_matches("pruned=1500 kept_live=0\n");
    assert!(before.contains(" pruned in "), "{shown:?}");
}
