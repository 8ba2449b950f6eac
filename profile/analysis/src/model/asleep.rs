//! System calls in which threads sleep, besides those that the recorder saw.

use serde::Serialize;

/// A system call at a call site, in which threads sleep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asleep {
    /// The system call's name, such as `epoll_wait`.
    pub call: String,
    /// The call site, as [`super::Site::place`].
    pub place: String,
    /// Seconds that all threads together slept there, an estimate from samples taken about ten
    /// times a second.
    pub seconds: f64,
    /// The threads, as indexes of [`super::Process::threads`].
    pub threads: Vec<usize>,
    /// The stack with most of this time, as an index of [`super::Process::stacks`].
    pub stack: usize,
}
