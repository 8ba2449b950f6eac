//! Tells whether any thread waits for an object. Most signals in most programs wake no thread, and
//! then the signalling thread spends no time on a notice.

use core::sync::atomic::{AtomicU32, Ordering};

/// How many threads of the process wait for events, by object. Several objects may share a count.
/// All counts begin as zero.
pub struct Waiters([AtomicU32; Waiters::NUMBERS]);

impl Waiters {
    const NUMBERS: usize = 64;

    fn of(&self, object: usize) -> &AtomicU32 {
        let scattered = object.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[scattered >> (usize::BITS - Self::NUMBERS.ilog2())]
    }

    /// Notes that a thread is about to wait. A thread that wakes this waiter later sees the count:
    /// the waking thread has certainly seen the change that the waiter waits for, or made that
    /// change under the lock that the wait releases. So Relaxed is enough.
    pub fn add(&self, object: usize) {
        self.of(object).fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a thread no longer waits.
    pub fn take(&self, object: usize) {
        let one_less = |waiting: u32| waiting.checked_sub(1);
        // The count is 0 if the recording was begun anew during the wait.
        let _ = self.of(object).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }

    /// Whether a thread may be waiting for an object.
    pub fn may_be_any(&self, object: usize) -> bool {
        self.of(object).load(Ordering::Relaxed) != 0
    }
}
