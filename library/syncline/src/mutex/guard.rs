//! The guard of a mutex. It keeps the acquisition's node, and gives access to the value.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::Location;
use core::ptr::NonNull;

use super::data::Mutex;
use crate::lock::{Gate, RawLock};
use crate::mapped::{MappedMutexGuard, shown_as_its_value, take_node};
use crate::owner::{Mode, Waiting};
use crate::watched::Node;

/// The right to reach a [`Mutex`]'s value, until dropped.
///
/// Dropping the guard releases the lock, with Release ordering. A guard can't be sent to another
/// thread: the thread that acquired the lock must release it. Forgetting a guard leaves the lock
/// held.
///
/// ```
/// use syncline::Mutex;
///
/// let names = Mutex::new(vec!["first"]);
/// let mut guard = names.lock();
/// guard.push("second");
/// assert_eq!(guard.len(), 2);
/// drop(guard);
/// assert!(!names.is_locked());
/// ```
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized, L: RawLock = Gate> {
    mutex: &'a Mutex<T, L>,
    node: Node<L>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for MutexGuard<'_, T, L> {}

impl<'a, T: ?Sized, L: RawLock> MutexGuard<'a, T, L> {
    /// # Safety
    ///
    /// The lock is held with this node.
    #[inline]
    pub(super) unsafe fn new(mutex: &'a Mutex<T, L>, node: Node<L>) -> Self {
        Self { mutex, node, stays: PhantomData }
    }

    /// The mutex that this guard holds.
    pub fn mutex(guard: &Self) -> &'a Mutex<T, L> {
        guard.mutex
    }

    /// A guard for a part of the value; the lock stays held.
    ///
    /// ```
    /// use syncline::{Mutex, MutexGuard};
    ///
    /// let point = Mutex::new((1, 2));
    /// let mut x = MutexGuard::map(point.lock(), |point| &mut point.0);
    /// *x += 10;
    /// drop(x);
    /// assert_eq!(*point.lock(), (11, 2));
    /// ```
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U, L> {
        let part = NonNull::from(part(&mut guard));
        guard.with_part(part)
    }

    /// A guard for a part of the value, or the unchanged guard if the function returns `None`.
    ///
    /// ```
    /// use syncline::{Mutex, MutexGuard};
    ///
    /// let queue = Mutex::new(vec![7]);
    /// match MutexGuard::filter_map(queue.lock(), |queue| queue.last_mut()) {
    ///     Ok(mut last) => *last += 1,
    ///     Err(mut queue) => queue.push(1),
    /// }
    /// assert_eq!(*queue.lock(), [8]);
    /// ```
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

    /// Another name for [`filter_map`](Self::filter_map), as in parking_lot.
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
        let lock = &self.mutex.lock;
        // SAFETY: the lock is held with this node, and protects the whole value, so the part as
        // well.
        unsafe { MappedMutexGuard::new(lock, take_node!(self), part) }
    }

    /// Releases the lock while a function runs, and then acquires it again, even after a panic.
    ///
    /// Other threads may have changed the value meanwhile.
    ///
    /// ```
    /// use syncline::{Mutex, MutexGuard};
    ///
    /// let turns = Mutex::new(0);
    /// let mut guard = turns.lock();
    /// MutexGuard::unlocked(&mut guard, || *turns.lock() += 1);
    /// assert_eq!(*guard, 1);
    /// ```
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn unlocked<R>(guard: &mut Self, section: impl FnOnce() -> R) -> R {
        let Self { mutex, node, .. } = guard;
        let _owned = OwnedAgain(mutex);
        mutex.lock.ends();
        // SAFETY: the guard holds the lock with this node.
        unsafe { mutex.lock.lock.release(node) };
        let _again = Again { mutex, node, since: Location::caller() };
        section()
    }

    /// Notes that this thread's section ends, and calls a function with the lock and its node. The
    /// function releases the lock, then does nothing but wait, and must have acquired the lock again
    /// with that node when it returns or panics. The whole call counts as a wait for the lock, since
    /// this thread can't continue without the lock.
    #[doc(hidden)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn rests<R>(&mut self, wait: impl FnOnce(&L, &L::Node) -> R) -> R {
        let Self { mutex, node, .. } = self;
        let _again = OwnedAgain(mutex);
        mutex.lock.ends();
        let waiting = mutex.waits_again(Location::caller());
        let result = wait(&mutex.lock.lock, node);
        waiting.ends();
        result
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Notes that this thread waits to acquire the lock again. It looks for no cycle: a guard must
    /// hold its lock, so the wait can't end by a panic.
    fn waits_again(&self, since: &'static Location<'static>) -> Waiting {
        self.lock.owner.waits_unchecked(Mode::Alone, self.named(), since)
    }
}

/// When dropped, acquires the lock again with the guard's node.
struct Again<'g, T: ?Sized, L: RawLock> {
    mutex: &'g Mutex<T, L>,
    node: &'g L::Node,
    /// The line that waits for the lock.
    since: &'static Location<'static>,
}

impl<T: ?Sized, L: RawLock> Drop for Again<'_, T, L> {
    fn drop(&mut self) {
        let waiting = self.mutex.waits_again(self.since);
        // SAFETY: the guard's node is free since the release, and stays with the guard.
        unsafe { self.mutex.lock.lock.acquire(self.node) };
        waiting.ends();
    }
}

/// When dropped, notes that this thread holds the lock again.
struct OwnedAgain<'a, T: ?Sized, L: RawLock>(&'a Mutex<T, L>);

impl<T: ?Sized, L: RawLock> Drop for OwnedAgain<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        self.0.lock.begins_again();
    }
}

impl<T: ?Sized, L: RawLock> Deref for MutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.mutex.lock.release(&self.node) };
    }
}

shown_as_its_value!(MutexGuard<'_, T, L: RawLock>);
