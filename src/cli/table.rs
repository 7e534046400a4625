//! Receipts and figures for a terminal: aligned, states in colour. Pure.

use anstyle::{AnsiColor, Style};

use super::render::{quote, without_controls};
use receipt_ledger::receipt::{Receipt, State, Timestamp};
use receipt_ledger::store::Stats;

const HEADING: &str = "STATE      ATTEMPT  AGE      KEY";

/// The line above the receipts.
pub(crate) fn heading() -> String {
    format!("{HEADING}\n")
}

/// One receipt: its state, how long it has not changed, its key, and what else is worth a look.
pub(crate) fn receipt(receipt: &Receipt, now: Timestamp, colours: bool) -> String {
    let state = receipt.state(now);
    let age = age(now.ms_since(receipt.updated_at));
    let mut more = String::new();
    for (name, value) in [
        ("owner", receipt.owner.as_ref().map(|owner| owner.as_str())),
        ("run", receipt.run.as_ref().map(|run| run.as_str())),
        (
            "reason",
            receipt.reason.as_ref().map(|reason| reason.as_str()),
        ),
    ] {
        if let Some(value) = value {
            more.push_str("  ");
            more.push_str(name);
            more.push('=');
            quote(value, &mut more);
        }
    }
    if let Some(amount) = &receipt.amount {
        more.push_str(&format!("  {amount}"));
    }
    let state = coloured(&format!("{:<10}", state.as_str()), state, colours);
    format!(
        "{state} {:<8} {age:<8} {}{more}\n",
        receipt.attempt, receipt.key
    )
}

/// The figures, one a line.
pub(crate) fn stats(stats: &Stats, now: Timestamp, colours: bool) -> String {
    let mut text = String::new();
    let since = |moment: Option<Timestamp>| {
        moment
            .map(|moment| format!("  oldest {}", age(now.ms_since(moment))))
            .unwrap_or_default()
    };
    for (state, count, oldest) in [
        (State::Recorded, stats.recorded, String::new()),
        (
            State::Reserved,
            stats.reserved,
            since(stats.oldest_in_flight_at),
        ),
        (State::Succeeded, stats.succeeded, String::new()),
        (State::Failed, stats.failed, String::new()),
        (
            State::Unknown,
            stats.unknown,
            since(stats.oldest_unknown_at),
        ),
    ] {
        let word = coloured(&format!("{:<10}", state.as_str()), state, colours);
        text.push_str(&format!("{word} {count:>12}{oldest}\n"));
    }
    for (word, count) in [("pruned", stats.pruned), ("forgotten", stats.forgotten)] {
        text.push_str(&format!("{word:<10} {count:>12}\n"));
    }
    text
}

fn coloured(text: &str, state: State, colours: bool) -> String {
    let colour = match state {
        State::Recorded => AnsiColor::Blue,
        State::Reserved => AnsiColor::Cyan,
        State::Succeeded => AnsiColor::Green,
        State::Failed => AnsiColor::Red,
        State::Unknown => AnsiColor::Yellow,
    };
    if !colours {
        return without_controls(text);
    }
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{text}{style:#}")
}

/// A span in its two largest units.
fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{}m", minutes % 60),
        (_, _, _) => format!("{days}d{}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_two_units() {
        for (ms, told) in [
            (-5, "0s"),
            (59_999, "59s"),
            (61_000, "1m1s"),
            (3_660_000, "1h1m"),
            (90_000_000, "1d1h"),
        ] {
            assert_eq!(age(ms), told);
        }
    }

    #[test]
    fn colours_stand_around_the_word_only_where_they_are_wanted() {
        assert_eq!(coloured("failed", State::Failed, false), "failed");
        assert_eq!(
            coloured("failed", State::Failed, true),
            "\u{1b}[31mfailed\u{1b}[0m"
        );
    }
}
