//! A guard of a part of the value that a lock protects.
//!
//! The guard holds the whole lock, and gives no access to the rest of the value. It can't be used
//! with a condition variable: other threads could then change the whole value, and the part could
//! cease to exist. It can't be turned into a share either: if the part is inside an inner mutex,
//! other readers could change it.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::lock::{CompactRw, Gate, RawLock};
use crate::watched::{Node, Watched};

/// Takes the node out of a guard without dropping the guard: the lock stays held.
macro_rules! take_node {
    ($guard:expr) => {{
        let guard = core::mem::ManuallyDrop::new($guard);
        // SAFETY: the guard is not used any more, nor dropped.
        #[allow(unused_unsafe, reason = "used inside of unsafe blocks as well")]
        unsafe {
            core::ptr::read(&raw const guard.node)
        }
    }};
}

/// Implements `Debug` and `Display` for a guard, by those of its value.
macro_rules! shown_as_its_value {
    ($Guard:ident<$($lifetime:lifetime,)? T, L: $Lock:ident>) => {
        impl<T: ?Sized + core::fmt::Debug, L: $Lock> core::fmt::Debug for $Guard<$($lifetime,)? T, L> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + core::fmt::Display, L: $Lock> core::fmt::Display
            for $Guard<$($lifetime,)? T, L>
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
pub(crate) use {shown_as_its_value, take_node};

/// The right to reach a part of a [`Mutex`](crate::Mutex)'s value, until dropped.
///
/// [`MutexGuard::map`](crate::MutexGuard::map) and similar functions make this guard. Dropping the
/// guard releases the lock, with Release ordering.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct MappedMutexGuard<'a, T: ?Sized, L: RawLock = Gate> {
    lock: &'a Watched<L>,
    node: Node<L>,
    /// A pointer, because a reference would have to be valid until the end of `drop`, when the lock
    /// is already released.
    part: NonNull<T>,
    /// Makes the guard invariant in `T`, and `!Send`.
    writes: PhantomData<(&'a mut T, *const ())>,
}

/// The right to write a part of an [`RwLock`](crate::RwLock)'s value, until dropped. The type is
/// that of a mutex's guard, since both guards hold their lock alone.
pub type MappedRwLockWriteGuard<'a, T, L = CompactRw> = MappedMutexGuard<'a, T, L>;

// SAFETY: a shared guard gives out shared references to the part.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for MappedMutexGuard<'_, T, L> {}

impl<'a, T: ?Sized, L: RawLock> MappedMutexGuard<'a, T, L> {
    /// # Safety
    ///
    /// The lock is held with this node, and so protects the part for `'a`.
    pub(crate) unsafe fn new(lock: &'a Watched<L>, node: Node<L>, part: NonNull<T>) -> Self {
        Self { lock, node, part, writes: PhantomData }
    }

    /// A guard of a part of this part.
    ///
    /// ```
    /// use syncline::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let pairs = Mutex::new([(1, 'a'), (2, 'b')]);
    /// let second = MutexGuard::map(pairs.lock(), |pairs| &mut pairs[1]);
    /// let mut letter = MappedMutexGuard::map(second, |pair| &mut pair.1);
    /// *letter = 'c';
    /// drop(letter);
    /// assert_eq!(pairs.into_inner()[1], (2, 'c'));
    /// ```
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U, L> {
        let part = NonNull::from(part(&mut guard));
        guard.with_part(part)
    }

    /// A guard for a part of this part, or the unchanged guard if the function returns `None`.
    ///
    /// # Errors
    ///
    /// The guard, if the function returns `None`.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U, L>, Self> {
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
    ) -> Result<MappedMutexGuard<'a, U, L>, Self> {
        Self::filter_map(guard, part)
    }

    fn with_part<U: ?Sized>(self, part: NonNull<U>) -> MappedMutexGuard<'a, U, L> {
        let lock = self.lock;
        // SAFETY: the lock is held with this node, and the new part is within ours.
        unsafe { MappedMutexGuard::new(lock, take_node!(self), part) }
    }
}

impl<T: ?Sized, L: RawLock> Deref for MappedMutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock, which protects the part.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MappedMutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock alone, which protects the part.
        unsafe { self.part.as_mut() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MappedMutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.release(&self.node) };
    }
}

shown_as_its_value!(MappedMutexGuard<'_, T, L: RawLock>);
