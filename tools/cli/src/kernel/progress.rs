//! The progress line of a running guest: the time since its start, and the last line of its
//! console.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use syncline_present::terminal::printable;

/// The time between two updates of the displayed time.
const TICK: Duration = Duration::from_millis(200);

/// A line on standard error, if standard error is a terminal. Dropping this value removes the line.
pub struct Console(Option<ProgressBar>);

impl Console {
    /// Shows a line that begins with `what`, the name of the present step.
    pub fn new(what: &str) -> Console {
        if !stderr().is_terminal() {
            return Console(None);
        }
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed}  {wide_msg}");
        let bar = ProgressBar::new_spinner().with_prefix(what.to_owned());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(TICK);
        Console(Some(bar))
    }

    /// Shows a line of the guest's console, unless it is empty.
    pub fn line(&mut self, line: &str) {
        if let Some(bar) = self.0.as_ref().filter(|_| !line.is_empty()) {
            bar.set_message(printable(line));
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
