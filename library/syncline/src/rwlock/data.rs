//! A reader-writer lock itself, and the value under it.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use bytemuck::Zeroable;

use crate::lock::CompactRw;
use crate::owner::Named;
use crate::watched::Watched;

/// A value under the lock `L`: several threads can read it at a time, or one thread can write it.
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
/// writers wrote, and is ordered after all that earlier readers did. There is no poisoning: a panic
/// releases the lock, and the next thread finds the value as the panic left it.
///
/// A thread that locks again a lock that it holds may wait forever. If the lock lets waiting
/// writers go before new readers, the thread may wait forever even if it locks for reading both
/// times. Debug builds with the feature `std` panic if a thread that holds a lock for writing locks
/// it again, if a thread that reads a lock locks it for writing, or if a thread would wait for
/// threads that wait for this thread.
///
/// A lock that isn't held can't be released, since releasing it requires a guard; and a lock that
/// is held can't be dropped:
///
/// ```compile_fail,E0505
/// let lock = syncline::RwLock::new(0);
/// let guard = lock.read();
/// drop(lock);
/// drop(guard);
/// ```
#[derive(Default)]
pub struct RwLock<T: ?Sized, L = CompactRw> {
    pub(super) lock: Watched<L>,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the lock lets either one thread write, so that the value moves between threads, or
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
    /// A free lock of any kind, in native memory, with this value under it. The type decides which
    /// kind:
    ///
    /// ```
    /// use syncline::RwLock;
    /// use syncline::lock::Upgradable;
    ///
    /// let lock = RwLock::<_, Upgradable>::with_lock(5);
    /// assert_eq!(*lock.read(), 5);
    /// ```
    pub const fn with_lock(value: T) -> Self {
        // SAFETY: a lock of zeros is a free one.
        Self::from_raw(unsafe { MaybeUninit::zeroed().assume_init() }, value)
    }
}

impl<T, L> RwLock<T, L> {
    /// The given lock, with a value under it.
    ///
    /// For locks in memories other than the native one, and for generic code, which makes its lock
    /// with `L::default()`.
    pub const fn from_raw(lock: L, value: T) -> Self {
        Self { lock: Watched::new(lock), value: UnsafeCell::new(value) }
    }

    /// The value. Ownership guarantees that no guard is left.
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
    /// The value. The exclusive reference guarantees that no guard is left.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The address of the value. Reading through it requires a guard, or another guarantee that no
    /// other thread writes; writing requires the guard of a writer, or another guarantee that no
    /// other thread reads or writes.
    pub const fn data_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock.lock
    }

    /// This lock as messages name it.
    #[inline(always)]
    pub(super) fn named(&self) -> Named {
        Named::new("RwLock", self, self.data_ptr())
    }
}
