//! A value under a shared lock of the catalogue.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::time::Duration;

use bytemuck::Zeroable;

use crate::lock::{CompactRw, RawSharedLock, TimedSharedLock, TrySharedLock};
use crate::memory::{Memory, Pooled};
use crate::owner::Owner;

/// A value that several threads at a time can read, or one can write, under the lock `L`.
///
/// ```
/// use syncline::RwLock;
/// use syncline::lock::FairRw;
///
/// static NAMES: RwLock<Vec<&str>, FairRw> = RwLock::new(Vec::new());
///
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
/// let lock = syncline::RwLock::<u64>::new(0);
/// let guard = lock.read();
/// drop(lock);
/// drop(guard);
/// ```
#[derive(Default)]
pub struct RwLock<T: ?Sized, L = CompactRw> {
    lock: L,
    /// The writer.
    owner: Owner,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time write, from which the value so moves to others; or
// several threads read.
unsafe impl<T: ?Sized + Send + Sync, L: Sync> Sync for RwLock<T, L> {}
// SAFETY: it owns its value.
unsafe impl<T: ?Sized + Send, L: Send> Send for RwLock<T, L> {}

impl<T, L: Zeroable> RwLock<T, L> {
    /// A free lock with this value under it, in native memory. In other memories use
    /// `RwLock::from`.
    pub const fn new(value: T) -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { lock, owner: Owner::nobody(), value: UnsafeCell::new(value) }
    }
}

impl<T, L: RawSharedLock> From<T> for RwLock<T, L> {
    fn from(value: T) -> Self {
        Self { lock: L::default(), owner: Owner::nobody(), value: UnsafeCell::new(value) }
    }
}

impl<T, L> RwLock<T, L> {
    /// The value; nobody can hold the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, L> RwLock<T, L> {
    /// The value; nobody can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized, L: RawSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, and keeps it as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock for writing; and if there are more readers
    /// than the lock can count, which is 524,287 for [`CompactRw`](crate::lock::CompactRw) and more than
    /// 200 million for the others. [`try_read`](Self::try_read) refuses then.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T, L> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: a pooled node stays where it is until the guard drops it, and leaks with it.
        unsafe { self.lock.acquire_shared(&node) };
        self.read_guard(node)
    }

    /// Waits for the lock, and holds it alone as long as the guard lives.
    ///
    /// # Panics
    ///
    /// In debug builds, if this thread holds the lock for writing.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T, L> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `read`.
        unsafe { self.lock.acquire(&node) };
        self.write_guard(node)
    }

    /// Runs a function that reads the value, and returns what it returns.
    ///
    /// This saves what [`read`](Self::read) spends on a place for the queue node.
    ///
    /// # Panics
    ///
    /// As the function does, and as [`read`](Self::read).
    #[inline]
    #[track_caller]
    pub fn with_read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        self.owner.expect_another();
        let node = L::SharedNode::default();
        // SAFETY: the node stays on this stack until it is released at the end.
        unsafe { self.lock.acquire_shared(&node) };
        // SAFETY: this share was acquired with this node.
        let _release = AtEnd(|| unsafe { self.lock.release_shared(&node) });
        // SAFETY: we share the lock.
        section(unsafe { &*self.value.get() })
    }

    /// Runs a function that writes the value, and returns what it returns.
    ///
    /// This saves what [`write`](Self::write) spends on a place for the queue node.
    ///
    /// # Panics
    ///
    /// As the function does, and as [`write`](Self::write).
    #[inline]
    #[track_caller]
    pub fn with_write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        self.owner.expect_another();
        let node = L::Node::default();
        // SAFETY: the node stays on this stack until it is released at the end.
        unsafe { self.lock.acquire(&node) };
        self.owner.set();
        let _release = AtEnd(|| {
            self.owner.clear();
            // SAFETY: the lock was acquired with this node.
            unsafe { self.lock.release(&node) };
        });
        // SAFETY: we hold the lock alone.
        section(unsafe { &mut *self.value.get() })
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock
    }

    #[inline]
    fn read_guard(&self, node: Pooled<L::SharedNode, L::Memory>) -> ReadGuard<'_, T, L> {
        // SAFETY: a cell's address is not null.
        let value = unsafe { NonNull::new_unchecked(self.value.get()) };
        ReadGuard { lock: &self.lock, value, node, shares: PhantomData }
    }

    #[inline]
    fn write_guard(&self, node: Pooled<L::Node, L::Memory>) -> WriteGuard<'_, T, L> {
        self.owner.set();
        WriteGuard { lock: self, node, stays: PhantomData }
    }
}

impl<T: ?Sized, L: TrySharedLock> RwLock<T, L> {
    /// Shares the lock if that needs no waiting.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T, L>> {
        let node = Pooled::new();
        // SAFETY: as in `read`.
        unsafe { self.lock.try_acquire_shared(&node) }.then(|| self.read_guard(node))
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T, L>> {
        let node = Pooled::new();
        // SAFETY: as in `read`.
        unsafe { self.lock.try_acquire(&node) }.then(|| self.write_guard(node))
    }
}

impl<T: ?Sized, L: TimedSharedLock> RwLock<T, L> {
    /// Waits for a share of the lock, but not longer than this.
    ///
    /// # Panics
    ///
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn try_read_for(&self, patience: Duration) -> Option<ReadGuard<'_, T, L>> {
        self.try_read_until(L::Memory::now().saturating_add(patience))
    }

    /// Waits for a share of the lock until a time on the memory's clock, [`Memory::now`].
    ///
    /// # Panics
    ///
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn try_read_until(&self, deadline: Duration) -> Option<ReadGuard<'_, T, L>> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `read`.
        unsafe { self.lock.acquire_shared_until(&node, deadline) }.then(|| self.read_guard(node))
    }

    /// Waits for the lock, but not longer than this.
    ///
    /// # Panics
    ///
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn try_write_for(&self, patience: Duration) -> Option<WriteGuard<'_, T, L>> {
        self.try_write_until(L::Memory::now().saturating_add(patience))
    }

    /// Waits for the lock until a time on the memory's clock, [`Memory::now`].
    ///
    /// # Panics
    ///
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn try_write_until(&self, deadline: Duration) -> Option<WriteGuard<'_, T, L>> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `read`.
        unsafe { self.lock.acquire_until(&node, deadline) }.then(|| self.write_guard(node))
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

/// Runs a function when dropped, also while a panic unwinds.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    #[inline]
    fn drop(&mut self) {
        self.0();
    }
}

/// The right to read a [`RwLock`]'s value, until dropped.
///
/// It stays with the thread that has acquired, which also releases. As a shared reference it is
/// covariant: a guard of a longer-lived type can be used as one of a shorter-lived.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct ReadGuard<'a, T: ?Sized, L: RawSharedLock> {
    lock: &'a L,
    /// Not a reference to the [`RwLock`], through which `T` could be written.
    value: NonNull<T>,
    node: Pooled<L::SharedNode, L::Memory>,
    shares: PhantomData<&'a T>,
}

/// The right to write a [`RwLock`]'s value, until dropped.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct WriteGuard<'a, T: ?Sized, L: RawSharedLock> {
    lock: &'a RwLock<T, L>,
    node: Pooled<L::Node, L::Memory>,
    /// The thread that acquired also releases.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: RawSharedLock> Sync for ReadGuard<'_, T, L> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync, L: RawSharedLock> Sync for WriteGuard<'_, T, L> {}

impl<T: ?Sized, L: RawSharedLock> Deref for ReadGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we share the lock.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Deref for WriteGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> DerefMut for WriteGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for ReadGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this share was acquired with this node.
        unsafe { self.lock.release_shared(&self.node) };
    }
}

impl<T: ?Sized, L: RawSharedLock> Drop for WriteGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        self.lock.owner.clear();
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.lock.release(&self.node) };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawSharedLock> fmt::Debug for ReadGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawSharedLock> fmt::Debug for WriteGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
