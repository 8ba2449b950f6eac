//! Rungs whose threads do not wait for each other, or wait only until a value arrives. Most return
//! the nanoseconds of a round.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use syncline::memory::{Memory, Padded, Word};

use super::size::{Size, each};
use crate::world::{Body, Course, Placement, World};

type WordOf<W> = <<W as World>::Memory as Memory>::Word;

/// Runs threads that begin together. Returns the cycles of the thread that took longest.
fn together<W: World>(world: &W, size: &Size, threads: usize, act: impl Fn(u32) + Sync) -> u64 {
    let ready = Padded::<WordOf<W>>::default();
    let mut took = vec![0; threads];
    let places = world.places(threads, Placement::Near).into_iter().zip(0..).zip(&mut took);
    let bodies = places.map(|((place, mine), took)| {
        let (ready, act) = (&ready, &act);
        let body: Body<'_, W> = Box::new(move |_| {
            // AcqRel and Acquire pair with each other: all threads begin after all have arrived.
            ready.fetch_add(1, AcqRel);
            while ready.load(Acquire) < threads as u32 {
                W::Memory::pause(1);
            }
            let began = W::now();
            act(mine);
            *took = W::now() - began;
        });
        (place, body)
    });
    world.run(&Course::to_the_end(size.seed), bodies.collect());
    took.into_iter().max().unwrap_or(0)
}

/// A single thread acquires and releases a word, as a test-and-set lock does.
pub fn own_word<W: World>(world: &W, size: &Size) -> f64 {
    let word = Padded::<WordOf<W>>::default();
    let cycles = together(world, size, 1, |_| {
        for _ in 0..size.rounds {
            word.swap(1, Acquire);
            word.store(0, Release);
        }
    });
    each(world, cycles, size.rounds)
}

/// A single thread only pauses, for times like those between two operations of a lock's stress
/// test.
pub fn pause<W: World>(world: &W, size: &Size) -> f64 {
    let cycles = together(world, size, 1, |mine| {
        let mut away = away::<W>(world, size, mine);
        (0..size.rounds).for_each(|_| away());
    });
    each(world, cycles, size.rounds)
}

/// A function that pauses for a random time, from 0.5 to 1.5 times `size.pause`.
fn away<W: World>(world: &W, size: &Size, thread: u32) -> impl FnMut() + use<W> {
    let pause = (size.pause * world.hertz()).round() as u64;
    let mut chance = fastrand::Rng::with_seed(size.seed + u64::from(thread));
    move || W::delay(pause / 2 + chance.u64(0..=pause))
}

/// A writer counts up without a pause, while a reader polls until it has seen the last value.
pub fn polled<W: World>(world: &W, size: &Size) -> f64 {
    let word = Padded::<WordOf<W>>::default();
    let cycles = together(world, size, 2, |mine| {
        if mine == 0 {
            (1..=size.rounds).for_each(|value| word.store(value, Release));
        } else {
            while word.load(Acquire) < size.rounds {
                W::Memory::pause(1);
            }
        }
    });
    each(world, cycles, size.rounds)
}

/// The result of two threads that incremented one word without a pause.
#[derive(Clone, Copy, Debug)]
pub struct Increments {
    /// Nanoseconds of one increment.
    pub nanoseconds: f64,
    /// The average number of increments that a thread makes before the other thread's next one.
    pub in_a_row: f64,
}

/// Two threads increment one word. The value that an increment returns shows a thread whether it
/// also made the previous increment.
pub fn increments<W: World>(world: &W, size: &Size) -> Increments {
    let (word, rows) = (Padded::<WordOf<W>>::default(), Padded::<WordOf<W>>::default());
    let most = 4 * size.rounds;
    let cycles = together(world, size, 2, |_| {
        let (mut own, mut next) = (0, u32::MAX);
        loop {
            let value = word.fetch_add(1, Relaxed);
            if value >= most {
                break;
            }
            own += u32::from(value != next);
            next = value + 1;
        }
        rows.fetch_add(own, Relaxed);
    });
    let in_a_row = f64::from(most) / f64::from(rows.load(Relaxed).max(1));
    Increments { nanoseconds: each(world, cycles, most), in_a_row }
}

/// Each of two threads repeatedly increments a word twice and then pauses. The result shows whether
/// the line is still in the cache for the second increment. This increment follows at once or, with
/// `hint`, after a spin-loop hint.
pub fn two_increments<W: World>(world: &W, size: &Size, hint: bool) -> f64 {
    let word = Padded::<WordOf<W>>::default();
    let cycles = together(world, size, 2, |mine| {
        let mut away = away::<W>(world, size, mine);
        for _ in 0..size.rounds {
            word.fetch_add(1, Relaxed);
            if hint {
                W::Memory::pause(1);
            }
            word.fetch_add(1, Relaxed);
            away();
        }
    });
    each(world, cycles, size.rounds)
}
