//! A value under a shared lock of the catalogue, and how its lock is acquired.

mod arc;
mod data;
mod guards;
mod upgradable;

pub use arc::{ArcRwLockReadGuard, ArcRwLockWriteGuard};
pub use data::RwLock;
pub use guards::{MappedRwLockReadGuard, RwLockReadGuard, RwLockWriteGuard};
pub use upgradable::RwLockUpgradableReadGuard;

use core::fmt;
use core::time::Duration;

use crate::deadline::{Deadline, after};
use crate::lock::{RawSharedLock, TimedSharedLock, TrySharedLock};

impl<T: ?Sized, L: RawSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, and keeps it as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock for writing, or would
    /// wait for a writer that waits for this thread, directly or through other threads. In all
    /// builds, if there are more readers than the lock can count: 524,287 for
    /// [`CompactRw`](crate::lock::CompactRw) and for an [`Upgradable`](crate::lock::Upgradable)
    /// over it, and more than 100 million for the others. In that case
    /// [`try_read`](Self::try_read) returns `None`.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T, L> {
        let node = self.lock.share(self.named());
        // SAFETY: the lock is shared with this node.
        unsafe { RwLockReadGuard::new(self, node) }
    }

    /// Waits for the lock, and holds it alone as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds or shares the lock, or would
    /// wait for a thread that waits for this one, directly or through other threads.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T, L> {
        let node = self.lock.acquire(self.named());
        // SAFETY: the lock was acquired with this node.
        unsafe { RwLockWriteGuard::new(self, node) }
    }

    /// Runs a function that reads the value, and returns its result.
    ///
    /// This saves what [`read`](Self::read) spends on memory for the queue node.
    ///
    /// # Panics
    ///
    /// Panics if the function does, and when [`read`](Self::read) does.
    #[inline]
    #[track_caller]
    pub fn with_read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        // SAFETY: we share the lock.
        self.lock.with_share(self.named(), || section(unsafe { &*self.value.get() }))
    }

    /// Runs a function that writes the value, and returns its result.
    ///
    /// This saves what [`write`](Self::write) spends on memory for the queue node.
    ///
    /// # Panics
    ///
    /// Panics if the function does, and when [`write`](Self::write) does.
    #[inline]
    #[track_caller]
    pub fn with_write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: we hold the lock alone.
        self.lock.with(self.named(), || section(unsafe { &mut *self.value.get() }))
    }
}

impl<T: ?Sized, L: TrySharedLock> RwLock<T, L> {
    /// Shares the lock if that needs no waiting; otherwise returns `None`.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T, L>> {
        let node = self.lock.try_share()?;
        // SAFETY: the lock is shared with this node.
        Some(unsafe { RwLockReadGuard::new(self, node) })
    }

    /// Takes the lock if no thread has it; otherwise returns `None`.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T, L>> {
        let node = self.lock.try_acquire()?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { RwLockWriteGuard::new(self, node) })
    }

    /// Whether a thread holds the lock or shares it. The answer may be outdated at once. Takes the
    /// lock for a moment if it is free.
    pub fn is_locked(&self) -> bool {
        self.try_write().is_none()
    }

    /// Whether a writer holds the lock, or waits for it and keeps new readers out. The answer may
    /// be outdated at once. Shares the lock for a moment if that needs no waiting.
    pub fn is_locked_exclusive(&self) -> bool {
        self.try_read().is_none()
    }
}

impl<T: ?Sized, L: TimedSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, for at most the given time.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock for writing. In all
    /// builds, if there are more readers than the lock can count;
    /// [`CompactRw`](crate::lock::CompactRw), and an [`Upgradable`](crate::lock::Upgradable) over
    /// it, return `None` instead.
    #[track_caller]
    pub fn try_read_for(&self, patience: Duration) -> Option<RwLockReadGuard<'_, T, L>> {
        self.try_read_until(after::<L::Memory>(patience))
    }

    /// Waits for a share of the lock until an `Instant`, or a time on the memory's clock.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_read_for`](Self::try_read_for).
    #[track_caller]
    pub fn try_read_until(
        &self,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<RwLockReadGuard<'_, T, L>> {
        let node = self.lock.share_until(deadline.on_clock())?;
        // SAFETY: the lock is shared with this node.
        Some(unsafe { RwLockReadGuard::new(self, node) })
    }

    /// Waits for the lock, for at most the given time.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock for writing.
    #[track_caller]
    pub fn try_write_for(&self, patience: Duration) -> Option<RwLockWriteGuard<'_, T, L>> {
        self.try_write_until(after::<L::Memory>(patience))
    }

    /// Waits for the lock until an `Instant`, or a time on the memory's clock.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_write_for`](Self::try_write_for).
    #[track_caller]
    pub fn try_write_until(
        &self,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<RwLockWriteGuard<'_, T, L>> {
        let node = self.lock.acquire_until(deadline.on_clock())?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { RwLockWriteGuard::new(self, node) })
    }
}

impl<T: ?Sized + fmt::Debug, L: TrySharedLock> fmt::Debug for RwLock<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read() {
            Some(value) => text.field("data", &&*value),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.finish_non_exhaustive()
    }
}
