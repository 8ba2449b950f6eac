//! Structures on a fabric, on simulated ranks: sums, messages and locks, over many seeds. Each seed
//! gives another order of the operations on their way. Then the same cases run on fabrics with a
//! fault, which they must find.
//!
//! `SYNCLINE_SEEDS=100000` runs each case without a fault with that many seeds, but at most 100
//! with thousands of ranks.

mod cases;
mod deaths;
mod faults;
mod locks;

use std::env;

/// How many seeds a case is run with.
fn seeds(few: u64) -> u64 {
    env::var("SYNCLINE_SEEDS").map_or(few, |seeds| seeds.parse().expect("a number of seeds"))
}
