//! A value under a lock of the catalogue.

mod arc;
mod guard;

pub use arc::ArcMutexGuard;
pub use guard::MutexGuard;

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::time::Duration;

use bytemuck::Zeroable;

use crate::deadline::{Deadline, after};
use crate::lock::{Gate, RawLock, TimedLock, TryLock};
use crate::watched::Watched;

/// A value that one thread at a time can reach, under the lock `L`.
///
/// ```
/// use syncline::Mutex;
/// use syncline::lock::Ticket;
///
/// static HITS: Mutex<u64> = Mutex::new(0);
/// static ORDERS: Mutex<u64, Ticket> = Mutex::with_lock(0);
///
/// *HITS.lock() += 1;
/// HITS.with(|hits| *hits += 1);
/// ORDERS.with(|orders| *orders += 1);
/// assert_eq!(*HITS.lock() + *ORDERS.lock(), 3);
/// ```
///
/// Locking has Acquire ordering, and dropping the guard Release. There is no poisoning: a panic
/// releases the lock, and the next holder finds the value as the panic left it. A thread that
/// locks again what it holds waits forever; debug builds panic instead.
///
/// What isn't held can't be released, since that takes the guard; and what is held can't be
/// dropped:
///
/// ```compile_fail,E0505
/// let mutex = syncline::Mutex::new(0);
/// let guard = mutex.lock();
/// drop(mutex);
/// drop(guard);
/// ```
///
/// ```compile_fail,E0382
/// let mutex = syncline::Mutex::new(0);
/// let guard = mutex.lock();
/// drop(guard);
/// drop(guard);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized, L = Gate> {
    lock: Watched<L>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time reach the value, which so moves between threads.
unsafe impl<T: ?Sized + Send, L: Sync> Sync for Mutex<T, L> {}
// SAFETY: a mutex owns its value.
unsafe impl<T: ?Sized + Send, L: Send> Send for Mutex<T, L> {}

impl<T> Mutex<T> {
    /// A free lock of the default kind with this value under it.
    ///
    /// ```
    /// let mutex = syncline::Mutex::new(5);
    /// assert_eq!(*mutex.lock(), 5);
    /// ```
    pub const fn new(value: T) -> Self {
        Self::with_lock(value)
    }
}

impl<T, L: Zeroable> Mutex<T, L> {
    /// A free lock of any kind, in native memory, with this value under it. The type decides which
    /// kind:
    ///
    /// ```
    /// use syncline::Mutex;
    /// use syncline::lock::Mcs;
    ///
    /// let mutex = Mutex::<_, Mcs>::with_lock(5);
    /// assert_eq!(*mutex.lock(), 5);
    /// ```
    pub const fn with_lock(value: T) -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        Self::from_raw(unsafe { MaybeUninit::zeroed().assume_init() }, value)
    }
}

impl<T, L> Mutex<T, L> {
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

/// Like [`Mutex::new`].
impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized, L> Mutex<T, L> {
    /// The value; nobody can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The address of the value. Using it takes a guard, or another proof that no other thread
    /// does.
    pub const fn data_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock.lock
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Waits for the lock, and holds it as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T, L> {
        let node = self.lock.acquire();
        // SAFETY: the lock was acquired with this node.
        unsafe { MutexGuard::new(self, node) }
    }

    /// Runs a function while holding the lock, and returns what it returns.
    ///
    /// This saves the cost of [`lock`](Self::lock) for memory for the queue node.
    ///
    /// # Panics
    ///
    /// Panics if the function does, and when [`lock`](Self::lock) does.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: we hold the lock.
        self.lock.with(|| section(unsafe { &mut *self.value.get() }))
    }
}

impl<T: ?Sized, L: TryLock> Mutex<T, L> {
    /// Takes the lock if it is free.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>> {
        let node = self.lock.try_acquire()?;
        // SAFETY: the lock was acquired with this node.
        Some(unsafe { MutexGuard::new(self, node) })
    }

    /// Whether a thread holds the lock; outdated at once. Takes the lock for a moment if it is
    /// free.
    pub fn is_locked(&self) -> bool {
        self.try_lock().is_none()
    }
}

impl<T: ?Sized, L: TimedLock> Mutex<T, L> {
    /// Waits for the lock, but not longer than this. A free lock is taken in any case.
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
    /// In debug builds, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_for(&self, patience: Duration) -> Option<MutexGuard<'_, T, L>> {
        self.try_lock_until(after::<L::Memory>(patience))
    }

    /// Waits for the lock until an `Instant`, or a time on the memory's clock. A free lock is
    /// taken in any case.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock.
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
