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

/// Formats a share as a whole number of percent, with its sign.
pub fn percent(share: f64) -> String {
    // Adding 0 turns a negative zero into zero.
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}
