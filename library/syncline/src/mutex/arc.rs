//! A mutex's guard that keeps an `Arc` of its mutex, so it borrows nothing.

use alloc::sync::Arc;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use super::data::Mutex;
use crate::deadline::{Deadline, after};
use crate::lock::{Gate, RawLock, TimedLock, TryLock};
use crate::mapped::shown_as_its_value;
use crate::watched::Node;

/// The right to reach the value of a [`Mutex`] in an `Arc`, which the guard keeps alive.
///
/// Use it for guards that are stored in a structure. Like all guards, it can't be sent to another
/// thread. Dropping it releases the lock, with Release ordering, and then the `Arc`.
///
/// ```
/// use std::sync::Arc;
/// use syncline::{ArcMutexGuard, Mutex};
///
/// struct Session {
///     log: ArcMutexGuard<Vec<u32>>,
/// }
///
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let mut session = Session { log: log.lock_arc() };
/// session.log.push(7);
/// assert!(log.try_lock().is_none());
/// drop(session);
/// assert_eq!(*log.lock(), [7]);
/// ```
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct ArcMutexGuard<T: ?Sized, L: RawLock = Gate> {
    node: Node<L>,
    mutex: Arc<Mutex<T, L>>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value, and to the `Arc` of the mutex.
// So another thread may be the last to drop the mutex.
unsafe impl<T: ?Sized + Sync + Send, L: RawLock> Sync for ArcMutexGuard<T, L> {}

impl<T: ?Sized, L: RawLock> ArcMutexGuard<T, L> {
    fn new(mutex: &Arc<Mutex<T, L>>, node: Node<L>) -> Self {
        Self { node, mutex: Arc::clone(mutex), stays: PhantomData }
    }

    /// The mutex that this guard holds.
    pub fn mutex(guard: &Self) -> &Arc<Mutex<T, L>> {
        &guard.mutex
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Like [`lock`](Self::lock), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_arc(self: &Arc<Self>) -> ArcMutexGuard<T, L> {
        ArcMutexGuard::new(self, self.lock.acquire(self.named()))
    }
}

impl<T: ?Sized, L: TryLock> Mutex<T, L> {
    /// Like [`try_lock`](Self::try_lock), with a guard that keeps the `Arc`.
    #[track_caller]
    pub fn try_lock_arc(self: &Arc<Self>) -> Option<ArcMutexGuard<T, L>> {
        Some(ArcMutexGuard::new(self, self.lock.try_acquire()?))
    }
}

impl<T: ?Sized, L: TimedLock> Mutex<T, L> {
    /// Like [`try_lock_for`](Self::try_lock_for), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_arc_for(self: &Arc<Self>, patience: Duration) -> Option<ArcMutexGuard<T, L>> {
        self.try_lock_arc_until(after::<L::Memory>(patience))
    }

    /// Like [`try_lock_until`](Self::try_lock_until), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_arc_until(
        self: &Arc<Self>,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<ArcMutexGuard<T, L>> {
        Some(ArcMutexGuard::new(self, self.lock.acquire_until(deadline.on_clock())?))
    }
}

impl<T: ?Sized, L: RawLock> Deref for ArcMutexGuard<T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for ArcMutexGuard<T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for ArcMutexGuard<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.mutex.lock.release(&self.node) };
    }
}

shown_as_its_value!(ArcMutexGuard<T, L: RawLock>);
