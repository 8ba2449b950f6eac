//! Notes what a parent learns of a child's end, perhaps in a signal handler.

use core::sync::atomic::{AtomicU32, Ordering};

use syncline_interpose::preserving_errno;
use syncline_recording::writer::{child_ended, child_ended_elsewhere};

use crate::clock;
use crate::options;
use crate::recorder::{self, Recorder};
use crate::thread::usage::is_sandboxed;

/// Notes that a child has ended with this status, as `wait` gives it.
pub fn ended(pid: u32, status: u32) {
    let Some(options) = options::get() else { return };
    let file = recorder::existing().map(Recorder::file);
    let (mut has_own, now) = (false, clock::now());
    child_ended(file, pid, status, now, || {
        has_own = !is_sandboxed() && child_ended_elsewhere(&options.folder, pid, status, now);
        has_own
    });
    if has_own && file.is_none() && !options.timeline {
        had_its_own();
    }
}

/// Gives a file to a process that has counted nothing itself, once many of its children have made a
/// file each. Later children begin in the process's file, which is far cheaper.
fn had_its_own() {
    const MANY: u32 = 8;
    static HAD: AtomicU32 = AtomicU32::new(0);
    if HAD.fetch_add(1, Ordering::Relaxed) + 1 >= MANY {
        preserving_errno(|| _ = recorder::get());
    }
}
