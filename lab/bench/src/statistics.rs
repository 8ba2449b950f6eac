//! Medians of figures, with intervals of 95 % confidence.

pub use syncline_statistics::{Interval as Spread, geometric_mean};

/// How often an interval may miss the true median.
pub const MISS: f64 = 0.05;

/// Of one value or more.
pub fn spread(values: &[f64]) -> Spread {
    Spread::or_range(values, MISS)
}

/// Of one value or more.
pub fn median(values: &[f64]) -> f64 {
    syncline_statistics::median(values).expect("a value")
}

/// A share as a whole number of percent, with its sign.
pub fn percent(share: f64) -> String {
    // Adding 0 makes a zero of a negative zero.
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}
