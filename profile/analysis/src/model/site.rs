//! A call site, with the sums over its locks and threads.

use serde::Serialize;
use syncline_code::model::Section;
use syncline_recording::Op;

use super::figures::{Figures, Kind};
use super::inspected::Inspected;
use super::quadrant::Quadrant;

/// An operation at a position in the source, with sums over all locks and threads. Thousands of
/// quiet locks that one line takes are one busy site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    /// The operation.
    pub op: Op,
    /// Whether the operation is on locks, futexes or events.
    pub kind: Kind,
    /// The position, as `FUNCTION at FILE:LINE`, or the part of this that is known.
    pub place: String,
    /// The frame of that position, as an index of [`super::Process::frames`]. It is the
    /// [`place`](super::Stack::place) of the site's stacks; `None` if no stack is known.
    pub frame: Option<usize>,
    /// The stacks that lead here, as indexes of [`super::Process::stacks`], those with most waiting
    /// first.
    pub stacks: Vec<usize>,
    /// The figures of each of these stacks, in the same order. Not part of the JSON report.
    #[serde(skip)]
    pub ways: Vec<Way>,
    /// The number of locks used here; if `sampled`, the number of locks that were seen here.
    pub locks: usize,
    /// Whether the locks were too many to be counted one by one. Then the distribution of the calls
    /// over the locks is an estimate, and there may be more locks. The site's own figures are
    /// exact.
    pub sampled: bool,
    /// The number of threads that made calls here.
    pub threads: usize,
    /// The number of calls of each thread, with its index in [`super::Process::threads`]. Not part
    /// of the JSON report.
    #[serde(skip)]
    pub by_thread: Vec<(usize, u64)>,
    /// What was done here.
    pub figures: Figures,
    /// The site's quadrant, by contention and acquisitions; `None` if it takes no lock.
    pub quadrant: Option<Quadrant>,
    /// What the site's critical section does; `None` if the program's file was not readable or the
    /// section could not be followed.
    pub section: Option<Section>,
    /// For a sleep: whether its function sleeps here again and again; `None` if that is not known.
    /// Not part of the JSON report.
    #[serde(skip)]
    pub repeats: Option<bool>,
    /// What a trace says about the site's critical sections; `None` without a trace.
    pub inspected: Option<Inspected>,
}

impl Site {
    /// What to do about the sleeps here, as a clause without a full stop.
    pub fn instead_of_sleeping(&self) -> &'static str {
        match self.repeats {
            Some(true) => {
                "the sleeps are in a loop that checks for something after each sleep, and notices \
                 it half a sleep too late on average: wait for the event itself (a condition \
                 variable, a semaphore, poll)"
            }
            Some(false) => {
                "each sleep belongs to a piece of work: do several pieces at a time, with more \
                 threads or more connections"
            }
            None => {
                "if the program checks for something after each sleep, it notices that half a \
                 sleep too late on average: wait for the event itself (a condition variable, a \
                 semaphore, poll); if each sleep imitates a device or waits for an answer, do \
                 several pieces of work at a time, with more threads or more connections"
            }
        }
    }
}

/// The figures of one stack that leads to a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Way {
    /// Calls that succeeded, as [`Figures::calls`].
    pub calls: u64,
    /// Calls that had to wait, including those whose wait had not ended.
    pub waits: u64,
    /// Seconds waited.
    pub waited: f64,
}
