//! A condition variable of the C library, and our use of its fields.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use syncline_interpose::preserving_errno;

/// The C library's `pthread_cond_t`.
#[repr(C)]
pub struct Cond {
    /// Changed by each notification that finds a waiter.
    pub sequence: AtomicU32,
    /// The number of threads that wait or are about to, and the flag [`DESTROYING`].
    pub waiters: AtomicU32,
    groups: [AtomicU32; 7],
    mode: AtomicU32,
    signals: [AtomicU32; 2],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());

// Bits of the mode:
/// Processes may share it.
const SHARED: u32 = 1;
/// Absolute times are on the monotonic clock.
const MONOTONIC: u32 = 2;
/// The condition variable is ours. The C library counts waiters in the upper bits, but never so
/// many that this bit is set.
const OURS: u32 = 1 << 31;

/// One waiter, as the C library counts waiters in the mode.
const THEIR_WAITER: u32 = 8;

/// A thread waits until the last waiter has left.
const DESTROYING: u32 = 1 << 31;

impl Cond {
    /// The clock of its absolute times.
    pub fn clock(&self) -> clockid_t {
        let monotonic = self.mode.load(Relaxed) & MONOTONIC != 0;
        if monotonic { CLOCK_MONOTONIC } else { CLOCK_REALTIME }
    }

    /// Whether processes may share it.
    pub fn is_shared(&self) -> bool {
        // Relaxed, like all loads of the mode: a waiter holds the mutex. A notifier that must not
        // miss the waiter has held the mutex after that.
        self.mode.load(Relaxed) & SHARED != 0
    }

    pub fn private(&self) -> c_int {
        if self.is_shared() { 0 } else { libc::FUTEX_PRIVATE_FLAG }
    }

    pub fn is_ours(&self) -> bool {
        self.mode.load(Relaxed) & OURS != 0
    }

    /// Makes it ours, unless threads wait for it in the C library. Returns whether it is ours.
    pub fn make_ours(&self) -> bool {
        let mode = self.mode.load(Relaxed);
        if mode & OURS != 0 {
            return true;
        }
        if !self.is_shared() {
            // The C library has never used it. Several threads, with different mutexes, may do this
            // at the same time.
            self.mode.fetch_or(OURS, Relaxed);
            return true;
        }
        let waited_for = mode >= THEIR_WAITER;
        if !waited_for {
            // The C library has left its own state here. Any value of the sequence is valid, since
            // no thread waits.
            self.waiters.store(0, Relaxed);
            self.mode.store(mode & (SHARED | MONOTONIC) | OURS, Relaxed);
        }
        !waited_for
    }

    /// Gives it back to the C library, unless threads wait for it in this library. Returns whether
    /// it is the C library's.
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

    /// Wakes another waiter in place of the calling thread, which may have been woken.
    pub fn pass_on(&self) {
        wake(self.sequence.as_ptr(), self.private(), 1);
    }

    pub fn notify(&self, count: c_int) {
        // Relaxed: a waiter that must not be missed has counted itself while it held the mutex, and
        // the notifier has held the mutex after that.
        if self.waiters.load(Relaxed) & !DESTROYING != 0 {
            let (word, private) = (self.sequence.as_ptr(), self.private());
            // Relaxed: the mutex makes the data that the waiter needs visible. A thread that this
            // wakes may destroy the condition variable, so it is not accessed after the addition.
            self.sequence.fetch_add(1, Relaxed);
            wake(word, private, count);
        }
    }

    /// A waiter leaves.
    pub fn leave(&self) {
        let (word, private) = (self.waiters.as_ptr(), self.private());
        // AcqRel pairs with the Acquire in `drain`: all accesses of this waiter happen before
        // `drain` returns. The condition variable may be gone after this.
        if self.waiters.fetch_sub(1, AcqRel) == DESTROYING | 1 {
            wake(word, private, c_int::MAX);
        }
    }

    /// Waits until all woken threads have left; no other threads wait.
    pub fn drain(&self) {
        // Acquire pairs with the AcqRel in `leave`.
        let mut waiters = self.waiters.fetch_or(DESTROYING, Acquire) | DESTROYING;
        while waiters != DESTROYING {
            let operation = libc::FUTEX_WAIT | self.private();
            // SAFETY: the word is part of this object, and the null pointer means that there is no
            // timeout.
            preserving_errno(|| unsafe {
                let forever = ptr::null::<timespec>();
                libc::syscall(libc::SYS_futex, self.waiters.as_ptr(), operation, waiters, forever)
            });
            waiters = self.waiters.load(Acquire);
        }
        self.waiters.store(0, Relaxed);
    }
}

/// Wakes up to `count` threads that sleep at a word, whose memory may be gone.
fn wake(word: *const u32, private: c_int, count: c_int) {
    // SAFETY: the kernel compares the address with those of sleeping threads, and doesn't access
    // the memory.
    preserving_errno(|| unsafe {
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | private, count)
    });
}
