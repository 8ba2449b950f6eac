//! Calls of the kernel in which threads sleep, besides those that the recorder saw.

use serde::Serialize;

/// A call of the kernel at a call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asleep {
    /// The call's name: `epoll_wait`.
    pub call: String,
    /// The call site, as [`super::Site::place`].
    pub place: String,
    /// Seconds that all threads slept there, an estimate from samples taken about ten times a
    /// second.
    pub seconds: f64,
    /// The threads, as indexes of [`super::Process::threads`].
    pub threads: Vec<usize>,
    /// The stack with most of this time, as an index of [`super::Process::stacks`].
    pub stack: usize,
}
