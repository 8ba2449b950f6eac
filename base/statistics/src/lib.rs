//! Medians, and how far they can be trusted.
//!
//! Timings on a shared machine have a long tail to one side, so nothing here assumes a
//! distribution. `order` has the median, which represents a sample. `interval` has an interval for
//! the true median. The interval lies between two of the draws, whose ranks follow from the
//! binomial distribution of coin tosses. `looks` has such intervals for a sample that is looked at
//! while it grows. `summary` describes thousands of samples, and counts how many are far off.

mod interval;
mod looks;
mod order;
mod summary;

pub use interval::{Interval, fewest};
pub use looks::Looks;
pub use order::{geometric_mean, median, quantile};
pub use summary::{Summary, middle_mean};
