//! A call site, added up over locks and threads.

use serde::Serialize;
use syncline_recording::Op;

use super::{Figures, Inspected, Kind, Quadrant, Section};

/// A place in the source that does one operation, added up over all locks and all threads:
/// many thousand quiet locks that one line takes are one busy site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    /// What it does.
    pub op: Op,
    /// What waiting here means.
    pub kind: Kind,
    /// The place, as `FUNCTION at FILE:LINE` or what is known of it.
    pub place: String,
    /// The frame of that place: the innermost one that is not a library's lock wrapper; `None` if
    /// no stack is known.
    pub frame: Option<usize>,
    /// The ways to get here, those with most waiting first.
    pub stacks: Vec<usize>,
    /// What was done on each of these ways, in the same order. Not part of the JSON report.
    #[serde(skip)]
    pub ways: Vec<Way>,
    /// Locks that were used here, or were seen to be.
    pub locks: usize,
    /// Whether these were too many to be counted one by one: how the calls spread over the locks is
    /// then an estimate, and there may be more of them. The site's own figures are exact.
    pub sampled: bool,
    /// Threads that came here.
    pub threads: usize,
    /// The calls of each of them, which are places in [`super::Process::threads`]. Not part of the
    /// JSON report.
    #[serde(skip)]
    pub by_thread: Vec<(usize, u64)>,
    /// What was done here.
    pub figures: Figures,
    /// Where it stands by contention and acquisitions; `None` if it takes no lock.
    pub quadrant: Option<Quadrant>,
    /// What its critical section does, where the program's file could be read and it could
    /// be followed.
    pub section: Option<Section>,
    /// What a trace says of its critical sections, where there is one.
    pub inspected: Option<Inspected>,
}

/// What was done at a call site by one way to get there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Way {
    /// As in [`Figures`].
    pub calls: u64,
    /// Calls that had to wait, also those whose wait had not ended.
    pub waits: u64,
    /// Seconds waited.
    pub waited: f64,
}
