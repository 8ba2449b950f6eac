//! A condition variable of the C library, and our use of its fields.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use syncline_interpose::preserving_errno;

/// What the C library calls `pthread_cond_t`.
#[repr(C)]
pub struct Cond {
    /// Changed by each notification that a thread might sleep through.
    pub sequence: AtomicU32,
    /// How many wait or are about to, and [`DESTROYING`].
    pub waiters: AtomicU32,
    groups: [AtomicU32; 7],
    mode: AtomicU32,
    signals: [AtomicU32; 2],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());

// Of the mode:
/// Processes may share it.
const SHARED: u32 = 1;
/// Absolute times are on the monotonic clock.
const MONOTONIC: u32 = 2;
/// It is ours. The C library counts waiters in these bits, and doesn't get so far.
const OURS: u32 = 1 << 31;

/// One waiter, as the C library counts waiters in the mode.
const THEIR_WAITER: u32 = 8;

/// A thread waits for the last waiter to be gone.
const DESTROYING: u32 = 1 << 31;

impl Cond {
    /// The clock of its absolute times.
    pub fn clock(&self) -> clockid_t {
        let monotonic = self.mode.load(Relaxed) & MONOTONIC != 0;
        if monotonic { CLOCK_MONOTONIC } else { CLOCK_REALTIME }
    }

    /// Whether processes may share it.
    pub fn is_shared(&self) -> bool {
        // Relaxed, as all looks at the mode: a waiter has the mutex, and a notifier has had it
        // after that, or need not be noticed.
        self.mode.load(Relaxed) & SHARED != 0
    }

    pub fn private(&self) -> c_int {
        if self.is_shared() { 0 } else { libc::FUTEX_PRIVATE_FLAG }
    }

    pub fn is_ours(&self) -> bool {
        self.mode.load(Relaxed) & OURS != 0
    }

    /// Makes it ours, unless threads wait for it by the C library. Says whether it is ours.
    pub fn make_ours(&self) -> bool {
        let mode = self.mode.load(Relaxed);
        if mode & OURS != 0 {
            return true;
        }
        if !self.is_shared() {
            // It was never the C library's. Threads with several mutexes may do this at once.
            self.mode.fetch_or(OURS, Relaxed);
            return true;
        }
        let waited_for = mode >= THEIR_WAITER;
        if !waited_for {
            // The state that the C library has left. Its sequence may be ours, but no thread waits.
            self.waiters.store(0, Relaxed);
            self.mode.store(mode & (SHARED | MONOTONIC) | OURS, Relaxed);
        }
        !waited_for
    }

    /// Gives it back to the C library, unless threads wait for it by us. Says whether it is the C
    /// library's.
    pub fn make_theirs(&self) -> bool {
        let mode = self.mode.load(Relaxed);
        if mode & OURS == 0 {
            return true;
        }
        let waited_for = self.waiters.load(Relaxed) != 0;
        if !waited_for {
            let words = [&self.sequence, &self.waiters].into_iter();
            words.chain(&self.groups).chain(&self.signals).for_each(|word| word.store(0, Relaxed));
            self.mode.store(mode & (SHARED | MONOTONIC), Relaxed);
        }
        !waited_for
    }

    /// Has a thread that was perhaps woken wake another in its stead.
    pub fn pass_on(&self) {
        wake(self.sequence.as_ptr(), self.private(), 1);
    }

    pub fn notify(&self, count: c_int) {
        // Relaxed: a waiter that must not be missed has counted itself while it held the mutex,
        // which the notifier has held since.
        if self.waiters.load(Relaxed) & !DESTROYING != 0 {
            let (word, private) = (self.sequence.as_ptr(), self.private());
            // Relaxed: the mutex carries what the waiter is to see. A thread that this wakes may
            // destroy the condition variable, which is not touched any more.
            self.sequence.fetch_add(1, Relaxed);
            wake(word, private, count);
        }
    }

    /// A waiter is gone.
    pub fn leave(&self) {
        let (word, private) = (self.waiters.as_ptr(), self.private());
        // AcqRel: pairs with the Acquire in `drain`; all that was done here comes before. The
        // condition variable may be gone after.
        if self.waiters.fetch_sub(1, AcqRel) == DESTROYING | 1 {
            wake(word, private, c_int::MAX);
        }
    }

    /// Waits until all woken threads are gone; no others wait.
    pub fn drain(&self) {
        // Acquire: pairs with the AcqRel in `leave`.
        let mut waiters = self.waiters.fetch_or(DESTROYING, Acquire) | DESTROYING;
        while waiters != DESTROYING {
            let operation = libc::FUTEX_WAIT | self.private();
            // SAFETY: the word is there, and there is no time.
            preserving_errno(|| unsafe {
                let forever = ptr::null::<timespec>();
                libc::syscall(libc::SYS_futex, self.waiters.as_ptr(), operation, waiters, forever)
            });
            waiters = self.waiters.load(Acquire);
        }
        self.waiters.store(0, Relaxed);
    }
}

/// Wakes `count` threads that sleep at a word, which may be gone.
fn wake(word: *const u32, private: c_int, count: c_int) {
    // SAFETY: the kernel compares the address with those of sleepers, and doesn't access it.
    preserving_errno(|| unsafe {
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | private, count)
    });
}
