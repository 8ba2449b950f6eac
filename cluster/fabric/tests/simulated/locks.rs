//! Tests of every lock of the catalogue on words in ranks' parts.

use syncline::wait::Spin;
use syncline_fabric::{Simulated, Window};

use crate::cases::{message, section, sum};
use crate::seeds;

macro_rules! lock {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        #[test]
        fn $name() {
            type Lock = syncline::lock::$Lock<Spin, Window<Simulated>>;
            for seed in 0..seeds(60) {
                // With 18 ranks, two of them are on another machine than the others.
                let ranks = [2, 3, 5, 18][seed as usize % 4];
                if let Err(fault) = section::<Simulated, Lock>(ranks, 4, seed) {
                    panic!("{ranks} ranks, seed {seed}: {fault}");
                }
            }
        }
    };
}

syncline::for_each_lock!(lock);

#[test]
fn sums_are_exact_and_messages_whole() {
    for seed in 0..seeds(400) {
        let ranks = 2 + seed as usize % 63;
        sum::<Simulated>(ranks, 5, seed).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        message::<Simulated>(ranks, 3, seed).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    }
}

#[test]
fn thousands_of_ranks_take_turns() {
    type Lock = syncline::lock::Mcs<Spin, Window<Simulated>>;
    for seed in 0..seeds(1).min(100) {
        sum::<Simulated>(4096, 2, seed).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        section::<Simulated, Lock>(4096, 1, seed)
            .unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    }
}

/// One seed always gives the same run, and another seed gives another run.
#[test]
fn a_seed_repeats_its_run() {
    use syncline_fabric::simulated::Simulation;
    use syncline_fabric::{Fabric, Position};
    let run = |seed| {
        let outcome = Simulation::new(8, 4096, seed).run(|fabric| {
            (0..5).map(|_| fabric.add(Position { rank: 3, at: 0 }, 1).unwrap()).collect::<Vec<_>>()
        });
        (outcome.results, outcome.time)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
