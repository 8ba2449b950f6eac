//! Functions in which threads change words by atomic instructions.

use serde::Serialize;

/// A function whose atomic instructions take processor time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Atomics {
    /// The function, without an offset.
    pub function: String,
    /// The position of the instruction with most of the time, as [`super::Site::place`].
    pub place: String,
    /// Processor time of all threads at the function's atomic instructions, in seconds, an estimate
    /// from samples. An instruction that has to wait for a cache line of another processor takes
    /// longer.
    pub seconds: f64,
    /// The threads, as indexes of [`super::Process::threads`], and the seconds of each.
    pub threads: Vec<(usize, f64)>,
    /// The stack with most of this time, as an index of [`super::Process::stacks`].
    pub stack: usize,
}
