//! The operations on a lock from C: one trait for each group of functions.

use std::time::Duration;

use syncline::Condvar;

use crate::boundary::Outcome;

/// A lock that can be destroyed if no thread uses it.
pub(crate) trait Unused {
    /// Refuses if the lock is in use.
    fn expect_unused(&self) -> Outcome;
}

/// A lock that one thread holds at a time.
pub(crate) trait Lock: Unused + Sized {
    /// A free lock.
    fn new() -> Self;
    /// Waits until the lock is free, and holds it.
    fn lock(&self) -> Outcome;
    /// Releases the lock; if this thread only shares it, releases its share.
    fn unlock(&self) -> Outcome;
    /// Releases the lock, waits for a notification or until the deadline, and acquires the lock
    /// again.
    fn wait(&self, cond: &Condvar, deadline: Option<Duration>) -> Outcome;
}

/// A lock that can be tried: acquired if that needs no waiting.
pub(crate) trait Try: Lock {
    /// Takes the lock if it is free.
    fn try_lock(&self) -> Outcome;
}

/// A lock whose waiters can give up.
pub(crate) trait Timed: Try {
    /// Waits for the lock until the deadline.
    fn lock_until(&self, deadline: Duration) -> Outcome;
}

/// A lock that several threads can share.
pub(crate) trait Share: Lock {
    /// Waits until no thread holds the lock exclusively, and shares it.
    fn share(&self) -> Outcome;
}

/// A shared lock that can be tried: shared or acquired if that needs no waiting.
pub(crate) trait TryShare: Share + Try {
    /// Shares the lock if that needs no waiting.
    fn try_share(&self) -> Outcome;
}

/// A shared lock whose waiters can give up.
pub(crate) trait TimedShare: TryShare + Timed {
    /// Waits for a share until the deadline.
    fn share_until(&self, deadline: Duration) -> Outcome;
}

/// Drops a lock if no thread uses it, and leaves zeros, which are a new lock.
///
/// # Safety
///
/// The lock is valid or zero, and no thread begins to use it meanwhile.
pub(crate) unsafe fn destroy<T: Unused>(lock: *mut T) -> Outcome {
    // SAFETY: the lock is valid.
    unsafe { &*lock }.expect_unused()?;
    // SAFETY: no thread uses the lock, and zero is a valid state of it.
    unsafe {
        lock.drop_in_place();
        lock.write_bytes(0, 1);
    }
    Ok(())
}
