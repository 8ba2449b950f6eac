//! The clock for ticks: the time stamp counter or the monotonic clock, as `syncline inspect` chose.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

static MONOTONIC: AtomicBool = AtomicBool::new(false);

/// Chooses the monotonic clock if `monotonic`, otherwise the time stamp counter.
pub fn choose(monotonic: bool) {
    MONOTONIC.store(monotonic, Relaxed);
}

/// The current time in ticks.
#[inline]
pub fn now() -> u64 {
    if MONOTONIC.load(Relaxed) {
        nanoseconds(libc::CLOCK_MONOTONIC)
    } else {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { _rdtsc() }
    }
}

/// The processor time of this thread, in nanoseconds. It measures the cost of tracing, since it
/// includes neither the time of other threads on the same processor, nor time asleep in a system
/// call.
pub fn of_thread() -> u64 {
    nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time of the process, in nanoseconds.
pub fn of_process() -> u64 {
    nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The time of one of the system's clocks, in nanoseconds.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the structure.
    unsafe { libc::clock_gettime(clock, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The nanoseconds that reading a thread's processor time takes: the least of eight readings.
pub fn cost_of_look() -> u64 {
    const LOOKS: usize = 8;
    let one = |_| {
        let before = of_thread();
        of_thread().saturating_sub(before)
    };
    (0..LOOKS).map(one).min().unwrap_or(0)
}
