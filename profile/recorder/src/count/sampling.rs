//! Which uncontended operations belong to the sample: they are timed, and tell how what a place
//! counts spreads over its locks.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One operation in this many belongs to the sample, on average: a power of two.
///
/// Two readings of the time stamp counter cost some 20 ns; spread over this many they add
/// less than half a nanosecond to each, mispredicted branches included.
pub const SAMPLE_PERIOD: u32 = 128;

/// What the scattered number of an operation must not exceed to be one of the sample.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX / SAMPLE_PERIOD as u64);

/// Takes every operation into the sample, or one in [`SAMPLE_PERIOD`].
pub fn choose(every: bool) {
    if every {
        LIMIT.store(u64::MAX, Relaxed);
    }
}

/// Whether the operation after so many of a row belongs to the sample: the first one always, then
/// one in [`SAMPLE_PERIOD`], at distances that follow the golden ratio, so that no rhythm of
/// the program's can hide from them.
#[inline(always)]
pub fn is_sampled(calls: u64) -> bool {
    calls.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= LIMIT.load(Relaxed)
}
