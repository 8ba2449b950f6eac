//! Stress tests as a user requests them: which ones, on which machine, under which load. Their
//! results come as a table or as data.

mod compare;
mod lines;
mod locks;
mod programs;
mod request;
mod sweep;

pub use compare::{
    Calibrated, Comparison, alike, calibrated, compared, comparison_table, error_percent,
    with_equal_pauses, within_percent,
};
pub use lines::{Line, Shown, table};
pub use locks::{atomics, locks, uncontended};
pub use programs::{SERVERS, channels, channels_known, table as tables, transactions};
pub use request::{Error, Request};
