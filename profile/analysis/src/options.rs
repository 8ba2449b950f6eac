//! The options of the analysis.

use std::path::PathBuf;
use std::time::Duration;

use syncline_code::file::files::DEBUG_DIR;

use crate::inspections::Inspections;
pub use crate::model::Thresholds;

/// How a recording is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// What counts as high.
    pub thresholds: Thresholds,
    /// Folders with separate debug files, as [`DEBUG_DIR`] is one.
    pub debug_dirs: Vec<PathBuf>,
    /// The inspections from a trace of the critical sections; empty if there is none.
    pub inspections: Inspections,
    /// How much of the end of the run is read, of a recording in windows of time; by default all.
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

/// Is called with the progress of the search for names, which takes most of the time.
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
