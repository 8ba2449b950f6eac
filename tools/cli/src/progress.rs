//! A progress bar for slow work, such as finding names in large programs, reading large traces, and
//! measuring.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use syncline_analysis::Progress;

/// The bar appears after this time, since a shorter wait needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress bar on standard error. It appears only if standard error is a terminal, and only
/// after [`PATIENCE`]. Dropping this value removes the bar.
pub struct Bar {
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Bar {
    /// A bar that is not shown yet.
    pub fn new() -> Bar {
        Bar { started: Instant::now(), shown: None }
    }

    /// Shows how far the reading of names has come.
    pub fn show(&mut self, at: &Progress) {
        self.show_part(at.stacks_done, at.stacks);
    }

    /// Shows that `done` parts of `of` are done.
    pub fn show_part(&mut self, done: usize, of: usize) {
        if self.started.elapsed() < PATIENCE || !stderr().is_terminal() {
            return;
        }
        let bar = self.shown.get_or_insert_with(|| ProgressBar::new(0));
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
