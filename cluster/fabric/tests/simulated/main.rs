//! Tests of structures on a fabric, with simulated ranks: sums, messages and locks, with many
//! seeds. Each seed gives another order of the operations on their way. The same cases also run on
//! fabrics that have a fault, and must find it.
//!
//! `SYNCLINE_SEEDS=100000` runs each case without a fault with that many seeds; a case with
//! thousands of ranks runs with 100 of them at most.

mod cases;
mod deaths;
mod faults;
mod locks;

use std::env;

/// The number of seeds with which a case runs: `few`, or as many as the environment says.
fn seeds(few: u64) -> u64 {
    env::var("SYNCLINE_SEEDS").map_or(few, |seeds| seeds.parse().expect("a number of seeds"))
}
