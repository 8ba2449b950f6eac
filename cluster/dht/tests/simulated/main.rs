//! The table on simulated ranks, some of which die. Every answer must have an explanation, for many
//! seeds; each seed changes the order in which operations reach their targets. Then the same runs
//! use tables with one fault each, and the fault must be found.
//!
//! `SYNCLINE_SEEDS=100000` runs that many seeds in the tests without faults, but at most 100 with
//! thousands of ranks.

mod faults;
mod history;
mod scene;

use std::env;

use scene::Scene;
use syncline_dht::Table;

/// The number of seeds with which a case is run.
fn seeds(few: u64) -> u64 {
    env::var("SYNCLINE_SEEDS").map_or(few, |seeds| seeds.parse().expect("a number of seeds"))
}

fn check(scene: Scene) {
    let opened =
        scene::run(scene, |fabric, options| Table::open(fabric, options).expect("a table"));
    opened.unwrap_or_else(|fault| panic!("{scene:?}: {fault}"));
}

#[test]
fn histories_are_linearizable() {
    for seed in 0..seeds(1000) {
        check(Scene::of(seed, false));
    }
}

#[test]
fn histories_are_linearizable_when_ranks_die() {
    for seed in 0..seeds(2000) {
        check(Scene::of(seed, true));
    }
}

#[test]
fn thousands_of_ranks_share_a_table() {
    for seed in 0..seeds(1).min(100) {
        check(Scene { seed, ranks: 4096, deaths: 3, steps: 1 });
    }
}
