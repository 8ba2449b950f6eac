//! Which uncontended operations belong to the sample: they are timed, and tell how what a place
//! counts spreads over its locks.
//!
//! The more a row has counted, the fewer of its operations are taken: some hundred samples say what
//! there is to say, and each costs as much as twenty acquisitions. One that stands for more than
//! others has that *weight* in what is added up, so that the sums have no bias, whatever changes
//! while the program runs.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// At first one operation in this many belongs to the sample, on average: a power of two.
pub const SAMPLE_PERIOD: u32 = 128;
/// So many operations of a row, log 2, are counted at that rate: 256 samples. From there on each doubling
/// brings as many again.
const DENSE_LOG2: u32 = 15;
/// The rarest rate is 1 in [`SAMPLE_PERIOD`] shifted by this, 1 in 1024: there a sample costs less than
/// a nanosecond for each operation, and one that the scheduler has made long does not yet stand for many.
const RAREST_LOG2: u32 = 3;

/// What the scattered number of an operation must not exceed to be one of the sample.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX / SAMPLE_PERIOD as u64);

/// Takes every operation into the sample, or one in [`SAMPLE_PERIOD`] and fewer.
pub fn choose(every: bool) {
    if every {
        LIMIT.store(u64::MAX, Relaxed);
    }
}

/// Whether the operation after so many of a row may belong to the sample, which [`weight`] tells: one
/// in [`SAMPLE_PERIOD`].
#[inline(always)]
pub fn may_be_sampled(calls: u64) -> bool {
    scattered(calls) <= LIMIT.load(Relaxed)
}

/// For how many at the first rate the operation after so many of a row stands; none if it doesn't belong
/// to the sample. The first one of a row always does.
pub fn weight(calls: u64) -> Option<u32> {
    let limit = LIMIT.load(Relaxed);
    let thinner = match limit {
        u64::MAX => 0,
        _ => calls.checked_ilog2().unwrap_or(0).saturating_sub(DENSE_LOG2 - 1).min(RAREST_LOG2),
    };
    (scattered(calls) <= limit >> thinner).then_some(1 << thinner)
}

/// Multiples of the golden ratio: those below a limit lie at distances that no rhythm of the
/// program's can hide from.
#[inline(always)]
fn scattered(calls: u64) -> u64 {
    calls.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
