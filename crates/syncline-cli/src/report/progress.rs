//! A bar for reports that take their time: looking names up in large programs does.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use syncline_analysis::Progress;

/// Who waits less than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal and only after a while. It is gone when
/// this value is.
pub struct Bar {
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Bar {
    /// No bar yet.
    pub fn new() -> Bar {
        Bar { started: Instant::now(), shown: None }
    }

    /// Shows how far it has come.
    pub fn show(&mut self, at: &Progress) {
        if self.started.elapsed() < PATIENCE || !stderr().is_terminal() {
            return;
        }
        let bar = self.shown.get_or_insert_with(|| ProgressBar::new(0));
        bar.set_length(at.stacks as u64);
        bar.set_position(at.stacks_done as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
