//! Waits for a shared acquisition until a deadline.

use core::marker::PhantomData;
use core::time::Duration;

use syncline::lock::{TimedSharedLock, TrySharedLock};

use crate::memory::Own;
use crate::mutex::poll;

/// A way to wait for a shared acquisition until a deadline.
pub trait ShareUntil<L: TrySharedLock> {
    /// Waits, and returns whether the lock was acquired.
    ///
    /// # Safety
    ///
    /// Same requirements as [`TimedSharedLock::acquire_shared_until`].
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool;
}

/// The lock's own waits with timeout.
pub struct Timed(PhantomData<()>);

impl<L: TimedSharedLock<Memory = Own, SharedNode = ()>> ShareUntil<L> for Timed {
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { lock.acquire_shared_until(&(), deadline) }
    }
}

/// Repeated tries.
pub struct Polled(PhantomData<()>);

impl<L: TrySharedLock<Memory = Own, SharedNode = ()>> ShareUntil<L> for Polled {
    unsafe fn acquire(lock: &L, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        poll(deadline, || unsafe { lock.try_acquire_shared(&()) })
    }
}
