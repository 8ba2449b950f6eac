//! A bar for slow work, such as looking names up in large programs, reading large traces, and
//! measuring.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use syncline_analysis::Progress;

/// A user who waits less than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error. It appears only on a terminal, and only after [`PATIENCE`]. Dropping this
/// value removes it.
pub struct Bar {
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Bar {
    /// A bar that is not shown yet.
    pub fn new() -> Bar {
        Bar { started: Instant::now(), shown: None }
    }

    /// Shows the progress of reading names.
    pub fn show(&mut self, at: &Progress) {
        self.show_part(at.stacks_done, at.stacks);
    }

    /// Shows that `done` of `of` parts are done.
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
