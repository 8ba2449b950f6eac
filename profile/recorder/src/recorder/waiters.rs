//! Whether any thread waits for an object: most signals of most programs wake no thread, and need no
//! time then.

use core::sync::atomic::{AtomicU32, Ordering};

/// How many threads of the process wait for events, by object: several objects may share a number. All
/// zero is its first state.
pub struct Waiters([AtomicU32; Waiters::NUMBERS]);

impl Waiters {
    const NUMBERS: usize = 64;

    fn of(&self, object: usize) -> &AtomicU32 {
        let scattered = object.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[scattered >> (usize::BITS - Self::NUMBERS.ilog2())]
    }

    /// Notes that a thread is about to wait. The thread that wakes it then has certainly seen the
    /// change that it waits for, or made it under the lock that the wait releases: Relaxed is
    /// enough.
    pub fn add(&self, object: usize) {
        self.of(object).fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that it waits no more.
    pub fn take(&self, object: usize) {
        let one_less = |waiting: u32| waiting.checked_sub(1);
        // There is no notice if recording began again meanwhile.
        let _ = self.of(object).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }

    /// Whether a thread may be waiting for an object.
    pub fn may_be_any(&self, object: usize) -> bool {
        self.of(object).load(Ordering::Relaxed) != 0
    }
}
