//! Threads that acquire locks: one lock for all threads (extreme contention), or one of many locks
//! at random. Holders may read and write a line of data (SSYNC, sections 5.3, 6.1.2 and 6.1.3).

use std::sync::atomic::Ordering::Relaxed;

use syncline::lock::RawLock;
use syncline::memory::{Memory, Padded, Word};

use super::{Load, Outcome, Tally, lines, outcome, rest, stagger};
use crate::world::{Body, Phase, Watch, World};

/// A lock and the data that it protects, on lines of their own.
struct Cell<L: RawLock> {
    lock: Padded<L>,
    data: Padded<<L::Memory as Memory>::Word>,
}

/// Runs the test.
///
/// # Panics
/// If the data shows that two threads have held a lock at the same time.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(world: &W, load: &Load) -> Outcome {
    let cell = || Cell::<L> { lock: Padded::default(), data: Padded::default() };
    let cells: Vec<Cell<L>> = (0..load.locks).map(|_| cell()).collect();
    let places = world.places(load.threads, load.placement);
    let pause = load.pause(world, &places);
    let spread = load.spread(world, &places);
    let queue = if load.locks == 1 { load.queue(world, &places) } else { 0 };
    let mut tallies = vec![(Tally::default(), 0u64); load.threads];
    let threads = places.iter().zip(&mut tallies).enumerate().map(|(number, (&place, tally))| {
        let cells = &cells;
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            stagger::<W>(&mut chance, spread);
            if number == 0 && queue > 0 {
                hold::<W, L>(&cells[0].lock, queue);
            }
            let mut counted = Tally::default();
            let mut sections = 0;
            let node = Padded::<L::Node>::default();
            loop {
                let cell = &cells[if load.locks > 1 { chance.usize(..load.locks) } else { 0 }];
                let began = if load.timed { W::now() } else { 0 };
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { cell.lock.acquire(&node) };
                if load.data {
                    // Relaxed: the lock orders the accesses. The load and the store are separate,
                    // so that an update is lost if the lock does not exclude.
                    cell.data.store(cell.data.load(Relaxed).wrapping_add(1), Relaxed);
                    sections += 1;
                }
                // SAFETY: as above.
                unsafe { cell.lock.release(&node) };
                let took = if load.timed { W::now() - began } else { 0 };
                match watch.phase() {
                    Phase::WarmUp => {}
                    Phase::Measured => counted.note(true, took),
                    Phase::Over => break,
                }
                rest::<W>(&mut chance, pause);
            }
            *tally = (counted, sections);
        });
        (place, body)
    });
    let shared = cells.iter().map(lines).collect();
    let seconds = world.run(&load.course(shared), threads.collect());
    let sections: u64 = tallies.iter().map(|(_, sections)| sections).sum();
    let seen = cells.iter().fold(0u32, |sum, cell| sum.wrapping_add(cell.data.load(Relaxed)));
    assert_eq!(seen, sections as u32, "two threads held a lock at a time");
    let tallies: Vec<Tally> = tallies.into_iter().map(|(tally, _)| tally).collect();
    outcome(&tallies, seconds, world.clock_cost())
}

/// Holds the lock for this many cycles, so that all other threads queue up for it.
fn hold<W: World, L: RawLock<Memory = W::Memory>>(lock: &L, cycles: u64) {
    let node = Padded::<L::Node>::default();
    // SAFETY: the node stays in place, and the thread that releases has acquired.
    unsafe { lock.acquire(&node) };
    W::delay(cycles);
    // SAFETY: as above.
    unsafe { lock.release(&node) };
}
