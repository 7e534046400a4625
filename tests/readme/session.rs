//! A `console` block: what is typed behind `$ `, and what comes back.

use std::fmt::Write as _;

use crate::block::Block;
use crate::shop::{Shop, said};

/// How a call begins that creates the ledger; a block need not show it.
const CREATED: &str = "note: created ledger /";

/// What is typed, and the lines shown below it.
struct Step {
    typed: String,
    shown: Vec<String>,
}

/// Types the block into one shell and compares standard output and standard error, each exactly. A command that does not
/// exit with 0 must be followed by `echo $?`. The note of a creation need not be shown.
pub(crate) fn prints_what_it_shows(block: &Block) {
    let shop = Shop::new();
    let steps = steps(block);
    let mut script = String::new();
    for (index, step) in steps.iter().enumerate() {
        let typed = shop.here(&step.typed);
        writeln!(script, "{{ {typed}\n}} >{index}.out 2>{index}.err").unwrap();
        writeln!(
            script,
            "status=$?; echo $status >{index}.status; (exit $status)"
        )
        .unwrap();
    }
    said(shop.command("sh").args(["-c", &script]));
    for (index, step) in steps.iter().enumerate() {
        let at = format!("README.md line {}: $ {}", block.line, step.typed);
        let (stderr, stdout): (Vec<&str>, Vec<&str>) = step
            .shown
            .iter()
            .map(String::as_str)
            .partition(|line| is_for_people(line, &step.typed));
        let come_back =
            |ending: &str| same_times(&shop.there(&shop.read(&format!("{index}.{ending}"))));
        assert_eq!(come_back("out"), same_times(&lines(&stdout)), "{at}");
        let mut err = come_back("err");
        if !stderr.iter().any(|line| line.starts_with(CREATED)) && err.starts_with(CREATED) {
            err = err.split_inclusive('\n').skip(1).collect();
        }
        assert_eq!(err, same_times(&lines(&stderr)), "{at}");
        let asks_for_status = steps
            .get(index + 1)
            .is_some_and(|next| next.typed == "echo $?");
        let status = shop.read(&format!("{index}.status"));
        assert!(
            asks_for_status || status == "0\n",
            "{at}: exit code {status}, which the block does not show"
        );
    }
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.text.lines() {
        if let Some(typed) = line.strip_prefix("$ ") {
            steps.push(Step {
                typed: typed.to_owned(),
                shown: Vec::new(),
            });
            continue;
        }
        let step = steps
            .last_mut()
            .expect("a console block begins with a command");
        match line.strip_prefix("> ") {
            Some(more) => step.typed = format!("{}\n{more}", step.typed),
            None => step.shown.push(line.to_owned()),
        }
    }
    assert!(!steps.is_empty(), "line {}: nothing is typed", block.line);
    steps
}

/// Whether the line belongs to standard error. `run` leaves standard output to its command.
fn is_for_people(line: &str, typed: &str) -> bool {
    let run =
        typed.contains("receipt-ledger") && typed.split_whitespace().any(|word| word == "run");
    ["error[", "hint: ", "note: "]
        .iter()
        .any(|start| line.starts_with(start))
        || (run && line.starts_with("decision="))
}

fn lines(lines: &[&str]) -> String {
    lines
        .iter()
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Every moment set to the same one, and every age to none: the only things in an answer that differ from run to run.
fn same_times(text: &str) -> String {
    let (text, mut rest) = (&mut String::new(), text);
    while let Some((before, age)) = rest.split_once("_age_s=") {
        text.push_str(before);
        text.push_str("_age_s=");
        rest = age.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push_str(if rest.len() < age.len() { "0" } else { "" });
    }
    text.push_str(rest);
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let is_moment = |bytes: &[u8]| {
        bytes.len() == SHAPE.len()
            && bytes.iter().zip(SHAPE).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                _ => byte == shape,
            })
    };
    let mut bytes = text.as_bytes().to_vec();
    for at in 0..bytes.len() {
        let end = at + SHAPE.len();
        if bytes.get(at..end).is_some_and(is_moment) {
            bytes[at..end].copy_from_slice(SHAPE);
        }
    }
    String::from_utf8(bytes).unwrap()
}
