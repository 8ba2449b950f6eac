//! What a parent is told of a child's end. It may come in a signal handler.

use syncline_recording::writer::{child_ended, child_ended_elsewhere};

use crate::options;
use crate::recorder::{self, Recorder};
use crate::thread::usage::is_sandboxed;

/// Notes that a child has ended with this status, as `wait` gives it.
pub fn ended(pid: u32, status: u32) {
    let Some(options) = options::get() else { return };
    let file = recorder::existing().map(Recorder::file);
    child_ended(file, pid, status, || {
        !is_sandboxed() && child_ended_elsewhere(&options.folder, pid, status)
    });
}
