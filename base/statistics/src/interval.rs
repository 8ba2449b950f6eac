//! The median of a few numbers, and an interval for the true median.
//!
//! Of *n* independent draws, each lies below the true median with probability one half. So the
//! number of draws below it is binomial, and the true median lies between the *k*-th smallest and
//! the *k*-th largest draw unless fewer than *k* draws are on one side of it. This holds for every
//! distribution, and gives intervals of 95 % with as few as six draws.
//!
//! Source: the sign test's interval, e.g. Hollander, Wolfe and Chicken, "Nonparametric Statistical
//! Methods" (2014), section 3.6.

use crate::looks::Looks;
use crate::order::{quantile, sorted};

/// A median, and an interval that contains the true median with some probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median of the draws.
    pub median: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where the interval ends.
    pub high: f64,
}

impl Interval {
    /// The median of these numbers, and the narrowest interval between two of them that misses the
    /// true median with at most probability `miss`. `None` if there are too few numbers for that.
    pub fn of(numbers: &[f64], miss: f64) -> Option<Interval> {
        let (_, cut) = Looks::once(numbers.len()).cuts(miss)[0];
        cut.map(|cut| Interval::cut(numbers, cut))
    }

    /// Like [`Interval::of`], but if there are too few numbers, the interval covers all of them.
    /// Such an interval misses more often than requested (at 0.05, with five numbers: 0.06; with
    /// three: 0.25).
    ///
    /// # Panics
    /// If there are no numbers.
    pub fn or_range(numbers: &[f64], miss: f64) -> Interval {
        Interval::of(numbers, miss).unwrap_or_else(|| Interval::cut(numbers, 0))
    }

    /// The median of these numbers, and the interval that leaves out `outside` of them at each end.
    ///
    /// # Panics
    /// If no number is left.
    pub fn cut(numbers: &[f64], outside: usize) -> Interval {
        let sorted = sorted(numbers);
        let left = &sorted[outside..sorted.len() - outside];
        let median = quantile(left, 0.5).expect("a number is left");
        Interval { median, low: left[0], high: left[left.len() - 1] }
    }
}

/// The fewest draws that have an interval which misses with at most this probability.
pub fn fewest(miss: f64) -> usize {
    (1..).find(|&n| Looks::once(n).says(miss).is_some()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_few_suffice() {
        assert_eq!(fewest(0.05), 6);
        assert_eq!(fewest(0.01), 8);
    }

    #[test]
    fn numbers_may_come_in_any_order() {
        let interval = Interval::of(&[3.0, 1.0, 6.0, 5.0, 2.0, 4.0], 0.05);
        assert_eq!(interval, Some(Interval { median: 3.5, low: 1.0, high: 6.0 }));
        assert_eq!(Interval::of(&[1.0; 5], 0.05), None);
        let range = Interval::or_range(&[2.0, 1.0, 4.0], 0.05);
        assert_eq!(range, Interval { median: 2.0, low: 1.0, high: 4.0 });
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_interval() {
        let mut values: Vec<f64> = (1..=9).map(f64::from).collect();
        let calm = Interval::or_range(&values, 0.05);
        assert_eq!(calm, Interval { median: 5.0, low: 2.0, high: 8.0 });
        values[8] = 1e9;
        assert_eq!(Interval::or_range(&values, 0.05), calm);
    }

    #[test]
    fn one_that_may_miss_less_often_is_wider() {
        // With 18 values, the true median lies below the fifth smallest in 1.5 % of samples, and
        // below the fourth smallest in 0.4 %.
        let values: Vec<f64> = (1..=18).map(f64::from).collect();
        assert_eq!(Interval::or_range(&values, 0.05).low, 5.0);
        assert_eq!(Interval::or_range(&values, 0.05 / 3.0).low, 4.0);
    }

    /// The interval misses as often as calculated, which is less often than allowed, for a skewed
    /// distribution with a known median.
    #[test]
    fn it_misses_no_more_often_than_it_may() {
        const TRIALS: u32 = 4000;
        let mut random = fastrand::Rng::with_seed(7);
        let median = std::f64::consts::LN_2;
        let mut missed = 0;
        for _ in 0..TRIALS {
            let draws: Vec<f64> = (0..10).map(|_| -(1.0 - random.f64()).ln()).collect();
            let interval = Interval::of(&draws, 0.05).expect("ten are enough");
            missed += u32::from(median < interval.low || median > interval.high);
        }
        // Of ten numbers, one at each end is left out; that misses with probability 22 of 1024.
        let share = f64::from(missed) / f64::from(TRIALS);
        assert!((0.012..0.032).contains(&share), "{share}");
    }
}
