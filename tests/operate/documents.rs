//! `completions` and `man` (contract §9.6): what the arguments say of themselves.

use std::io::Write;
use std::process::{Command, Stdio};

use super::procs::has;
use super::support::{Scratch, binary, said};

/// Every command of the first screen.
fn commands() -> Vec<String> {
    let help = said(&binary().arg("--help").output().unwrap()).stdout;
    let mut commands = Vec::new();
    for line in help.lines().skip_while(|line| *line != "Decide:") {
        if let Some(rest) = line.strip_prefix("  ") {
            let name = rest.split(' ').next().unwrap();
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()) {
                commands.push(name.to_owned());
            }
        }
        if line.starts_with("Options") {
            break;
        }
    }
    assert!(commands.len() > 20, "{commands:?}");
    commands
}

/// Runs it without a ledger, in an empty folder.
fn prints(args: &[&str]) -> String {
    let scratch = Scratch::new();
    let mut command = binary();
    let said = said(
        &command
            .current_dir(scratch.path("."))
            .args(args)
            .output()
            .unwrap(),
    );
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{args:?}");
    assert_eq!(std::fs::read_dir(scratch.path(".")).unwrap().count(), 0);
    said.stdout
}

#[test]
fn there_are_completions_for_every_shell_and_each_knows_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = prints(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        for option in ["accept-gap", "prometheus", "skip-exit", "older-than"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
}

#[test]
fn the_shells_that_are_here_take_the_script() {
    for shell in ["bash", "zsh", "fish"] {
        if !has(shell, &["-c", "true"]) {
            eprintln!("skipped: no {shell}");
            continue;
        }
        let scratch = Scratch::new();
        std::fs::write(scratch.path("script"), prints(&["completions", shell])).unwrap();
        let checked = Command::new(shell)
            .arg("-n")
            .arg(scratch.path("script"))
            .output()
            .unwrap();
        assert!(checked.status.success(), "{shell}: {:?}", said(&checked));
    }
}

#[test]
fn bash_completes_commands_and_options() {
    if !has("bash", &["-c", "true"]) {
        return;
    }
    let script = prints(&["completions", "bash"]);
    for (words, expected) in [
        ("receipt-ledger re", "restore"),
        ("receipt-ledger stats --p", "--prometheus"),
    ] {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             $(complete -p receipt-ledger | sed 's/.*-F \\([^ ]*\\).*/\\1/') receipt-ledger \"${{COMP_WORDS[COMP_CWORD]}}\" x; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = said(&Command::new("bash").args(["-c", &ask]).output().unwrap());
        assert!(
            output.stdout.lines().any(|line| line == expected),
            "{words}: {output:?}"
        );
    }
}

/// The page as a terminal shows it, without overstrikes.
fn rendered(page: &str) -> Option<String> {
    if !has("groff", &["--version"]) {
        eprintln!("skipped: no groff");
        return None;
    }
    let mut groff = Command::new("groff")
        .args(["-man", "-Tutf8", "-P-cbou", "-ww", "-rLL=100n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    groff
        .stdin
        .take()
        .unwrap()
        .write_all(page.as_bytes())
        .unwrap();
    let said = said(&groff.wait_with_output().unwrap());
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    Some(said.stdout)
}

/// The headings of a page, in order.
fn headings(page: &str) -> Vec<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix(".SH "))
        .map(|heading| heading.trim_matches('"'))
        .collect()
}

#[test]
fn the_page_has_the_operators_chapter_as_sections_and_every_commands_exit_codes() {
    let page = prints(&["man"]);
    let headings = headings(&page);
    for heading in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "COMMANDS",
        "EXIT STATUS",
        "FOR WHO IS ON CALL",
    ] {
        assert!(headings.contains(&heading), "{heading}: {headings:?}");
    }
    assert!(!headings.contains(&"EXTRA"), "{headings:?}");
    let (_, exits) = page.split_once(".SH \"EXIT STATUS\"").unwrap();
    let exits = exits.split(".SH").next().unwrap();
    for command in commands() {
        let entry = format!("\\fB{}\\fR", command.replace('-', "\\-"));
        assert!(exits.contains(&entry), "{command}");
    }
    if let Some(text) = rendered(&page) {
        for line in ["FOR WHO IS ON CALL", "EXIT STATUS"] {
            assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        }
        assert!(text.contains("prune --older-than 90d"), "{text}");
        assert!(!text.contains('\u{2010}'), "a name is divided: {text}");
    }
}

#[test]
fn every_command_has_a_page_with_its_examples_and_exit_codes() {
    for command in commands() {
        let page = prints(&["man", &command]);
        let headings = headings(&page);
        for heading in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS"] {
            assert!(headings.contains(&heading), "{command}: {headings:?}");
        }
        assert!(!headings.contains(&"EXTRA"), "{command}: {headings:?}");
        let Some(text) = rendered(&page) else {
            continue;
        };
        let example = text
            .lines()
            .any(|line| line.trim_start().contains("receipt-ledger") && line.starts_with("  "));
        assert!(example, "{text}");
        let wide = text.lines().filter(|line| line.chars().count() > 140);
        assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new(), "{command}");
    }
}
