//! A condition variable of the C library, and what ours makes of it.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use syncline_interpose::preserving_errno;

/// What the C library calls `pthread_cond_t`.
#[repr(C)]
pub struct Cond {
    /// Changed by each notification that somebody might sleep through.
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

/// Somebody waits for the last waiter to be gone.
const DESTROYING: u32 = 1 << 31;

impl Cond {
    /// The clock of its absolute times.
    pub fn clock(&self) -> clockid_t {
        let monotonic = self.mode.load(Relaxed) & MONOTONIC != 0;
        if monotonic { CLOCK_MONOTONIC } else { CLOCK_REALTIME }
    }

    pub fn private(&self) -> c_int {
        // Relaxed, as all looks at the mode: who waits has the mutex, and who notifies has had it
        // after that, or needn't be noticed.
        if self.mode.load(Relaxed) & SHARED != 0 { 0 } else { libc::FUTEX_PRIVATE_FLAG }
    }

    pub fn is_ours(&self) -> bool {
        self.mode.load(Relaxed) & OURS != 0
    }

    /// Makes it ours, for a caller who holds a replaced mutex; so no other waiter comes meanwhile.
    pub fn make_ours(&self) {
        let mode = self.mode.load(Relaxed);
        if mode & OURS == 0 {
            // What the C library has left. Its sequence may be ours, but nobody waits.
            self.waiters.store(0, Relaxed);
            self.mode.store(mode & (SHARED | MONOTONIC) | OURS, Relaxed);
        }
    }

    /// Gives it back to the C library, for a caller who holds a mutex that is left to it.
    pub fn make_theirs(&self) {
        let mode = self.mode.load(Relaxed);
        if mode & OURS != 0 {
            self.drain();
            let words = [&self.sequence, &self.waiters].into_iter();
            words.chain(&self.groups).chain(&self.signals).for_each(|word| word.store(0, Relaxed));
            self.mode.store(mode & (SHARED | MONOTONIC), Relaxed);
        }
    }

    pub fn wake(&self, count: c_int) {
        let operation = libc::FUTEX_WAKE | self.private();
        // SAFETY: the kernel compares the address with those of sleepers.
        preserving_errno(|| unsafe {
            libc::syscall(libc::SYS_futex, self.sequence.as_ptr(), operation, count)
        });
    }

    pub fn notify(&self, count: c_int) {
        // Relaxed: a waiter that must not be missed has counted itself while it held the mutex,
        // which whoever notifies has held since.
        if self.waiters.load(Relaxed) & !DESTROYING != 0 {
            // Relaxed: the mutex carries what the waiter is to see.
            self.sequence.fetch_add(1, Relaxed);
            self.wake(count);
        }
    }

    /// A waiter is gone.
    pub fn leave(&self) {
        let (word, private) = (self.waiters.as_ptr(), self.private());
        // AcqRel: pairs with the Acquire in `drain`; all that was done here comes before. The
        // condition variable may be gone after.
        if self.waiters.fetch_sub(1, AcqRel) == DESTROYING | 1 {
            let operation = libc::FUTEX_WAKE | private;
            // SAFETY: as in `wake`.
            preserving_errno(|| unsafe {
                libc::syscall(libc::SYS_futex, word, operation, c_int::MAX)
            });
        }
    }

    /// Waits until all that were woken are gone; nobody else waits.
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
