//! Which uncontended acquisitions are timed.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One uncontended acquisition in this many is timed, on average: a power of two.
///
/// Two readings of the time stamp counter cost some 20 ns; spread over this many they add
/// less than half a nanosecond to each, mispredicted branches included.
pub const HOLD_SAMPLE_PERIOD: u32 = 128;

/// What the scattered number of an acquisition must not exceed to be timed.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX / HOLD_SAMPLE_PERIOD as u64);

/// Times every acquisition, or samples.
pub fn choose(every: bool) {
    if every {
        LIMIT.store(u64::MAX, Relaxed);
    }
}

/// Whether the acquisition after so many is timed: a row's first one always, then one in
/// [`HOLD_SAMPLE_PERIOD`], at distances that follow the golden ratio, so that no rhythm of
/// the program's can hide from them.
#[inline(always)]
pub fn is_timed(calls: u64) -> bool {
    calls.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= LIMIT.load(Relaxed)
}
