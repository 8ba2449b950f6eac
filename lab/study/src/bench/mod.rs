//! Stress tests for users: a request names the tests and their load. The results are formatted as a
//! table or written as data.

mod compare;
mod lines;
mod locks;
mod programs;
mod request;
mod sweep;

pub use compare::{
    Calibrated, Comparison, calibrated, calibrations_agree, compared, comparison_table,
    error_percent, with_equal_pauses, within_percent,
};
pub use lines::{Line, Shown, table};
pub use locks::{atomics, locks, uncontended};
pub use programs::{SERVERS, channels, channels_known, table as tables, transactions};
pub use request::{Error, Request};
