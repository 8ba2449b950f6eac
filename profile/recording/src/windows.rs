//! Windows are the parts of a run whose events a log keeps completely.
//!
//! A full log does not drop its oldest events. It keeps all events of short windows, which are
//! evenly spaced over the run, and drops those between. So it covers the whole run, and each window
//! is complete.
//!
//! Windows begin at multiples of a power of two (in ticks), and their length is a power of two. So
//! two threads always have windows in common, with the longer of their two periods and the shorter
//! of their two lengths ([`Windows::common`]). In these the logs of both are complete, even though
//! threads choose their windows without knowing of each other.

/// The windows that a log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Log 2 of the ticks from the beginning of one window to the beginning of the next.
    period: u8,
    /// Log 2 of the length of a window in ticks; at most `period`.
    length: u8,
}

/// Log 2 of the least number of windows, which is large enough to see each phase of a run. While
/// there are at least twice as many, a full log makes its windows fewer, not shorter, so that each
/// stays long compared with the waits in it.
const FEWEST: u32 = 3;

impl Windows {
    /// One endless window: no event is dropped.
    pub const ALL: Windows = Windows { period: 63, length: 63 };

    /// The windows that the word [`crate::layout::ThreadRecord::log_windows`] stands for; `None` if
    /// the word is invalid.
    pub fn from_word(word: u64) -> Option<Windows> {
        let (period, length) = (63 - (word & 0xff).min(64) as i8, 63 - (word >> 8).min(64) as i8);
        let windows = Windows { period: period.try_into().ok()?, length: length.try_into().ok()? };
        (length <= period).then_some(windows)
    }

    /// The word that stands for these windows in a thread's record; 0 for [`Windows::ALL`].
    pub fn word(self) -> u64 {
        u64::from(63 - self.period) | u64::from(63 - self.length) << 8
    }

    /// Whether an event that began and ended at these ticks lies in a window, at least in part.
    pub fn keep(self, began: u64, ended: u64) -> bool {
        let in_period = began & ((1 << self.period) - 1);
        in_period < 1 << self.length || began >> self.period != ended >> self.period
    }

    /// The next coarser windows for a run of this many ticks. If there are at least twice as many
    /// windows as necessary, they become half as many, otherwise half as long. If they can't be
    /// shorter, they stay the same.
    pub fn coarser(self, elapsed: u64) -> Windows {
        let enough = elapsed.max(1).ilog2().saturating_sub(FEWEST) as u8;
        if self == Windows::ALL {
            Windows { period: enough, length: enough.saturating_sub(1) }
        } else if self.period < enough {
            Windows { period: self.period + 1, ..self }
        } else {
            Windows { length: self.length.saturating_sub(1), ..self }
        }
    }

    /// The windows that two logs have in common.
    pub fn common(self, other: Windows) -> Windows {
        match (self, other) {
            (Windows::ALL, some) | (some, Windows::ALL) => some,
            (a, b) => Windows { period: a.period.max(b.period), length: a.length.min(b.length) },
        }
    }

    /// The windows between two moments: the ticks at which each begins and ends. If there are too
    /// many, every second one is left out, repeatedly, until there are at most `most` + 1.
    pub fn between(self, from: u64, to: u64, most: usize) -> Vec<(u64, u64)> {
        let mut period = self.period;
        while (to.saturating_sub(from) >> period) as usize >= most.max(1) && period < 63 {
            period += 1;
        }
        let first = from >> period;
        let window = |number: u64| {
            let began = number << period;
            (began.max(from), began.saturating_add(1 << self.length).min(to))
        };
        (first..=to >> period).map(window).filter(|(began, ended)| began < ended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(period: u8, length: u8) -> Windows {
        Windows { period, length }
    }

    #[test]
    fn window_words_are_read_back_and_invalid_ones_refused() {
        assert_eq!(Windows::from_word(0), Some(Windows::ALL));
        for some in [windows(63, 0), windows(30, 30), windows(30, 12), windows(0, 0)] {
            assert_eq!(Windows::from_word(some.word()), Some(some));
        }
        assert_eq!(Windows::from_word(windows(12, 30).word()), None, "longer than its period");
        assert_eq!(Windows::from_word(64), None);
        assert_eq!(Windows::from_word(63 | 64 << 8), None);
        assert_eq!(Windows::from_word(u64::MAX), None);
    }

    #[test]
    fn events_that_touch_a_window_are_kept() {
        //  0   4       16  20      32
        //  |===|.......|===|.......|===
        let some = windows(4, 2);
        assert!(some.keep(0, 1) && some.keep(3, 9) && some.keep(16, 16));
        assert!(!some.keep(4, 5) && !some.keep(20, 31));
        assert!(some.keep(5, 16) && some.keep(5, 60), "goes on in a later window");
        assert!(Windows::ALL.keep(0, 0) && Windows::ALL.keep(1 << 60, 1 << 61));
    }

    #[test]
    fn coarser_windows_lie_within_finer_ones() {
        let mut some = Windows::ALL;
        for (step, elapsed) in (1..24).map(|step| (step, 1000u64 << step)) {
            let next = some.coarser(elapsed);
            for tick in 0..4096 {
                assert!(!next.keep(tick, tick) || some.keep(tick, tick), "step {step}, {tick}");
            }
            assert!(next.between(0, elapsed, 1000).len() >= 8, "step {step}");
            assert_ne!(next, some);
            some = next;
        }
        // If the run does not get longer, each step halves the time that the windows cover, until
        // they can't be shorter.
        let covered = |some: Windows| {
            some.between(0, 4096, 1000).iter().map(|(from, to)| to - from).sum::<u64>()
        };
        let (mut some, mut last) = (Windows::ALL, 4096);
        for _ in 0..9 {
            some = some.coarser(4096);
            assert_eq!(covered(some), last / 2);
            last /= 2;
        }
        assert_eq!(some.coarser(4096), some);
    }

    #[test]
    fn common_windows_are_kept_by_both_logs() {
        let (a, b) = (windows(6, 5), windows(8, 3));
        let both = a.common(b);
        for tick in 0..1024 {
            let expected = a.keep(tick, tick) && b.keep(tick, tick);
            assert_eq!(both.keep(tick, tick), expected, "{tick}");
        }
        assert_eq!(a.common(Windows::ALL), a);
        assert_eq!(Windows::ALL.common(b), b);
    }

    #[test]
    fn windows_are_cut_at_both_ends_and_limited_in_number() {
        assert_eq!(Windows::ALL.between(7, 90, 10), [(7, 90)]);
        assert_eq!(windows(4, 2).between(2, 34, 10), [(2, 4), (16, 20), (32, 34)]);
        assert_eq!(windows(4, 2).between(5, 15, 10), []);
        assert!(windows(0, 0).between(0, u64::MAX, 100).len() <= 101);
    }
}
