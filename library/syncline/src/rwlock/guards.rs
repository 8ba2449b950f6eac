//! The guards of a reader-writer lock: a reader's, which shares the lock, and a writer's, which
//! holds it alone.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::data::RwLock;
use crate::lock::{CompactRw, Downgrade, RawSharedLock};
use crate::mapped::{MappedRwLockWriteGuard, shown_as_its_value, take_node};
use crate::memory::Pooled;
use crate::owner::Mode;
use crate::watched::{Node, SharedNode, Watched};

/// The right to read an [`RwLock`]'s value, or a part of it, until dropped.
///
/// Dropping the guard gives the share up, with Release ordering. A guard can't be sent to another
/// thread: the thread that acquired the share must release it. Like a shared reference, it is
/// covariant: a guard of a longer-lived type can be used as a guard of a shorter-lived one.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized, L: RawSharedLock = CompactRw> {
    lock: &'a Watched<L>,
    /// The value itself, not the [`RwLock`]: `T` could be written through an `RwLock`, so the guard
    /// would not be covariant.
    value: NonNull<T>,
    node: SharedNode<L>,
    shares: PhantomData<(&'a T, *const ())>,
}

/// The right to read a part of an [`RwLock`]'s value, until dropped. This is the type of the whole
/// value's guard, since that guard, too, allows nothing but reading.
pub type MappedRwLockReadGuard<'a, T, L = CompactRw> = RwLockReadGuard<'a, T, L>;

/// The right to write an [`RwLock`]'s value, until dropped.
///
/// Dropping the guard releases the lock, with Release ordering. A guard can't be sent to another
/// thread: the thread that acquired the lock must release it.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized, L: RawSharedLock = CompactRw> {
    pub(super) lock: &'a RwLock<T, L>,
    pub(super) node: Node<L>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: RawSharedLock> Sync for RwLockReadGuard<'_, T, L> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync, L: RawSharedLock> Sync for RwLockWriteGuard<'_, T, L> {}

impl<'a, T: ?Sized, L: RawSharedLock> RwLockReadGuard<'a, T, L> {
    /// # Safety
    ///
    /// The lock is shared with this node.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwLock<T, L>, node: SharedNode<L>) -> Self {
        // SAFETY: a cell's address is not null.
        let value = unsafe { NonNull::new_unchecked(lock.value.get()) };
        Self { lock: &lock.lock, value, node, shares: PhantomData }
    }

    /// A guard of a part of the value, with the same share.
    ///
    /// ```
    /// use syncline::{RwLock, RwLockReadGuard};
    ///
    /// let point = RwLock::new((1, 2));
    /// let x = RwLockReadGuard::map(point.read(), |point| &point.0);
    /// assert_eq!(*x, 1);
    /// ```
    pub fn map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> &U,
    ) -> MappedRwLockReadGuard<'a, U, L> {
        let part = NonNull::from(part(&guard));
        guard.with_part(part)
    }

    /// A guard for a part of the value, or the unchanged guard if the function returns `None`.
    ///
    /// # Errors
    ///
    /// The guard, if the function returns `None`.
    pub fn filter_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwLockReadGuard<'a, U, L>, Self> {
        match part(&guard).map(NonNull::from) {
            Some(part) => Ok(guard.with_part(part)),
            None => Err(guard),
        }
    }

    /// Another name of [`filter_map`](Self::filter_map), as in parking_lot.
    ///
    /// # Errors
    ///
    /// The guard, if the function returns `None`.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwLockReadGuard<'a, U, L>, Self> {
        Self::filter_map(guard, part)
    }

    fn with_part<U: ?Sized>(self, value: NonNull<U>) -> MappedRwLockReadGuard<'a, U, L> {
        let lock = self.lock;
        RwLockReadGuard { lock, value, node: take_node!(self), shares: PhantomData }
    }
}

impl<'a, T: ?Sized, L: RawSharedLock> RwLockWriteGuard<'a, T, L> {
    /// # Safety
    ///
    /// The lock is held with this node.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwLock<T, L>, node: Node<L>) -> Self {
        Self { lock, node, stays: PhantomData }
    }

    /// The lock that this guard holds.
    pub fn rwlock(guard: &Self) -> &'a RwLock<T, L> {
        guard.lock
    }

    /// A guard of a part of the value, which keeps the lock held.
    ///
    /// ```
    /// use syncline::{RwLock, RwLockWriteGuard};
    ///
    /// let point = RwLock::new((1, 2));
    /// *RwLockWriteGuard::map(point.write(), |point| &mut point.0) += 10;
    /// assert_eq!(*point.read(), (11, 2));
    /// ```
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U, L> {
        let part = NonNull::from(part(&mut guard));
        guard.with_part(part)
    }

    /// A guard for a part of the value, or the unchanged guard if the function returns `None`.
    ///
    /// # Errors
    ///
    /// The guard, if the function returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U, L>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(part) => Ok(guard.with_part(part)),
            None => Err(guard),
        }
    }

    /// Another name of [`filter_map`](Self::filter_map), as in parking_lot.
    ///
    /// # Errors
    ///
    /// The guard, if the function returns `None`.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U, L>, Self> {
        Self::filter_map(guard, part)
    }

    fn with_part<U: ?Sized>(self, part: NonNull<U>) -> MappedRwLockWriteGuard<'a, U, L> {
        let lock = &self.lock.lock;
        // SAFETY: the lock is held with this node, and protects the part with the whole.
        unsafe { MappedRwLockWriteGuard::new(lock, take_node!(self), part) }
    }
}

impl<'a, T: ?Sized, L: Downgrade> RwLockWriteGuard<'a, T, L> {
    /// Turns the guard into a reader's. No thread writes in between, and the call never waits. What
    /// was written is visible to all threads that read from now on: Release ordering.
    ///
    /// ```
    /// use syncline::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write();
    /// *writer += 1;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, lock.try_read().as_deref()), (2, Some(&2)));
    /// ```
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T, L> {
        let lock = guard.lock;
        let (node, share) = (take_node!(guard), Pooled::new());
        lock.lock.ends();
        // SAFETY: the lock was acquired with this node; pooled nodes stay until their guard ends.
        unsafe {
            lock.raw().downgrade(&node, &share);
            lock.lock.owner.share(Mode::Shared);
            RwLockReadGuard::new(lock, share)
        }
    }
}

impl<T: ?Sized, L: RawSharedLock> Deref for RwLockReadGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we share the lock.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Deref for RwLockWriteGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> DerefMut for RwLockWriteGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for RwLockReadGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this share was acquired with this node.
        unsafe { self.lock.release_shared(&self.node) };
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for RwLockWriteGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.lock.release(&self.node) };
    }
}

shown_as_its_value!(RwLockReadGuard<'_, T, L: RawSharedLock>);
shown_as_its_value!(RwLockWriteGuard<'_, T, L: RawSharedLock>);
