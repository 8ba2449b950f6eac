//! Which call sites make which others wait.

use serde::Serialize;

/// The threads that held one lock when others waited for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocker {
    /// Site where others waited.
    pub waiter: usize,
    /// Stack at which the holder had acquired the lock.
    pub holder_stack: usize,
    /// Site of that acquisition, if it is known.
    pub holder: Option<usize>,
    /// Index in [`super::Process::threads`] of the thread that held it for most of these waits'
    /// time, as far as that is known: the recording has only the latest thread that each waiter met.
    pub thread: Option<usize>,
    /// Waits.
    pub waits: u64,
    /// Seconds of these waits.
    pub waited: f64,
}

/// Two call sites that exclude each other, over all locks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocking {
    /// The call site of the waiters.
    pub waiter: usize,
    /// Stack at which the holders had acquired the lock: the one with most waiting behind it.
    pub holder_stack: usize,
    /// Site of that acquisition, if it is known.
    pub holder: Option<usize>,
    /// The holder's call site, as [`super::Site::place`].
    pub holder_place: String,
    /// The number of locks at which this happened.
    pub locks: usize,
    /// Waits.
    pub waits: u64,
    /// Seconds of these waits.
    pub waited: f64,
}
