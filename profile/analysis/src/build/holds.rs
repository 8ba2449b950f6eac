//! For how long a thread held a lock at a call site: an estimate from the holds that were timed.
//!
//! Each timed hold stands for about a hundred others, so one hold during which the holder lost its
//! processor for 4 ms would become half a second. Such a hold counts once, and the others stand for
//! the rest.

use syncline_recording::layout::{Row, ThreadRecord};

use super::clock::Clock;
use super::processor;

/// With more samples than this, the longest hold always counts once.
const MANY: u64 = 32;
/// With fewer samples, the longest hold counts once if it is this many times as long as the mean of
/// the others. Holds of one kind seldom differ so much.
const MUCH_LONGER: f64 = 10.0;
/// A hold of fewer seconds is never taken for an interrupted one: a thread that loses its processor
/// seldom has it back so soon, and a hold in which a hash table grows can be as long.
const SHORTEST: f64 = 100e-6;

/// The timed holds of a row, with the lengths in ticks.
#[derive(Clone, Copy)]
struct Timed {
    /// The number of samples. Each counts with its weight, here and in `ticks`.
    samples: u64,
    ticks: u64,
    longest: u64,
}

/// What is known of a thread's losses of its processor.
#[derive(Clone, Copy)]
pub struct Interruptions {
    /// The longest time in ticks for which the thread may have been ready without a processor.
    pub longest: f64,
    /// Ticks in a second.
    pub ticks_per_second: f64,
}

impl Interruptions {
    /// What is known of the losses of the thread of this record.
    pub fn of(record: &ThreadRecord, clock: &Clock) -> Interruptions {
        let ticks_per_second = clock.ticks_per_second();
        let longest = processor::ready_at_most(record, clock) * ticks_per_second;
        Interruptions { longest, ticks_per_second }
    }
}

/// The ticks of `calls` holds, estimated from the holds that a row timed.
pub fn held(row: &Row, calls: u64, interruptions: Interruptions) -> f64 {
    let samples = u64::from(row.held_samples);
    Timed { samples, ticks: row.held_ticks, longest: row.held_max }.stand_for(calls, interruptions)
}

impl Timed {
    fn stand_for(self, calls: u64, interruptions: Interruptions) -> f64 {
        let (samples, longest) = (self.samples as f64, self.longest as f64);
        if self.samples == 0 || calls == 0 {
            return 0.0;
        }
        if self.samples == 1 {
            return longest * calls as f64;
        }
        let others = self.ticks.saturating_sub(self.longest) as f64 / (samples - 1.0);
        let is_outlier = longest >= MUCH_LONGER * others
            && longest >= SHORTEST * interruptions.ticks_per_second
            && longest <= interruptions.longest;
        if self.samples > MANY || is_outlier {
            longest + others * (calls - 1) as f64
        } else {
            self.ticks as f64 / samples * calls as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick is a microsecond.
    const BUSY: Interruptions = Interruptions { longest: 50e3, ticks_per_second: 1e6 };
    const QUIET: Interruptions = Interruptions { longest: 1e3, ..BUSY };

    fn held(lengths: &[u64], calls: u64, interruptions: Interruptions) -> f64 {
        let timed = Timed {
            samples: lengths.len() as u64,
            ticks: lengths.iter().sum(),
            longest: lengths.iter().copied().max().unwrap_or(0),
        };
        timed.stand_for(calls, interruptions)
    }

    #[test]
    fn a_hold_that_lost_its_processor_counts_once() {
        assert_eq!(held(&[1, 4_000], 128, BUSY), 4_127.0);
        assert_eq!(held(&[1, 1, 4_000, 1, 1, 1, 1, 1, 1, 1], 1_280, BUSY), 4_000.0 + 1_279.0);
    }

    #[test]
    fn a_long_hold_stands_for_others_if_the_thread_kept_its_processor() {
        assert_eq!(held(&[1, 3_999], 128, QUIET), 2_000.0 * 128.0);
    }

    #[test]
    fn mostly_long_holds_all_count() {
        assert_eq!(held(&[1_000, 4_000], 200, BUSY), 2_500.0 * 200.0);
        assert_eq!(held(&[4_000], 80, BUSY), 4_000.0 * 80.0, "nothing to compare it with");
        assert_eq!(held(&[1, 4_000, 4_001], 300, BUSY), 8_002.0 * 100.0, "two of three");
    }

    #[test]
    fn short_holds_all_count() {
        assert_eq!(held(&[1, 99], 128, BUSY), 50.0 * 128.0);
        assert_eq!(held(&[2; 20], 2_560, BUSY), 5_120.0);
        assert_eq!(held(&[], 0, BUSY), 0.0);
        assert_eq!(held(&[5], 0, BUSY), 0.0);
        assert_eq!(held(&[], 5, BUSY), 0.0, "none was timed");
    }

    #[test]
    fn the_longest_of_many_holds_counts_once() {
        let mut lengths = [2; 40];
        lengths[7] = 50;
        assert_eq!(held(&lengths, 5_001, QUIET), 50.0 + 10_000.0);
    }
}
