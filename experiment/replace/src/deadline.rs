//! Converts POSIX' absolute times to the monotonic clock, by which our locks wait.

use core::time::Duration;

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use syncline::memory::{Memory, Native};

/// Whether deadlines on this clock are supported.
pub fn is_known(clock: clockid_t) -> bool {
    clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
}

/// Whether the nanoseconds of a time are at least 0 and less than a second.
///
/// # Safety
///
/// `time` points to a time.
pub unsafe fn is_valid(time: *const timespec) -> bool {
    // SAFETY: our caller's promise.
    (0..1_000_000_000).contains(&unsafe { (*time).tv_nsec })
}

/// Whether a time is negative, before the beginning of either clock; the kernel refuses it.
///
/// # Safety
///
/// `time` points to a time.
pub unsafe fn is_before_1970(time: *const timespec) -> bool {
    // SAFETY: our caller's promise.
    unsafe { (*time).tv_sec < 0 }
}

/// Whether a time is valid, on a clock that is supported.
///
/// # Safety
///
/// `time` points to a time.
pub unsafe fn is_time(clock: clockid_t, time: *const timespec) -> bool {
    // SAFETY: our caller's promise.
    is_known(clock) && unsafe { is_valid(time) }
}

/// The time on the monotonic clock at which a deadline passes. It is computed from the clocks'
/// present values: if the real-time clock is set during the wait, the length of the wait does not
/// change.
///
/// # Safety
///
/// `time` points to a time, for which [`is_time`] holds.
pub unsafe fn read(clock: clockid_t, time: *const timespec) -> Duration {
    // SAFETY: our caller's promise.
    let time = unsafe { *time };
    let Ok(seconds) = u64::try_from(time.tv_sec) else { return Duration::ZERO };
    let then = Duration::new(seconds, time.tv_nsec as u32);
    if clock == CLOCK_MONOTONIC {
        return then;
    }
    let left = then.saturating_sub(now(clock));
    Native::now().saturating_add(left)
}

fn now(clock: clockid_t) -> Duration {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
