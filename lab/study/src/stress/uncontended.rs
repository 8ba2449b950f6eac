//! The cost of acquiring a free lock, by the position of its last holder (SSYNC, section 6.1.1).
//! Two threads acquire the lock in turn, and time their own acquisitions.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use syncline::lock::RawLock;
use syncline::memory::{Memory, Padded, Word};

use super::lines;
use crate::world::{Body, Course, World};

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// The number of acquisitions of each thread before those that count.
    pub warm_up: u32,
    /// The number of acquisitions of each thread that count.
    pub measured: u32,
    /// Whether the line of a word is fetched for writing before each load of the word.
    pub fetch_for_writing: bool,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Whose turn it is: each thread draws a number, and the thread whose number is `next` continues.
/// Both words are on one line, as in SSYNC.
#[derive(Default)]
struct Order<M: Memory> {
    /// The next number to draw.
    drawn: M::Word,
    /// The number of the thread whose turn it is.
    next: M::Word,
}

/// Average cycles from the beginning of an acquisition until the lock is held, without the cost of
/// reading the clock. The first hardware thread and the hardware thread `partner` take turns to
/// acquire the lock. If `partner` is `None`, the first one acquires it alone.
///
/// As in SSYNC's program (libslock's `uncontended`), a thread draws a number and waits for its turn
/// even if it is alone. A release is visible to all threads before the next turn begins.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    partner: Option<usize>,
    turns: &Turns,
) -> f64 {
    let lock = Padded::<L>::default();
    let order = Padded::<Order<W::Memory>>::default();
    let places = world.places(1, crate::world::Placement::Near).into_iter().chain(partner);
    let places: Vec<usize> = places.collect();
    let mut cycles = vec![0u64; places.len()];
    let threads = places.iter().zip(&mut cycles).map(|(&place, cycles)| {
        let (lock, order) = (&lock, &order);
        let body: Body<'_, W> = Box::new(move |_| {
            let node = Padded::<L::Node>::default();
            for round in 0..turns.warm_up + turns.measured {
                // Relaxed: only the number matters; `next` orders the turns.
                let mine = order.drawn.fetch_add(1, Relaxed);
                let mut looks = 0;
                // Acquire: pairs with the Release below.
                while order.next.load(Acquire) != mine {
                    looks += 1;
                    W::Memory::pause(looks);
                }
                let began = W::now();
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { lock.acquire(&node) };
                let took = W::now() - began;
                // SAFETY: as above.
                unsafe { lock.release(&node) };
                W::fence();
                if round >= turns.warm_up {
                    *cycles += took;
                }
                // Release: pairs with the Acquire above, so the next thread's turn happens
                // after this turn.
                order.next.store(mine.wrapping_add(1), Release);
            }
        });
        (place, body)
    });
    let shared = vec![(lines(&lock), 0), (lines(&order), 0)];
    let fetch_for_writing = turns.fetch_for_writing;
    let course = Course { shared, fetch_for_writing, ..Course::to_the_end(turns.seed) };
    world.run(&course, threads.collect());
    let acquisitions = f64::from(turns.measured) * places.len() as f64;
    let average = cycles.iter().sum::<u64>() as f64 / acquisitions;
    (average - world.clock_cost() as f64).max(0.0)
}
