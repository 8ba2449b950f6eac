//! What the user of the analysis may choose.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use syncline_code::file::files::DEBUG_DIR;

use crate::inspections::Inspections;

/// From where on a lock or a call site is called contended, or busy.
///
/// The values by default are those of SyncPerf (section 4.1), found by experience there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// A higher share of acquisitions that found the lock taken is high contention.
    pub contention: f64,
    /// More acquisitions in a second of the process's time are many.
    pub acquisitions_per_second: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { contention: 0.10, acquisitions_per_second: 1000.0 }
    }
}

/// How a recording is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// What counts as high.
    pub thresholds: Thresholds,
    /// Folders with separate debug files, as [`DEBUG_DIR`] is one.
    pub debug_dirs: Vec<PathBuf>,
    /// What is known of critical sections from a trace of them; nothing if there is none.
    pub inspections: Inspections,
    /// How much of the end of the run is read, of a recording in windows of time; all if not said.
    pub last: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            thresholds: Thresholds::default(),
            debug_dirs: vec![PathBuf::from(DEBUG_DIR)],
            inspections: Inspections::default(),
            last: None,
        }
    }
}

/// How far the search for names has come, which is what takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Processes that are done.
    pub processes_done: usize,
    /// Processes of the recording.
    pub processes: usize,
    /// Call stacks of this process that are done.
    pub stacks_done: usize,
    /// Call stacks of this process.
    pub stacks: usize,
}
