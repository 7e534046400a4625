//! Progress of long work: a count that moves where somebody watches, nothing anywhere else.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A count of what was done, on standard error.
pub(crate) fn counting(done: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{spinner} {pos} {msg} in {elapsed}") {
        Ok(style) => bar.with_style(style).with_message(done),
        Err(_) => bar,
    }
}
