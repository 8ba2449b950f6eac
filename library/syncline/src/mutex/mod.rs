//! A mutex: a value under a lock of the catalogue, and the functions that acquire the lock.

mod arc;
mod data;
mod guard;

pub use arc::ArcMutexGuard;
pub use data::Mutex;
pub use guard::MutexGuard;

use core::fmt;
use core::time::Duration;

use crate::deadline::{Deadline, after};
use crate::lock::{RawLock, TimedLock, TryLock};

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Waits for the lock, and acquires it. The guard holds the lock as long as it lives.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock, or would wait for a
    /// thread that waits for this one, directly or through other threads.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T, L> {
        let node = self.lock.acquire(self.named());
        // SAFETY: the lock was acquired with this node.
        unsafe { MutexGuard::new(self, node) }
    }

    /// Runs a function while holding the lock, and returns its result.
    ///
    /// Unlike [`lock`](Self::lock), this needs no pooled memory for the queue node: in native
    /// memory the node is on the stack.
    ///
    /// # Panics
    ///
    /// Panics if the function does, and when [`lock`](Self::lock) does.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: we hold the lock.
        self.lock.with(self.named(), || section(unsafe { &mut *self.value.get() }))
    }
}

impl<T: ?Sized, L: TryLock> Mutex<T, L> {
    /// Acquires the lock if it is free; otherwise returns `None`.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>> {
        let node = self.lock.try_acquire()?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { MutexGuard::new(self, node) })
    }

    /// Whether a thread holds the lock. The answer may be outdated at once. If the lock is free,
    /// the call acquires it for a moment.
    pub fn is_locked(&self) -> bool {
        self.try_lock().is_none()
    }
}

impl<T: ?Sized, L: TimedLock> Mutex<T, L> {
    /// Waits for the lock for at most the given time. A free lock is acquired even if the time is
    /// up.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mutex = syncline::Mutex::new(5);
    /// assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_for(&self, patience: Duration) -> Option<MutexGuard<'_, T, L>> {
        self.try_lock_until(after::<L::Memory>(patience))
    }

    /// Waits for the lock until a deadline: an `Instant`, or a time on the clock of the lock's
    /// `Memory`. A free lock is acquired even if the deadline has passed.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_until(
        &self,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<MutexGuard<'_, T, L>> {
        let node = self.lock.acquire_until(deadline.on_clock())?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { MutexGuard::new(self, node) })
    }
}

impl<T: ?Sized + fmt::Debug, L: TryLock> fmt::Debug for Mutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(value) => text.field("data", &&*value),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.finish_non_exhaustive()
    }
}
