//! What stands on a fabric, on simulated ranks: sums, messages and locks, over many seeds. Each seed
//! is another order of what is on its way. Then the same cases on fabrics with a fault, which they must
//! find.
//!
//! `SYNCLINE_SEEDS=100000` runs as many of each case as that says.

mod cases;
mod deaths;
mod faults;
mod locks;

use std::env;

/// How many seeds a case is run with.
fn seeds(few: u64) -> u64 {
    env::var("SYNCLINE_SEEDS").map_or(few, |seeds| seeds.parse().expect("a number of seeds"))
}
