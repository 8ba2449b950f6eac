//! Decides which uncontended operations are sampled. A sampled operation is timed, and shows how a
//! place's counts are distributed over its locks.
//!
//! The more operations a lock's row has counted, the more rarely further ones are sampled, since a
//! few hundred samples are enough and each costs as much as twenty acquisitions. A sample that
//! stands for more operations has a higher *weight* in the sums. So the sums have no bias, although
//! the rate changes. A row that counts for many locks keeps the first rate for longer, and its
//! lowest rate is twice as high. Otherwise a lock with a thousandth of the row's operations would
//! have too few samples to compare its waits with its acquisitions.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::layout::REST;

/// At first, one in this many operations is sampled, on average. It is a power of two.
pub const SAMPLE_PERIOD: u32 = 128;
/// Log 2 of the number of a row's operations for which that rate is used, which results in 256
/// samples. After that, the rate halves whenever the number of operations has doubled, until it is
/// the lowest rate.
const DENSE_LOG2: u32 = 15;
/// At the lowest rate, one in [`SAMPLE_PERIOD`] shifted left by this is sampled, which is one in
/// 1024. At that rate sampling costs less than a nanosecond per operation. At a lower one, a sample
/// that became long because its thread was preempted would stand for too many others.
const RAREST_LOG2: u32 = 3;
/// What [`DENSE_LOG2`] and [`RAREST_LOG2`] are for a row of many locks: 1024 samples at the first
/// rate, and at last 1 in 512.
const DENSE_LOG2_OF_MANY: u32 = 17;
const RAREST_LOG2_OF_MANY: u32 = 2;

/// At the first rate, an operation is sampled if its [`scattered`] number is at most this.
static LIMIT: AtomicU64 = AtomicU64::new(AT_FIRST);
/// The value of [`LIMIT`] for one operation in [`SAMPLE_PERIOD`].
const AT_FIRST: u64 = u64::MAX / SAMPLE_PERIOD as u64;

/// Chooses the rate. If `every`, each operation is sampled, otherwise one in [`SAMPLE_PERIOD`] and
/// later fewer.
pub fn choose(every: bool) {
    LIMIT.store(if every { u64::MAX } else { AT_FIRST }, Relaxed);
}

/// The weight of the next operation of a row, which is 1 at the first rate; `None` if the operation
/// isn't sampled. `lock` is the row's lock or [`REST`], and `calls` is the number of operations
/// that the row has counted. The first operation of a row is always sampled.
pub fn weight(lock: u64, calls: u64) -> Option<u32> {
    let limit = LIMIT.load(Relaxed);
    let (dense, rarest) = match lock {
        REST => (DENSE_LOG2_OF_MANY, RAREST_LOG2_OF_MANY),
        _ => (DENSE_LOG2, RAREST_LOG2),
    };
    let thinner = match limit {
        u64::MAX => 0,
        _ => calls.checked_ilog2().unwrap_or(0).saturating_sub(dense - 1).min(rarest),
    };
    (scattered(calls) <= limit >> thinner).then_some(1 << thinner)
}

/// How many operations after a sampled one the next sampled one comes. The parameters are those of
/// [`weight`] for the sampled one.
pub fn until_next(lock: u64, calls: u64) -> u64 {
    /// The possible distances at the first rate. By the three-distance theorem there are no others.
    const DISTANCES: [u64; 3] = [89, 144, 233];
    let limit = LIMIT.load(Relaxed);
    if limit == u64::MAX {
        return 1;
    }
    let mut next = calls;
    loop {
        let is_one = |&distance: &u64| scattered(next.wrapping_add(distance)) <= limit;
        next += DISTANCES.into_iter().find(is_one).unwrap_or(1);
        if weight(lock, next).is_some() {
            return next - calls;
        }
    }
}

/// A multiple of the golden ratio, modulo 2 to the power of 64. The numbers of calls for which it
/// is below a limit are spread so that operations of any rhythm in the program are sampled.
#[inline(always)]
fn scattered(calls: u64) -> u64 {
    calls.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: u64 = 0x1000;

    #[test]
    fn until_next_leads_to_the_next_sampled_call() {
        for lock in [LOCK, REST] {
            let is_sampled = |&calls: &u64| weight(lock, calls).is_some();
            let sampled: Vec<u64> = (0..600_000).filter(is_sampled).collect();
            for pair in sampled.windows(2) {
                assert_eq!(until_next(lock, pair[0]), pair[1] - pair[0], "after {}", pair[0]);
            }
        }
    }

    #[test]
    fn the_weights_of_the_sample_add_up_to_one_in_the_period() {
        let calls = 3_000_000;
        let wanted = calls as f64 / f64::from(SAMPLE_PERIOD);
        for (lock, samples) in [(LOCK, 3000..5000), (REST, 6000..8000)] {
            let weights: Vec<u32> = (0..calls).filter_map(|calls| weight(lock, calls)).collect();
            let sum = f64::from(weights.iter().sum::<u32>());
            assert!((sum / wanted - 1.0).abs() < 0.01, "{sum} for {wanted}");
            assert!(samples.contains(&weights.len()), "{}", weights.len());
        }
    }
}
