//! Manual pages: what clap knows of a command, and its help text cut into the sections that a manual page has.

use std::io;

use clap::Command;
use clap_mangen::Man;

/// How the paragraph of a help text begins that tells the exit codes.
const EXIT_CODES: &str = "Exit codes: ";
/// How the paragraph of a help text begins that holds examples.
const EXAMPLE: &str = "Example";

/// Names of options and variables are copied from the page: none is divided.
const NO_HYPHENATION: &[u8] = b".nh\n";

/// The page of the whole program. A line in capitals begins a section of the chapter.
pub(super) fn of_all(command: &Command, chapter: &str) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    page.extend(NO_HYPHENATION);
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut text = String::new();
    heading("COMMANDS", &mut text);
    for sub in command.get_subcommands() {
        let about = sub.get_about().map(ToString::to_string);
        item(sub.get_name(), &about.unwrap_or_default(), &mut text);
    }
    paragraph(
        "'receipt-ledger COMMAND --help' and 'receipt-ledger man COMMAND' say more of a command.",
        &mut text,
    );
    heading("EXIT STATUS", &mut text);
    for sub in command.get_subcommands() {
        let help = Help::of(sub);
        item(sub.get_name(), &help.exit_codes, &mut text);
    }
    for part in chapter.split("\n\n") {
        match part.split_once(": ") {
            _ if part
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b' ') =>
            {
                heading(part, &mut text);
            }
            Some((lead, rest)) if !lead.contains(['\n', '(']) => item(lead, rest, &mut text),
            Some(_) | None => paragraph(part, &mut text),
        }
    }
    page.extend(text.into_bytes());
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The page of one command.
pub(super) fn of_one(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let help = Help::of(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    page.extend(NO_HYPHENATION);
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    let mut text = String::new();
    for part in &help.description {
        paragraph(part, &mut text);
    }
    page.extend(text.into_bytes());
    man.render_options_section(&mut page)?;
    let mut text = String::new();
    heading("EXAMPLES", &mut text);
    for (lead, lines) in &help.examples {
        paragraph(lead, &mut text);
        code(lines, &mut text);
    }
    heading("EXIT STATUS", &mut text);
    paragraph(&help.exit_codes, &mut text);
    page.extend(text.into_bytes());
    Ok(page)
}

/// A command's help text, taken apart.
#[derive(Default)]
struct Help {
    description: Vec<String>,
    /// What stands above the example, and its lines.
    examples: Vec<(String, String)>,
    exit_codes: String,
}

impl Help {
    fn of(command: &Command) -> Help {
        let text = command.get_after_help().map(ToString::to_string);
        let mut help = Help::default();
        for part in text.unwrap_or_default().split("\n\n") {
            if let Some(exit_codes) = part.strip_prefix(EXIT_CODES) {
                exit_codes.clone_into(&mut help.exit_codes);
            } else if part.starts_with("  ") {
                help.examples.push((String::new(), part.to_owned()));
            } else if let Some((lead, lines)) = part.split_once(":\n")
                && let Some(lead) = lead.strip_prefix(EXAMPLE)
            {
                let lead = lead.trim_start_matches(", ").to_owned();
                help.examples.push((lead, lines.to_owned()));
            } else {
                help.description.push(part.to_owned());
            }
        }
        help
    }
}

fn heading(name: &str, text: &mut String) {
    text.push_str(&format!(".SH \"{name}\"\n"));
}

fn paragraph(words: &str, text: &mut String) {
    if !words.is_empty() {
        text.push_str(".PP\n");
        filled(words, text);
    }
}

/// A word in bold, and what there is to say of it, indented.
fn item(word: &str, words: &str, text: &mut String) {
    text.push_str(&format!(".TP\n\\fB{}\\fR\n", escaped(word)));
    filled(words, text);
}

/// Text whose lines may be broken anywhere.
fn filled(words: &str, text: &mut String) {
    for line in words.lines() {
        text.push_str(&escaped(line.trim()));
        text.push('\n');
    }
}

/// Lines that stay as they are.
fn code(lines: &str, text: &mut String) {
    text.push_str(".PP\n.RS 4\n.nf\n");
    for line in lines.lines() {
        text.push_str(&escaped(line.strip_prefix("  ").unwrap_or(line)));
        text.push('\n');
    }
    text.push_str(".fi\n.RE\n");
}

/// Text without what roff would act on: quotes, hyphens and backslashes are meant as they are, to be copied.
fn escaped(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    if line.starts_with('.') {
        escaped.push_str("\\&");
    }
    for c in line.chars() {
        match c {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '…' => escaped.push_str("..."),
            '–' => escaped.push_str("\\(en"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_roff_would_act_on_is_meant_as_it_is() {
        assert_eq!(
            escaped(".a 'b' --c \\ `d` …"),
            "\\&.a \\(aqb\\(aq \\-\\-c \\e \\(gad\\(ga ..."
        );
        assert_eq!(escaped("'first"), "\\(aqfirst");
    }

    #[test]
    fn a_help_text_is_cut_into_sections() {
        let command = Command::new("x").after_help(
            "Does it.\n\nTwice.\n\n  by itself\n\nExample, at night:\n  x\n  y\n\nExit codes: 0 done.",
        );
        let help = Help::of(&command);
        assert_eq!(help.description, ["Does it.", "Twice."]);
        let examples = [("", "  by itself"), ("at night", "  x\n  y")];
        assert_eq!(
            help.examples,
            examples.map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!(help.exit_codes, "0 done.");
    }
}
