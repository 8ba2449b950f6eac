//! A condition variable that works with every lock of the catalogue.
//!
//! Each notification of waiters changes a sequence number, on which waiters sleep. A waiter reads
//! the number while it holds the lock, and sleeps only while the number is still the same. So a
//! notification between the waiter's release of the lock and its sleep is not lost. A thread that
//! doesn't wait yet is not notified, and a notification without waiters only reads one word.
//!
//! A waiter may wake spuriously, and when it wakes, the condition may no longer hold: check it in a
//! loop, or use [`Condvar::wait_while`].

use core::fmt;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use bytemuck::Zeroable;

use crate::deadline::Deadline;
use crate::lock::RawLock;
use crate::memory::{Memory, Native, Word};
use crate::mutex::MutexGuard;

/// A condition variable.
///
/// ```
/// use syncline::{Condvar, Mutex};
///
/// static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// static FILLED: Condvar = Condvar::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let mut queue = QUEUE.lock();
///         FILLED.wait_while(&mut queue, |queue| queue.is_empty());
///         assert_eq!(queue.pop(), Some(7));
///     });
///     QUEUE.lock().push(7);
///     FILLED.notify_one();
/// });
/// ```
#[derive(Default)]
#[repr(C)]
pub struct Condvar<M: Memory = Native> {
    /// Changed by each notification while a thread waits.
    sequence: M::Word,
    /// How many threads wait, or are about to.
    waiters: M::Word,
}

// SAFETY: two words, so it may be zero when its words may.
unsafe impl<M: Memory<Word: Zeroable>> Zeroable for Condvar<M> {}

impl Condvar {
    /// A condition variable without waiters, in native memory.
    pub const fn new() -> Self {
        // SAFETY: zero is the initial state.
        unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
    }
}

/// All sleepers use one key.
const KEY: u32 = 0;

impl<M: Memory> Condvar<M> {
    /// Releases the lock, waits for a notification, and acquires the lock again.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait<T: ?Sized, L: RawLock<Memory = M>>(&self, guard: &mut MutexGuard<'_, T, L>) {
        // SAFETY: the guard holds the lock with this node, both before this call and after it.
        guard.rests(|lock, node| unsafe { self.wait_raw(lock, node, None) });
    }

    /// Waits until the condition on the value is false.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_while<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Waits for a notification for at most the given time, and says whether the time passed
    /// without one. A notification that came in time counts, however long it then takes to acquire
    /// the lock again.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_for<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        patience: Duration,
    ) -> WaitTimeoutResult {
        self.wait_until(guard, M::now().saturating_add(patience))
    }

    /// Another name of [`wait_for`](Self::wait_for), as in the standard library.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_timeout<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        patience: Duration,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, patience)
    }

    /// Waits for a notification until an `Instant`, or a time on the memory's clock, and says
    /// whether that moment passed without a notification.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_until<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        deadline: impl Deadline<M>,
    ) -> WaitTimeoutResult {
        let deadline = deadline.on_clock();
        // SAFETY: the guard holds the lock with this node, both before this call and after it.
        guard.rests(|lock, node| unsafe { self.wait_raw(lock, node, Some(deadline)) })
    }

    /// Waits until the condition on the value is false, for at most the given time, and says
    /// whether the condition is still true then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use syncline::{Condvar, Mutex};
    ///
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// let mut guard = ready.lock();
    /// let soon = Duration::from_millis(1);
    /// assert!(changed.wait_while_for(&mut guard, |ready| !*ready, soon).timed_out());
    /// ```
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_while_for<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        condition: impl FnMut(&mut T) -> bool,
        patience: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_until(guard, condition, M::now().saturating_add(patience))
    }

    /// Like [`wait_while_for`](Self::wait_while_for), with the standard library's name and order of
    /// arguments.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_timeout_while<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        patience: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> WaitTimeoutResult {
        self.wait_while_for(guard, condition, patience)
    }

    /// Waits until the condition on the value is false, or until an `Instant` or a time on the
    /// memory's clock, and says whether the condition is still true then.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_while_until<T: ?Sized, L: RawLock<Memory = M>>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: impl Deadline<M>,
    ) -> WaitTimeoutResult {
        let deadline = deadline.on_clock();
        let mut result = WaitTimeoutResult(false);
        while condition(guard) {
            if result.timed_out() {
                return result;
            }
            result = self.wait_until(guard, deadline);
        }
        WaitTimeoutResult(false)
    }

    /// Releases a lock, waits for a notification or the deadline on the memory's clock, and
    /// acquires the lock again with the same node. Says whether the wait ended at the deadline,
    /// without a notification.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node, which also meets the requirements of
    /// [`RawLock::acquire`].
    pub unsafe fn wait_raw<L: RawLock<Memory = M>>(
        &self,
        lock: &L,
        node: &L::Node,
        deadline: Option<Duration>,
    ) -> WaitTimeoutResult {
        // Relaxed: a thread that must notify us acquires the lock after we have released it below.
        self.waiters.fetch_add(1, Relaxed);
        let sequence = self.sequence.load(Relaxed);
        // SAFETY: our caller's promise.
        unsafe { lock.release(node) };
        M::park(&self.sequence, sequence, KEY, deadline);
        // Relaxed: the number was changed before any thread was woken. A thread that was woken must
        // not say that its time was up, or the notification would be lost.
        let notified = self.sequence.load(Relaxed) != sequence;
        let expired = !notified && deadline.is_some_and(|deadline| M::now() >= deadline);
        self.waiters.fetch_sub(1, Relaxed);
        // SAFETY: our caller's promise; the node is free since the release.
        unsafe { lock.acquire(node) };
        WaitTimeoutResult(expired)
    }

    /// Wakes one of the threads that wait, and says whether there was one. If the caller has
    /// changed the condition, it must have done so under the lock, which it may have released
    /// since.
    ///
    /// A thread that was woken but has not run yet counts as waiting.
    pub fn notify_one(&self) -> bool {
        self.notify(1) != 0
    }

    /// Wakes all threads that wait, and says how many there were. If the caller has changed the
    /// condition, it must have done so under the lock, which it may have released since.
    ///
    /// A thread that was woken but has not run yet counts as waiting.
    pub fn notify_all(&self) -> usize {
        self.notify(u32::MAX) as usize
    }

    /// Whether a thread waits, or is about to. If the caller doesn't hold the lock, the answer may
    /// be outdated at once.
    pub fn has_waiters(&self) -> bool {
        // Relaxed: as in `notify`.
        self.waiters.load(Relaxed) != 0
    }

    /// Wakes up to `count` waiters, and returns how many threads waited.
    #[inline]
    fn notify(&self, count: u32) -> u32 {
        // Relaxed: a waiter that must not be missed has counted itself under the lock, which we
        // have held since.
        let waiters = self.waiters.load(Relaxed);
        if waiters != 0 {
            // Relaxed: the lock carries what the waiter is to see.
            self.sequence.fetch_add(1, Relaxed);
            M::unpark(self.sequence.address(), Some(KEY), count);
        }
        waiters
    }
}

impl<M: Memory> fmt::Debug for Condvar<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// Whether a wait ended because its time was up, rather than because of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up.
    pub fn timed_out(self) -> bool {
        self.0
    }
}
