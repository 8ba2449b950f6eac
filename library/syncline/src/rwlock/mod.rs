//! A value under a shared lock of the catalogue.

mod arc;
mod guards;
mod upgradable;

pub use arc::{ArcRwLockReadGuard, ArcRwLockWriteGuard};
pub use guards::{MappedRwLockReadGuard, RwLockReadGuard, RwLockWriteGuard};
pub use upgradable::RwLockUpgradableReadGuard;

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::time::Duration;

use bytemuck::Zeroable;

use crate::deadline::{Deadline, after};
use crate::lock::{CompactRw, RawSharedLock, TimedSharedLock, TrySharedLock};
use crate::watched::Watched;

/// A value that several threads at a time can read, or one can write, under the lock `L`.
///
/// ```
/// use syncline::RwLock;
/// use syncline::lock::FairRw;
///
/// static LIMIT: RwLock<u32> = RwLock::new(5);
/// static NAMES: RwLock<Vec<&str>, FairRw> = RwLock::with_lock(Vec::new());
///
/// *LIMIT.write() += 1;
/// assert_eq!(*LIMIT.read(), 6);
/// NAMES.write().push("ticket");
/// NAMES.with_write(|names| names.push("mcs"));
/// assert_eq!(NAMES.read().len(), 2);
/// assert_eq!(NAMES.with_read(|names| names[1]), "mcs");
/// ```
///
/// Locking has Acquire ordering, and dropping a guard Release: a writer sees what all earlier
/// ones wrote, and comes after all that earlier readers did. There is no poisoning: a panic
/// releases the lock, and the next one finds the value as the panic left it.
///
/// A thread that locks again what it holds may wait forever. With a lock that lets waiting
/// writers go before new readers this is so for two shares, too. Debug builds panic if a thread
/// locks what it holds for writing.
///
/// What isn't held can't be released, since that takes a guard; and what is held can't be dropped:
///
/// ```compile_fail,E0505
/// let lock = syncline::RwLock::new(0);
/// let guard = lock.read();
/// drop(lock);
/// drop(guard);
/// ```
#[derive(Default)]
pub struct RwLock<T: ?Sized, L = CompactRw> {
    /// Its owner is the writer.
    lock: Watched<L>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time write, from which the value thus moves to others; or
// several threads read.
unsafe impl<T: ?Sized + Send + Sync, L: Sync> Sync for RwLock<T, L> {}
// SAFETY: it owns its value.
unsafe impl<T: ?Sized + Send, L: Send> Send for RwLock<T, L> {}

impl<T> RwLock<T> {
    /// A free lock of the default kind with this value under it.
    ///
    /// ```
    /// let lock = syncline::RwLock::new(5);
    /// assert_eq!(*lock.read(), 5);
    /// ```
    pub const fn new(value: T) -> Self {
        Self::with_lock(value)
    }
}

impl<T, L: Zeroable> RwLock<T, L> {
    /// A free lock of any kind, in native memory, with this value under it. Which kind is up to
    /// the type:
    ///
    /// ```
    /// use syncline::RwLock;
    /// use syncline::lock::Upgradable;
    ///
    /// let lock = RwLock::<_, Upgradable>::with_lock(5);
    /// assert_eq!(*lock.read(), 5);
    /// ```
    pub const fn with_lock(value: T) -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        Self::from_raw(unsafe { MaybeUninit::zeroed().assume_init() }, value)
    }
}

impl<T, L> RwLock<T, L> {
    /// This lock with a value under it: for locks of other memories than the native one, and for
    /// code that works with any lock, whose fresh one is `L::default()`.
    pub const fn from_raw(lock: L, value: T) -> Self {
        Self { lock: Watched::new(lock), value: UnsafeCell::new(value) }
    }

    /// The value; nobody can hold the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// Like [`RwLock::new`].
impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized, L> RwLock<T, L> {
    /// The value; nobody can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The address of the value. Using it takes a guard, or another proof that no other thread
    /// writes.
    pub const fn data_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock.lock
    }
}

impl<T: ?Sized, L: RawSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, and keeps it as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock for writing; and if there are more readers
    /// than the lock can count, which is 524,287 for [`CompactRw`] and more than 200 million for
    /// the others. [`try_read`](Self::try_read) refuses then.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T, L> {
        let node = self.lock.share();
        // SAFETY: the lock is shared with this node.
        unsafe { RwLockReadGuard::new(self, node) }
    }

    /// Waits for the lock, and holds it alone as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock for writing.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T, L> {
        let node = self.lock.acquire();
        // SAFETY: the lock was acquired with this node.
        unsafe { RwLockWriteGuard::new(self, node) }
    }

    /// Runs a function that reads the value, and returns what it returns.
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
        self.lock.with_share(|| section(unsafe { &*self.value.get() }))
    }

    /// Runs a function that writes the value, and returns what it returns.
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
        self.lock.with(|| section(unsafe { &mut *self.value.get() }))
    }
}

impl<T: ?Sized, L: TrySharedLock> RwLock<T, L> {
    /// Shares the lock if that needs no waiting.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T, L>> {
        let node = self.lock.try_share()?;
        // SAFETY: the lock is shared with this node.
        Some(unsafe { RwLockReadGuard::new(self, node) })
    }

    /// Takes the lock if no thread has it.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T, L>> {
        let node = self.lock.try_acquire()?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { RwLockWriteGuard::new(self, node) })
    }

    /// Whether a thread holds the lock or shares it; outdated at once. Takes the lock for a moment
    /// if it is free.
    pub fn is_locked(&self) -> bool {
        self.try_write().is_none()
    }

    /// Whether a thread holds the lock alone, or waits to and keeps readers out; outdated at once.
    /// Shares the lock for a moment if that needs no waiting.
    pub fn is_locked_exclusive(&self) -> bool {
        self.try_read().is_none()
    }
}

impl<T: ?Sized, L: TimedSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, but not longer than this.
    ///
    /// # Panics
    ///
    /// Same panics as [`read`](Self::read).
    #[track_caller]
    pub fn try_read_for(&self, patience: Duration) -> Option<RwLockReadGuard<'_, T, L>> {
        self.try_read_until(after::<L::Memory>(patience))
    }

    /// Waits for a share of the lock until an `Instant`, or a time on the memory's clock.
    ///
    /// # Panics
    ///
    /// Same panics as [`read`](Self::read).
    #[track_caller]
    pub fn try_read_until(
        &self,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<RwLockReadGuard<'_, T, L>> {
        let node = self.lock.share_until(deadline.on_clock())?;
        // SAFETY: the lock is shared with this node.
        Some(unsafe { RwLockReadGuard::new(self, node) })
    }

    /// Waits for the lock, but not longer than this.
    ///
    /// # Panics
    ///
    /// Same panics as [`write`](Self::write).
    #[track_caller]
    pub fn try_write_for(&self, patience: Duration) -> Option<RwLockWriteGuard<'_, T, L>> {
        self.try_write_until(after::<L::Memory>(patience))
    }

    /// Waits for the lock until an `Instant`, or a time on the memory's clock.
    ///
    /// # Panics
    ///
    /// Same panics as [`write`](Self::write).
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
