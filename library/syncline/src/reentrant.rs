//! A mutex that its holder can lock again.
//!
//! Next to the lock are the number of its holder and a count of the holder's acquisitions. A thread
//! that finds its own number there holds the lock, since no other thread writes or erases that
//! number; so it only has to count. The value is reached through shared references only, since the
//! thread may have several guards.
//!
//! An acquisition outlives the guard that made it if another guard is dropped later, so no guard
//! can keep a queue node: only locks without nodes can be used, such as the default one.
//!
//! When not to use it: a function that locks what its caller holds finds the value in the middle of
//! its caller's change. If the caller passes on the guard of a [`Mutex`](crate::Mutex) instead, the
//! compiler sees that the function uses the guard.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::time::Duration;

use bytemuck::Zeroable;

use crate::deadline::{Deadline, after};
use crate::lock::{Gate, RawLock, TimedLock, TryLock};
use crate::mapped::shown_as_its_value;
use crate::memory::Native;
use crate::owner::{Mode, Named, Owner, is_this_thread, this_thread};

/// A lock without queue nodes, in native memory.
pub trait Nodeless: RawLock<Memory = Native, Node = ()> {}
impl<L: RawLock<Memory = Native, Node = ()>> Nodeless for L {}

/// A value that one thread at a time can reach. That thread can lock it again.
///
/// ```
/// use std::cell::Cell;
/// use syncline::ReentrantMutex;
///
/// let total = ReentrantMutex::new(Cell::new(0));
/// let outer = total.lock();
/// {
///     let inner = total.lock();
///     inner.set(inner.get() + 1);
/// }
/// assert_eq!(outer.get(), 1);
/// ```
///
/// The first locking has Acquire ordering, and dropping the last guard Release. There is no
/// poisoning. Locking panics if the holder has more guards than a `usize` can count, including
/// those that it has forgotten.
pub struct ReentrantMutex<T: ?Sized, L = Gate> {
    lock: L,
    /// The holder's number, or 0.
    owner: AtomicUsize,
    /// The number of guards that the holder has.
    depth: Cell<usize>,
    /// The holder as debug builds note it.
    noted: Owner,
    value: T,
}

// SAFETY: one thread at a time reaches the value and the depth, which move between threads that
// way.
unsafe impl<T: ?Sized + Send, L: Sync> Sync for ReentrantMutex<T, L> {}

impl<T> ReentrantMutex<T> {
    /// A free lock of the default kind with this value under it.
    pub const fn new(value: T) -> Self {
        Self::with_lock(value)
    }
}

impl<T, L: Zeroable> ReentrantMutex<T, L> {
    /// A free lock of any kind with this value under it.
    pub const fn with_lock(value: T) -> Self {
        // SAFETY: a lock of zeros is a free one.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            lock,
            owner: AtomicUsize::new(0),
            depth: Cell::new(0),
            noted: Owner::nobody(),
            value,
        }
    }
}

impl<T, L> ReentrantMutex<T, L> {
    /// The value. Ownership guarantees that no guard is left.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: ?Sized, L> ReentrantMutex<T, L> {
    /// The value. The exclusive reference guarantees that no guard is left.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Whether this thread holds the lock.
    pub fn is_owned_by_current_thread(&self) -> bool {
        is_this_thread(&self.owner)
    }
}

impl<T: ?Sized, L: Nodeless> ReentrantMutex<T, L> {
    /// Waits for the lock unless this thread holds it. The guard holds the lock as long as it
    /// lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread would wait for a thread that waits for this one, directly or
    /// through other threads.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T, L> {
        if !self.is_owned_by_current_thread() {
            let named = Named::new("ReentrantMutex", self, &raw const self.value);
            let waiting = self.noted.waits(Mode::Alone, named);
            // SAFETY: the lock needs no node.
            unsafe { self.lock.acquire(&()) };
            waiting.ends();
        }
        self.guard()
    }

    /// A guard for the thread that holds the lock.
    #[inline]
    #[track_caller]
    fn guard(&self) -> ReentrantMutexGuard<'_, T, L> {
        // Forgotten guards count as well, so this limit can be reached.
        let depth = self.depth.get().checked_add(1).expect("too many guards to count");
        self.depth.set(depth);
        // Relaxed: as in `is_this_thread`, which reads it.
        self.owner.store(this_thread(), Relaxed);
        if depth == 1 {
            self.noted.set();
        }
        ReentrantMutexGuard { mutex: self, stays: PhantomData }
    }
}

impl<T: ?Sized, L: Nodeless + TryLock> ReentrantMutex<T, L> {
    /// Takes the lock if it is free, or if this thread holds it; otherwise returns `None`.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T, L>> {
        // SAFETY: the lock needs no node.
        let held = self.is_owned_by_current_thread() || unsafe { self.lock.try_acquire(&()) };
        if held { Some(self.guard()) } else { None }
    }

    /// Whether a thread holds the lock. Unless that is this thread, the answer may be outdated at
    /// once. Takes the lock for a moment if it is free.
    pub fn is_locked(&self) -> bool {
        self.is_owned_by_current_thread() || self.try_lock().is_none()
    }
}

impl<T: ?Sized, L: Nodeless + TimedLock> ReentrantMutex<T, L> {
    /// Waits for the lock unless this thread holds it, for at most the given time.
    #[track_caller]
    pub fn try_lock_for(&self, patience: Duration) -> Option<ReentrantMutexGuard<'_, T, L>> {
        self.try_lock_until(after::<Native>(patience))
    }

    /// Waits for the lock unless this thread holds it, until an `Instant` or a time on the
    /// memory's clock.
    #[track_caller]
    pub fn try_lock_until(
        &self,
        deadline: impl Deadline<Native>,
    ) -> Option<ReentrantMutexGuard<'_, T, L>> {
        let held = self.is_owned_by_current_thread()
            // SAFETY: the lock needs no node.
            || unsafe { self.lock.acquire_until(&(), deadline.on_clock()) };
        if held { Some(self.guard()) } else { None }
    }
}

impl<T: Default> Default for ReentrantMutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for ReentrantMutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, L: Nodeless + TryLock> fmt::Debug for ReentrantMutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ReentrantMutex");
        match self.try_lock() {
            Some(value) => text.field("data", &&*value),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.finish_non_exhaustive()
    }
}

/// The right to reach a [`ReentrantMutex`]'s value, until dropped.
///
/// Dropping a thread's last guard releases the lock, with Release ordering.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct ReentrantMutexGuard<'a, T: ?Sized, L: Nodeless = Gate> {
    mutex: &'a ReentrantMutex<T, L>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: Nodeless> Sync for ReentrantMutexGuard<'_, T, L> {}

impl<T: ?Sized, L: Nodeless> Deref for ReentrantMutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.mutex.value
    }
}

impl<T: ?Sized, L: Nodeless> Drop for ReentrantMutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        let ReentrantMutex { lock, owner, depth, noted, .. } = self.mutex;
        depth.set(depth.get() - 1);
        if depth.get() == 0 {
            // Relaxed: as in `is_this_thread`, which reads it.
            owner.store(0, Relaxed);
            noted.clear();
            // SAFETY: this thread holds the lock, since it has had this guard.
            unsafe { lock.release(&()) };
        }
    }
}

shown_as_its_value!(ReentrantMutexGuard<'_, T, L: Nodeless>);
