//! Medians of figures, with intervals at 95 % confidence.

pub use syncline_statistics::{Interval as Spread, geometric_mean};

/// The probability that an interval misses the true median.
pub const MISS: f64 = 0.05;

/// The median of at least one value, and its interval.
pub fn spread(values: &[f64]) -> Spread {
    Spread::or_range(values, MISS)
}

/// The median of at least one value.
pub fn median(values: &[f64]) -> f64 {
    syncline_statistics::median(values).expect("a value")
}

/// The smallest value that at least this share of the values does not exceed; `None` if there are
/// no values.
pub fn not_above(share: f64, mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

/// Formats a share as a whole number of percent, with its sign.
pub fn percent(share: f64) -> String {
    // Adding 0 turns a negative zero into zero.
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_three_quarters_are_not_above() {
        assert_eq!(not_above(0.75, vec![9.0, 1.0, 5.0, 3.0]), Some(5.0));
        assert_eq!(not_above(0.75, vec![9.0, 1.0, 5.0]), Some(9.0));
        assert_eq!(not_above(0.5, vec![7.0]), Some(7.0));
        assert_eq!(not_above(0.75, Vec::new()), None);
    }
}
