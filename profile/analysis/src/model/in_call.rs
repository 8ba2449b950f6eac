//! System calls in which threads spend time, other than those that the recorder saw.

use serde::Serialize;

/// A system call at a call site, in which threads sleep or use a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InCall {
    /// The name of the system call, such as `epoll_wait`, or of the function that makes it.
    pub call: String,
    /// The call site, as [`super::Site::place`].
    pub place: String,
    /// Seconds that all threads together spent there, an estimate from samples.
    pub seconds: f64,
    /// The threads, as indexes of [`super::Process::threads`].
    pub threads: Vec<usize>,
    /// The stack with most of this time, as an index of [`super::Process::stacks`].
    pub stack: usize,
}
