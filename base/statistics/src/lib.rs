//! Medians, and how far they can be trusted.
//!
//! Timings on a shared machine have a long tail to one side, so nothing here assumes a
//! distribution. A median stands for a sample (`order`); its interval lies between two of the
//! draws, whose ranks come from tosses of a coin (`interval`), also where a sample is looked at
//! while it grows (`looks`). What thousands of samples have in common, and how many are far off,
//! is a `summary`.

mod interval;
mod looks;
mod order;
mod summary;

pub use interval::{Interval, fewest};
pub use looks::Looks;
pub use order::{geometric_mean, median, quantile};
pub use summary::{Summary, middle_mean};
