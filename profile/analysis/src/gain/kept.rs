//! The kept windows of a run's logs, joined end to end. The time between them is missing in the
//! logs, and left out.
//!
//! The logs of a long run keep only windows of time, evenly spaced over the run. The prediction
//! replays the windows, and each thread goes straight from one window to the next. So a thread's
//! delay in one window carries over to all later windows, and threads wait for the slowest only at
//! the very end.

use crate::model::{Activity, Process, Span};

/// At most this many waits are replayed. More would take seconds.
const MOST_WAITS: usize = 200_000;
/// While there are fewer windows than this, leaving out time also splits each window in two. So
/// many windows are enough to see each phase of a run.
const FEWEST: usize = 8;

/// The parts of a run that are replayed.
pub struct Kept {
    /// The windows in order: start and end.
    windows: Vec<(f64, f64)>,
    /// For each window, the total seconds of all windows before it.
    before: Vec<f64>,
}

impl Kept {
    /// The parts of a process that are replayed: all windows of its timeline, or parts of them if
    /// they have too many waits.
    pub fn of(process: &Process) -> Kept {
        let waits = || {
            let spans = process.timeline.threads.iter().flatten();
            spans.filter(|span| span.activity == Activity::Wait)
        };
        let mut kept = Kept::new(process.timeline.windows.clone());
        while waits().filter(|wait| kept.has(wait)).count() > MOST_WAITS {
            kept = Kept::new(halved(&kept.windows));
        }
        kept
    }

    fn new(windows: Vec<(f64, f64)>) -> Kept {
        let sums = windows.iter().scan(0.0, |sum, (from, to)| {
            let before = *sum;
            *sum += to - from;
            Some(before)
        });
        Kept { before: sums.collect(), windows }
    }

    /// How many seconds of windows lie before a moment.
    pub fn until(&self, moment: f64) -> f64 {
        let begun = self.windows.partition_point(|&(from, _)| from <= moment);
        let Some(last) = begun.checked_sub(1) else { return 0.0 };
        let (from, to) = self.windows[last];
        self.before[last] + moment.min(to) - from
    }

    /// Whether some part of a span lies in a window.
    fn has(&self, span: &Span) -> bool {
        self.until(span.began) < self.until(span.ended)
    }
}

/// Half of the windows' time: the first half of each window, or, with fewer than [`FEWEST`]
/// windows, the first half of each half.
fn halved(windows: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let middle = |from: f64, to: f64| from + (to - from) / 2.0;
    let first_half = |(from, to)| (from, middle(from, to));
    let halves = |&(from, to): &(f64, f64)| [(from, middle(from, to)), (middle(from, to), to)];
    if windows.len() < FEWEST {
        windows.iter().flat_map(halves).map(first_half).collect()
    } else {
        windows.iter().copied().map(first_half).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_between_windows() {
        //  0    1==2      4===6
        let kept = Kept::new(vec![(1.0, 2.0), (4.0, 6.0)]);
        let moments = [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0];
        let expected = [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0];
        assert_eq!(moments.map(|moment| kept.until(moment)), expected);
        assert_eq!(Kept::new(Vec::new()).until(7.0), 0.0);
    }

    #[test]
    fn halving_leaves_out_time_evenly() {
        assert_eq!(halved(&[(0.0, 8.0)]), [(0.0, 2.0), (4.0, 6.0)]);
        let mut windows = vec![(0.0, 64.0)];
        for left in [32.0, 16.0, 8.0, 4.0, 2.0] {
            windows = halved(&windows);
            assert_eq!(windows.iter().map(|(from, to)| to - from).sum::<f64>(), left);
            assert!(windows.last().is_some_and(|&(from, _)| from >= 32.0), "from the whole run");
        }
        assert_eq!(windows.len(), FEWEST);
    }
}
