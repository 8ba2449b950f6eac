//! The options of the analysis.

use std::path::PathBuf;
use std::time::Duration;

use syncline_code::file::files::DEBUG_DIR;

use crate::inspections::Inspections;
pub use crate::model::Thresholds;

/// How a recording is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The values above which contention and acquisitions count as high.
    pub thresholds: Thresholds,
    /// Folders with separate debug files, such as [`DEBUG_DIR`].
    pub debug_dirs: Vec<PathBuf>,
    /// The inspections from a trace of the critical sections; empty if there is none.
    pub inspections: Inspections,
    /// How much of the end of the run is read, for a recording in windows of time. `None` for the
    /// whole run.
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

/// The progress of the search for names, which takes most of the time of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of processes that are done.
    pub processes_done: usize,
    /// The number of processes in the recording.
    pub processes: usize,
    /// The number of call stacks of the current process that are done.
    pub stacks_done: usize,
    /// The number of call stacks of the current process.
    pub stacks: usize,
}
