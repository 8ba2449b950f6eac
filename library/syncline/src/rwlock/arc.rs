//! Guards that keep an `Arc` of their reader-writer lock, and so borrow nothing.

use alloc::sync::Arc;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use super::data::RwLock;
use crate::deadline::{Deadline, after};
use crate::lock::{CompactRw, RawSharedLock, TimedSharedLock, TrySharedLock};
use crate::mapped::shown_as_its_value;
use crate::watched::{Node, SharedNode};

/// The right to read the value of an [`RwLock`] in an `Arc`, which the guard keeps alive.
///
/// ```
/// use std::sync::Arc;
/// use syncline::RwLock;
///
/// let lock = Arc::new(RwLock::new(5));
/// let reader = lock.read_arc();
/// drop(lock);
/// assert_eq!(*reader, 5);
/// ```
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct ArcRwLockReadGuard<T: ?Sized, L: RawSharedLock = CompactRw> {
    node: SharedNode<L>,
    lock: Arc<RwLock<T, L>>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

/// The right to write the value of an [`RwLock`] in an `Arc`, which the guard keeps alive.
///
/// ```
/// use std::sync::Arc;
/// use syncline::RwLock;
///
/// let lock = Arc::new(RwLock::new(5));
/// *lock.write_arc() += 1;
/// assert_eq!(*lock.read(), 6);
/// ```
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct ArcRwLockWriteGuard<T: ?Sized, L: RawSharedLock = CompactRw> {
    node: Node<L>,
    lock: Arc<RwLock<T, L>>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value and to the lock's `Arc`; so
// another thread may be the one that drops the lock.
unsafe impl<T: ?Sized + Sync + Send, L: RawSharedLock> Sync for ArcRwLockReadGuard<T, L> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send, L: RawSharedLock> Sync for ArcRwLockWriteGuard<T, L> {}

impl<T: ?Sized, L: RawSharedLock> ArcRwLockReadGuard<T, L> {
    fn new(lock: &Arc<RwLock<T, L>>, node: SharedNode<L>) -> Self {
        Self { node, lock: Arc::clone(lock), stays: PhantomData }
    }

    /// The lock that this guard shares.
    pub fn rwlock(guard: &Self) -> &Arc<RwLock<T, L>> {
        &guard.lock
    }
}

impl<T: ?Sized, L: RawSharedLock> ArcRwLockWriteGuard<T, L> {
    fn new(lock: &Arc<RwLock<T, L>>, node: Node<L>) -> Self {
        Self { node, lock: Arc::clone(lock), stays: PhantomData }
    }

    /// The lock that this guard holds.
    pub fn rwlock(guard: &Self) -> &Arc<RwLock<T, L>> {
        &guard.lock
    }
}

impl<T: ?Sized, L: RawSharedLock> RwLock<T, L> {
    /// Like [`read`](Self::read), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`read`](Self::read).
    #[track_caller]
    pub fn read_arc(self: &Arc<Self>) -> ArcRwLockReadGuard<T, L> {
        ArcRwLockReadGuard::new(self, self.lock.share(self.named()))
    }

    /// Like [`write`](Self::write), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`write`](Self::write).
    #[track_caller]
    pub fn write_arc(self: &Arc<Self>) -> ArcRwLockWriteGuard<T, L> {
        ArcRwLockWriteGuard::new(self, self.lock.acquire(self.named()))
    }
}

impl<T: ?Sized, L: TrySharedLock> RwLock<T, L> {
    /// Like [`try_read`](Self::try_read), with a guard that keeps the `Arc`.
    #[track_caller]
    pub fn try_read_arc(self: &Arc<Self>) -> Option<ArcRwLockReadGuard<T, L>> {
        Some(ArcRwLockReadGuard::new(self, self.lock.try_share()?))
    }

    /// Like [`try_write`](Self::try_write), with a guard that keeps the `Arc`.
    #[track_caller]
    pub fn try_write_arc(self: &Arc<Self>) -> Option<ArcRwLockWriteGuard<T, L>> {
        Some(ArcRwLockWriteGuard::new(self, self.lock.try_acquire()?))
    }
}

impl<T: ?Sized, L: TimedSharedLock> RwLock<T, L> {
    /// Like [`try_read_for`](Self::try_read_for), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_read_for`](RwLock::try_read_for).
    #[track_caller]
    pub fn try_read_arc_for(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Option<ArcRwLockReadGuard<T, L>> {
        self.try_read_arc_until(after::<L::Memory>(patience))
    }

    /// Like [`try_read_until`](Self::try_read_until), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_read_for`](RwLock::try_read_for).
    #[track_caller]
    pub fn try_read_arc_until(
        self: &Arc<Self>,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<ArcRwLockReadGuard<T, L>> {
        Some(ArcRwLockReadGuard::new(self, self.lock.share_until(deadline.on_clock())?))
    }

    /// Like [`try_write_for`](Self::try_write_for), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_write_for`](RwLock::try_write_for).
    #[track_caller]
    pub fn try_write_arc_for(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Option<ArcRwLockWriteGuard<T, L>> {
        self.try_write_arc_until(after::<L::Memory>(patience))
    }

    /// Like [`try_write_until`](Self::try_write_until), with a guard that keeps the `Arc`.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_write_for`](RwLock::try_write_for).
    #[track_caller]
    pub fn try_write_arc_until(
        self: &Arc<Self>,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<ArcRwLockWriteGuard<T, L>> {
        Some(ArcRwLockWriteGuard::new(self, self.lock.acquire_until(deadline.on_clock())?))
    }
}

impl<T: ?Sized, L: RawSharedLock> Deref for ArcRwLockReadGuard<T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we share the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Deref for ArcRwLockWriteGuard<T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> DerefMut for ArcRwLockWriteGuard<T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for ArcRwLockReadGuard<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this share was acquired with this node.
        unsafe { self.lock.lock.release_shared(&self.node) };
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for ArcRwLockWriteGuard<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.lock.release(&self.node) };
    }
}

shown_as_its_value!(ArcRwLockReadGuard<T, L: RawSharedLock>);
shown_as_its_value!(ArcRwLockWriteGuard<T, L: RawSharedLock>);
