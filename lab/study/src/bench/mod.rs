//! Stress tests for users: a request says which tests run, on which machine, and under which load.
//! The results are a table or data.

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
