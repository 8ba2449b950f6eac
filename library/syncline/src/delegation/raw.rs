//! The trait of delegation locks: they run requests, one at a time.

use super::request::Request;
use crate::memory::Memory;
use crate::wait::Wait;

/// A lock whose holder runs the sections of other threads.
///
/// # Safety
///
/// Each request runs exactly once, and no two at a time. A run has Acquire ordering towards the run
/// before it and towards the call that handed it in, and Release towards the next run. All zero
/// bits, in a memory in which that is possible, are a fresh lock.
pub unsafe trait RawDelegation: Default + Send + Sync {
    /// The memory that the lock is in.
    type Memory: Memory;
    /// How its waiters wait.
    type Wait: Wait;

    /// Runs a request, in this thread or by a helper, and returns when it has run. Only a helper
    /// whose lock makes waiters watch the request's state completes the request.
    ///
    /// # Safety
    ///
    /// The request is an attached one, and handed in for the first time. The call does not come
    /// from a section of this lock.
    unsafe fn run(&self, request: &Request<Self::Memory>);

    /// Hands a request in, to be run and completed. Returns at once, unless this thread becomes the
    /// helper, has to wait for a free slot among the requests, or has to wait until a helper that
    /// has reached its limit finds a successor.
    ///
    /// # Safety
    ///
    /// Same requirements as [`run`](Self::run), but the request is a detached one.
    unsafe fn submit(&self, request: &Request<Self::Memory>);
}
