//! Which call sites make which others wait.

use serde::Serialize;

/// The waits at one call site for holders that had acquired a lock with one stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocker {
    /// The site where threads waited.
    pub waiter: usize,
    /// The stack at which the holders had acquired the lock.
    pub holder_stack: usize,
    /// The site of that acquisition; `None` if unknown.
    pub holder: Option<usize>,
    /// Index in [`super::Process::threads`] of the thread that was waited for longest; `None` if
    /// unknown. It is an estimate: the recording has only the latest holder that each waiter met.
    pub thread: Option<usize>,
    /// The number of waits.
    pub waits: u64,
    /// Total seconds of these waits.
    pub waited: f64,
}

/// A call site of waiters and one of the holders that they waited for, summed over all locks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocking {
    /// The call site of the waiters.
    pub waiter: usize,
    /// The stack at which the holders had acquired the lock; if there are several, that of the
    /// [`Blocker`] with most waiting.
    pub holder_stack: usize,
    /// The site of that acquisition; `None` if unknown.
    pub holder: Option<usize>,
    /// The holder's call site, as [`super::Site::place`].
    pub holder_place: String,
    /// The number of locks at which this happened.
    pub locks: usize,
    /// The number of waits.
    pub waits: u64,
    /// Total seconds of these waits.
    pub waited: f64,
}
