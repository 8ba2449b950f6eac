//! The type of a mutex: a lock, and the value under it.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use bytemuck::Zeroable;

use crate::lock::Gate;
use crate::owner::Named;
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
/// Locking has Acquire ordering, and dropping the guard has Release ordering. There is no
/// poisoning: a panic releases the lock, and the next holder finds the value as the panic left it.
/// A thread that locks a mutex that it holds waits forever, and so do threads that wait for each
/// other. Debug builds with the feature `std` panic instead. The message has the line where the
/// lock was acquired; if several threads wait for each other, it names the threads, the locks and
/// the lines.
///
/// A lock that isn't held can't be released, since releasing it requires the guard. A lock that is
/// held can't be dropped:
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
    pub(super) lock: Watched<L>,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time reach the value, so the value moves from thread to
// thread.
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
        // SAFETY: a lock of zeros is a free one.
        Self::from_raw(unsafe { MaybeUninit::zeroed().assume_init() }, value)
    }
}

impl<T, L> Mutex<T, L> {
    /// The given lock, with a value under it. Used for locks in memories other than the native one,
    /// and by generic code, which creates its lock with `L::default()`.
    pub const fn from_raw(lock: L, value: T) -> Self {
        Self { lock: Watched::new(lock), value: UnsafeCell::new(value) }
    }

    /// The value. Ownership guarantees that no guard is left.
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
    /// The value. The exclusive reference guarantees that no guard is left.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The address of the value. Dereferencing it requires a guard, or another guarantee that no
    /// other thread accesses the value.
    pub const fn data_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// The lock itself, to acquire it without a guard.
    pub fn raw(&self) -> &L {
        &self.lock.lock
    }

    /// The name that messages have for this mutex.
    #[inline(always)]
    pub(super) fn named(&self) -> Named {
        Named::new("Mutex", self, self.data_ptr())
    }
}
