//! What it costs to take a free lock, by where its last holder was (SSYNC, section 6.1.1): two
//! threads that take it in turn, and time their own acquisitions.

use std::sync::atomic::Ordering::{Acquire, Release};

use syncline::lock::RawLock;
use syncline::memory::{Memory, Padded, Word};

use super::{Homes, lines};
use crate::world::{Body, Course, World};

/// How a run goes.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Acquisitions of each thread that do not count, at first.
    pub warm_up: u32,
    /// Acquisitions of each thread that count.
    pub measured: u32,
    /// Decides what is chance.
    pub seed: u64,
}

/// Cycles from beginning to acquire the lock until it is held, on average: by thread 0 alone,
/// or by it and a partner in turn.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    partner: Option<usize>,
    turns: &Turns,
) -> f64 {
    let lock = Padded::<L>::default();
    let turn = Padded::<<W::Memory as Memory>::Word>::default();
    let places = world.places(1, crate::world::Placement::Near).into_iter().chain(partner);
    let places: Vec<usize> = places.collect();
    let count = places.len() as u32;
    let mut cycles = vec![0u64; places.len()];
    let threads = places.iter().zip(&mut cycles).zip(0u32..).map(|((&place, cycles), mine)| {
        let (lock, turn) = (&lock, &turn);
        let body: Body<'_, W> = Box::new(move |_| {
            let node = Padded::<L::Node>::default();
            for round in 0..turns.warm_up + turns.measured {
                let mut looks = 0;
                // Acquire: pairs with the Release below. Alone it is always this one's turn.
                while count > 1 && turn.load(Acquire) != round * count + mine {
                    looks += 1;
                    W::Memory::pause(looks);
                }
                let began = W::now();
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { lock.acquire(&node) };
                let took = W::now() - began;
                // SAFETY: as above.
                unsafe { lock.release(&node) };
                if round >= turns.warm_up {
                    *cycles += took;
                }
                if count > 1 {
                    // Release: the other one's turn is after this one's.
                    turn.store(round * count + mine + 1, Release);
                }
            }
        });
        (place, body)
    });
    let shared = vec![(lines(&lock), 0), (lines(&turn), 0)];
    let homes = Homes::Machine;
    let course = Course { warm_up: 0.0, measured: 0.0, seed: turns.seed, shared, homes };
    world.run(&course, threads.collect());
    let acquisitions = f64::from(turns.measured) * f64::from(count);
    let average = cycles.iter().sum::<u64>() as f64 / acquisitions;
    (average - world.clock_cost() as f64).max(0.0)
}
