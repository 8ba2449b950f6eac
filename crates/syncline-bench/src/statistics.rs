//! The median of a sample, and how far it can be trusted.
//!
//! Timings on a shared machine have a long tail to one side, so nothing here assumes a
//! distribution: the interval lies between two order statistics, whose ranks come from the
//! binomial distribution alone.

/// A median and its interval of at least 95 % confidence. Fewer than six values cannot
/// give as much: the interval is then their whole range (five: 94 %, three: 75 %).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// Of one value or more, none of them NaN.
    pub fn of(values: &[f64]) -> Spread {
        Spread::of_looks(values, 1)
    }

    /// The same where up to so many looks at a growing sample decide when it is enough: wider, so
    /// that the intervals of all looks hold the median with 95 % confidence (Bonferroni).
    pub fn of_looks(values: &[f64], looks: usize) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let skip = values_outside(sorted.len(), 0.025 / looks as f64);
        Spread {
            median: median_of_sorted(&sorted),
            low: sorted[skip],
            high: sorted[sorted.len() - 1 - skip],
        }
    }
}

/// How many of `count` sorted values to leave out at either end. The true median lies
/// below the value at place `n` (counted from 0) only if at most `n` of the values do,
/// which happens as often as that many heads in `count` tosses of a coin; `chance` is how often it
/// may.
fn values_outside(count: usize, chance: f64) -> usize {
    let mut exactly = 0.5_f64.powi(count as i32);
    let mut at_most = exactly;
    let mut outside = 0;
    while outside + 1 < count.div_ceil(2) {
        let next = outside + 1;
        exactly *= (count - outside) as f64 / next as f64;
        at_most += exactly;
        if at_most > chance {
            break;
        }
        outside = next;
    }
    outside
}

/// Of one value or more.
pub fn median(values: &[f64]) -> f64 {
    Spread::of(values).median
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Of positive values.
pub fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_published_tables() {
        let ranks = [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (25, 7), (50, 17)];
        for (count, outside) in ranks {
            assert_eq!(values_outside(count, 0.025), outside, "{count} values");
        }
    }

    #[test]
    fn an_interval_that_is_looked_at_several_times_is_wider() {
        // Of 18 values the true median lies below the fifth one in 1.5 % of samples, and below the
        // fourth one in 0.4 %.
        let values: Vec<f64> = (1..=18).map(f64::from).collect();
        assert_eq!(Spread::of(&values).low, 5.0);
        assert_eq!(Spread::of_looks(&values, 3).low, 4.0);
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_interval() {
        let mut values: Vec<f64> = (1..=9).map(f64::from).collect();
        let calm = Spread::of(&values);
        assert_eq!(calm, Spread { median: 5.0, low: 2.0, high: 8.0 });
        values[8] = 1e9;
        assert_eq!(Spread::of(&values), calm);
    }

    #[test]
    fn a_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean([4.0, 0.25].into_iter()) - 1.0).abs() < 1e-12);
        assert_eq!(median(&[1.0, 4.0]), 2.5);
    }
}
