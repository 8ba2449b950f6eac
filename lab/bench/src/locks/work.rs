//! The work of a thread that uses locks, and its results.
//!
//! The C loops (`programs/ck_locks.c`) use the same structure, so that all locks get the same work.
//! Through the pointers in it, C calls the same functions for waiting and for the clock.

use std::arch::asm;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The work of one thread, with the layout of `struct work` in C.
#[repr(C)]
pub struct Work {
    stop: *const AtomicBool,
    /// The number of locks, which is a power of two, minus one.
    pub mask: u32,
    /// How many of 1024 acquisitions are writers', for a lock that can be shared.
    pub writes: u32,
    /// The time for which the lock is held, in loops of [`busy`].
    pub section: u32,
    /// The average time that the thread stays outside, in loops of [`busy`].
    pub outside: u32,
    sample_every: u32,
    until_sample: u32,
    random: u64,
    /// The number of sections that began before the stop.
    pub done: u64,
    /// The number of sections that wrote.
    pub written: u64,
    busy: extern "C" fn(u32),
    now: extern "C" fn() -> u64,
    record: unsafe extern "C" fn(*mut Work, u64),
    /// The durations of the sampled acquisitions in nanoseconds: the latest [`KEPT`] of them. C
    /// does not know this field and the fields after it.
    samples: Vec<u64>,
    sampled: usize,
}

/// The number of samples that are kept. If a thread takes more in a slot, the oldest are
/// overwritten.
const KEPT: usize = 1 << 14;

/// One in this many acquisitions is timed. The number is odd, so that there are samples of all
/// locks, and of both reads and writes.
const SAMPLE_EVERY: u32 = 17;

impl Work {
    pub fn new(thread: usize, locks: usize, stop: &AtomicBool) -> Work {
        assert!(locks.is_power_of_two());
        Work {
            stop,
            mask: locks as u32 - 1,
            writes: 1024,
            section: 0,
            outside: 0,
            sample_every: SAMPLE_EVERY,
            until_sample: 1 + thread as u32 % SAMPLE_EVERY,
            random: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1),
            done: 0,
            written: 0,
            busy,
            now,
            record,
            samples: Vec::new(),
            sampled: 0,
        }
    }

    pub fn stop(&self) -> *const AtomicBool {
        self.stop
    }

    /// The next number of Marsaglia's xorshift with 64 bits.
    #[inline]
    pub fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    #[inline]
    pub fn is_sampled(&mut self) -> bool {
        self.until_sample -= 1;
        if self.until_sample != 0 {
            return false;
        }
        self.until_sample = self.sample_every;
        true
    }

    pub fn keep(&mut self, nanoseconds: u64) {
        if self.samples.len() < KEPT {
            self.samples.push(nanoseconds);
        } else {
            self.samples[self.sampled % KEPT] = nanoseconds;
        }
        self.sampled += 1;
    }

    /// Reserves room for the samples, so that keeping one never allocates.
    pub fn reserve(&mut self) {
        self.samples.reserve_exact(KEPT);
    }

    pub fn into_samples(self) -> Vec<u64> {
        self.samples
    }
}

/// Spends time in this many loops, without accessing shared memory.
pub extern "C" fn busy(loops: u32) {
    for _ in 0..loops {
        // SAFETY: there is no instruction; the statement keeps the loop from being optimized away.
        unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
    }
}

/// Nanoseconds since the first call.
pub extern "C" fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

unsafe extern "C" fn record(work: *mut Work, nanoseconds: u64) {
    // SAFETY: the C loops pass the pointer that they were called with, and no other code uses it
    // meanwhile.
    unsafe { &mut *work }.keep(nanoseconds);
}

/// The number of loops of [`busy`] per nanosecond.
pub fn loops_per_nanosecond() -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        const LOOPS: u32 = 1_000_000;
        let once = |_| {
            let start = Instant::now();
            busy(LOOPS);
            start.elapsed()
        };
        let least = (0..9).map(once).min().unwrap_or(Duration::from_millis(1));
        f64::from(LOOPS) / least.as_nanos() as f64
    })
}
