//! A value under a lock of the catalogue.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use bytemuck::Zeroable;

use crate::lock::{Gate, RawLock, TimedLock, TryLock};
use crate::memory::{Memory, Pooled};
use crate::owner::Owner;

/// A value that one thread at a time can reach, under the lock `L`.
///
/// ```
/// use syncline::Mutex;
/// use syncline::lock::Ticket;
///
/// static HITS: Mutex<u64, Ticket> = Mutex::new(0);
///
/// *HITS.lock() += 1;
/// HITS.with(|hits| *hits += 1);
/// assert_eq!(*HITS.lock(), 2);
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
/// let mutex = syncline::Mutex::<u64>::new(0);
/// let guard = mutex.lock();
/// drop(mutex);
/// drop(guard);
/// ```
///
/// ```compile_fail,E0382
/// let mutex = syncline::Mutex::<u64>::new(0);
/// let guard = mutex.lock();
/// drop(guard);
/// drop(guard);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized, L = Gate> {
    lock: L,
    owner: Owner,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time reach the value, which so moves between threads.
unsafe impl<T: ?Sized + Send, L: Sync> Sync for Mutex<T, L> {}
// SAFETY: a mutex owns its value.
unsafe impl<T: ?Sized + Send, L: Send> Send for Mutex<T, L> {}

impl<T, L: Zeroable> Mutex<T, L> {
    /// A free lock with this value under it, in native memory. In other memories use
    /// `Mutex::from`.
    pub const fn new(value: T) -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { lock, owner: Owner::nobody(), value: UnsafeCell::new(value) }
    }
}

impl<T, L: RawLock> From<T> for Mutex<T, L> {
    fn from(value: T) -> Self {
        Self { lock: L::default(), owner: Owner::nobody(), value: UnsafeCell::new(value) }
    }
}

impl<T, L> Mutex<T, L> {
    /// The value; nobody can hold the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, L> Mutex<T, L> {
    /// The value; nobody can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
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
    pub fn lock(&self) -> Guard<'_, T, L> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: a pooled node stays where it is until the guard drops it, and leaks with it.
        unsafe { self.lock.acquire(&node) };
        self.guard(node)
    }

    /// Runs a function while holding the lock, and returns what it returns.
    ///
    /// This saves what [`lock`](Self::lock) spends on a place for the queue node.
    ///
    /// # Panics
    ///
    /// As the function does, and as [`lock`](Self::lock).
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        self.owner.expect_another();
        let node = L::Node::default();
        // SAFETY: the node stays on this stack until `Release` has released.
        unsafe { self.lock.acquire(&node) };
        self.owner.set();
        let _release = Release { lock: &self.lock, owner: &self.owner, node: &node };
        // SAFETY: we hold the lock.
        section(unsafe { &mut *self.value.get() })
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock
    }

    #[inline]
    fn guard(&self, node: Pooled<L::Node, L::Memory>) -> Guard<'_, T, L> {
        self.owner.set();
        Guard { mutex: self, node, stays: PhantomData }
    }
}

impl<T: ?Sized, L: TryLock> Mutex<T, L> {
    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T, L>> {
        let node = Pooled::new();
        // SAFETY: as in `lock`.
        unsafe { self.lock.try_acquire(&node) }.then(|| self.guard(node))
    }
}

impl<T: ?Sized, L: TimedLock> Mutex<T, L> {
    /// Waits for the lock, but not longer than this.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock.
    #[track_caller]
    pub fn try_lock_for(&self, patience: Duration) -> Option<Guard<'_, T, L>> {
        self.owner.expect_another();
        let node = Pooled::new();
        let deadline = L::Memory::now().saturating_add(patience);
        // SAFETY: as in `lock`.
        unsafe { self.lock.acquire_until(&node, deadline) }.then(|| self.guard(node))
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

/// Releases a lock at the end of a function, also when it panics.
struct Release<'a, L: RawLock> {
    lock: &'a L,
    owner: &'a Owner,
    node: &'a L::Node,
}

impl<L: RawLock> Drop for Release<'_, L> {
    #[inline]
    fn drop(&mut self) {
        self.owner.clear();
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.release(self.node) };
    }
}

/// The right to reach a [`Mutex`]'s value, until dropped.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct Guard<'a, T: ?Sized, L: RawLock> {
    mutex: &'a Mutex<T, L>,
    node: Pooled<L::Node, L::Memory>,
    /// The thread that acquired also releases.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for Guard<'_, T, L> {}

impl<'a, T: ?Sized, L: RawLock> Guard<'a, T, L> {
    /// Releases the lock while a function runs, which gets the lock and the node to acquire it
    /// with, and must have acquired it when it returns.
    #[doc(hidden)]
    pub fn released<R>(&mut self, wait: impl FnOnce(&L, &L::Node) -> R) -> R {
        self.mutex.owner.clear();
        let result = wait(&self.mutex.lock, &self.node);
        self.mutex.owner.set();
        result
    }
}

impl<T: ?Sized, L: RawLock> Deref for Guard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for Guard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for Guard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.owner.clear();
        // SAFETY: the lock was acquired with this node.
        unsafe { self.mutex.lock.release(&self.node) };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for Guard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
