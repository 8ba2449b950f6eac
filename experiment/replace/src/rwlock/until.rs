//! Waiting for a share of a lock until a deadline.

use core::marker::PhantomData;
use core::time::Duration;

use syncline::lock::{TimedSharedLock, TrySharedLock};

use crate::memory::Own;
use crate::mutex::poll;

/// How a share is waited for until a deadline.
pub trait ShareUntil<L: TrySharedLock> {
    /// Waits, and says whether it got the share.
    ///
    /// # Safety
    ///
    /// Same requirements as [`TimedSharedLock::acquire_shared_until`].
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool;
}

/// By the lock's own means.
pub struct Timed(PhantomData<()>);

impl<L: TimedSharedLock<Memory = Own, SharedNode = ()>> ShareUntil<L> for Timed {
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { lock.acquire_shared_until(&(), deadline) }
    }
}

/// By trying again and again.
pub struct Polled(PhantomData<()>);

impl<L: TrySharedLock<Memory = Own, SharedNode = ()>> ShareUntil<L> for Polled {
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        poll(deadline, || unsafe { lock.try_acquire_shared(&()) })
    }
}
