//! `--help` and `--version`: groups, an example and the exit codes for each command.

use super::support::Scratch;

/// The commands that the first page lists.
fn listed(ledger: &Scratch) -> Vec<(String, String)> {
    let said = ledger.run("--help");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let before_options = said.stdout.split("--db <").next().unwrap();
    let mut group = String::new();
    let mut commands = Vec::new();
    for line in before_options.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            group = heading.to_owned();
        } else if let Some(command) = line
            .strip_prefix("  ")
            .filter(|line| !line.starts_with([' ', '-']))
        {
            let (name, about) = command.split_once(' ').unwrap();
            assert!(!about.trim().is_empty(), "{name} says what it is for");
            commands.push((group.clone(), name.to_owned()));
        }
    }
    commands
}

#[test]
fn every_command_is_listed_once_in_a_group() {
    let ledger = Scratch::new();
    let mut names: Vec<String> = listed(&ledger)
        .into_iter()
        .map(|(group, name)| {
            assert!(!group.is_empty(), "{name} is in no group");
            name
        })
        .collect();
    for needed in [
        "reserve", "succeed", "fail", "unknown", "renew", "resolve", "show", "init",
    ] {
        assert!(
            names.iter().any(|name| name == needed),
            "{needed} is not listed: {names:?}"
        );
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a command is listed twice");
}

#[test]
fn every_command_has_an_example_and_states_its_exit_codes() {
    let ledger = Scratch::new();
    let first = ledger.run("--help").stdout;
    assert!(
        first.contains("Exit codes: 0 ") && first.contains(" 2 ") && first.contains(" 3 "),
        "{first}"
    );
    for (_, name) in listed(&ledger) {
        let said = ledger.run(&format!("{name} --help"));
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{name}");
        assert!(
            said.stdout.contains("xit codes"),
            "{name} states its exit codes"
        );
        let example = said.stdout.lines().any(|line| {
            line.starts_with("  ")
                && line.contains("receipt-ledger ")
                && line.contains(&format!(" {name}"))
        });
        assert!(example, "{name} has an example");
        let short = ledger.run(&format!("{name} -h"));
        assert_eq!((short.code, short.stderr.as_str()), (0, ""), "{name}");
    }
    assert!(!ledger.path("receipts.db").exists());
}

#[test]
fn version_names_the_sqlite_inside_and_it_is_one_that_keeps_its_promises() {
    let ledger = Scratch::new();
    let said = ledger.run("--version");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let own = format!("receipt-ledger {} ", env!("CARGO_PKG_VERSION"));
    assert!(said.stdout.starts_with(&own), "{}", said.stdout);
    let sqlite = said.stdout.split("SQLite ").nth(1).unwrap();
    let numbers: Vec<u32> = sqlite
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .split('.')
        .map(|number| number.parse().unwrap())
        .collect();
    assert_eq!(numbers.len(), 3, "{}", said.stdout);
    assert!(numbers >= vec![3, 51, 3], "{}", said.stdout);
}

#[test]
fn help_and_version_that_cannot_be_written_are_no_answer() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        eprintln!("skipped: there is no /dev/full here");
        return;
    }
    let ledger = Scratch::new();
    for args in ["--help", "--version", "reserve --help"] {
        let mut command = ledger.command(args.split_whitespace());
        let output = command
            .stdout(std::fs::File::create(full).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(
            String::from_utf8_lossy(&output.stderr).starts_with("error[output]: "),
            "{args}"
        );
    }
}
