//! Tests of ranks that die. The parts of the others remain, and operations on the dead rank's part
//! fail. Once a death is known, no operation of the dead rank takes effect any more.

use syncline_fabric::simulated::Simulation;
use syncline_fabric::{Fabric, Position};

use crate::seeds;

const VICTIM: usize = 1;

#[test]
fn a_dead_ranks_part_is_gone_and_survivors_go_on() {
    for seed in 0..seeds(300) {
        let ranks = 3 + seed as usize % 6;
        let outcome = Simulation::new(ranks, 4096, seed).dies(VICTIM, 3 + seed % 9).run(|fabric| {
            if fabric.rank() == VICTIM {
                for number in 0.. {
                    fabric.put(Position { rank: 0, at: 8 }, &(number as u64).to_ne_bytes());
                    fabric.flush(0).unwrap();
                    fabric.add(Position { rank: VICTIM, at: 16 }, 1).unwrap();
                }
            }
            let mut looks = 1;
            while fabric.is_alive(VICTIM) {
                fabric.pause(Position { rank: fabric.rank(), at: 0 }, looks);
                looks += 1;
            }
            let mut before = [0; 8];
            fabric.get(Position { rank: 0, at: 8 }, &mut before).unwrap();
            fabric.rest(std::time::Duration::from_millis(1));
            let mut after = [0; 8];
            fabric.get(Position { rank: 0, at: 8 }, &mut after).unwrap();
            assert_eq!(before, after, "something of the dead came late");

            let dead = fabric.load(Position { rank: VICTIM, at: 16 }).unwrap_err();
            assert_eq!(dead.rank, VICTIM);
            assert!(fabric.get(Position { rank: VICTIM, at: 0 }, &mut after).is_err());
            fabric.put(Position { rank: VICTIM, at: 0 }, &after);
            assert!(fabric.flush(VICTIM).is_err(), "a put to the dead was said to have arrived");
            fabric.add(Position { rank: 2, at: 24 }, 1).unwrap();
        });
        let through = outcome.results.iter().filter(|result| result.is_some()).count();
        assert_eq!(through, ranks - 1, "seed {seed}");
        assert!(outcome.results[VICTIM].is_none());
    }
}

#[test]
#[should_panic(expected = "ranks still wait after")]
fn waiting_for_a_dead_rank_ends_the_run() {
    Simulation::new(2, 4096, 1).dies(VICTIM, 1).run(|fabric| {
        let flag = Position { rank: 0, at: 0 };
        match fabric.rank() {
            VICTIM => {
                fabric.load(Position { rank: VICTIM, at: 8 }).and_then(|_| fabric.store(flag, 1))
            }
            _ => {
                let mut looks = 1;
                while fabric.load(flag).unwrap() == 0 {
                    fabric.pause(flag, looks);
                    looks += 1;
                }
                Ok(())
            }
        }
        .unwrap();
    });
}
