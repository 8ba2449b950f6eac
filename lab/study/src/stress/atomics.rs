//! Threads that repeat one atomic operation on one word (SSYNC, section 5.4).
//!
//! Not all operations succeed: a compare-and-swap fails if another thread has written to the word
//! since this thread last saw it, and a test-and-set fails until the thread that has set the word
//! clears it.

use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};

use super::{Load, Outcome, Tally, lines, outcome, rest, stagger};
use crate::world::{Body, Phase, Watch, World};

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Compare-and-swap, which is tried once and may fail.
    Cas,
    /// Test-and-set.
    Tas,
    /// Fetch-and-increment made of compare-and-swap, which is retried until it succeeds.
    CasFai,
    /// Swap.
    Swap,
    /// Fetch-and-increment.
    Fai,
}

impl Operation {
    /// All operations, in the order of SSYNC's figure 4.
    pub const ALL: [Operation; 5] = {
        use Operation::{Cas, CasFai, Fai, Swap, Tas};
        [Cas, Tas, CasFai, Swap, Fai]
    };

    /// The name of the operation.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Cas => "cas",
            Operation::Tas => "tas",
            Operation::CasFai => "cas-fai",
            Operation::Swap => "swap",
            Operation::Fai => "fai",
        }
    }

    /// The operation with this name; `None` if there is no such operation.
    pub fn named(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// Runs the test with one kind of operation.
pub fn run<W: World>(world: &W, operation: Operation, load: &Load) -> Outcome {
    let word = Padded::<<W::Memory as Memory>::Word>::default();
    let places = world.places(load.threads, load.placement);
    let pause = load.pause(world, &places);
    let spread = load.spread(world, &places);
    let mut tallies = vec![Tally::default(); load.threads];
    let threads = places.iter().zip(&mut tallies).enumerate().map(|(number, (&place, tally))| {
        let word = &word;
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            stagger::<W>(&mut chance, spread);
            let mut counted = Tally::default();
            let mut seen = 0;
            loop {
                let began = if load.timed { W::now() } else { 0 };
                let succeeded = call(&**word, operation, &mut seen);
                let took = if load.timed { W::now() - began } else { 0 };
                match watch.phase() {
                    Phase::WarmUp => {}
                    Phase::Measured => counted.note(succeeded, took),
                    Phase::Over => break,
                }
                rest::<W>(&mut chance, pause);
                if operation == Operation::Tas && succeeded {
                    word.store(0, Relaxed);
                }
            }
            *tally = counted;
        });
        (place, body)
    });
    let seconds = world.run(&load.course(vec![lines(&word)]), threads.collect());
    outcome(&tallies, seconds, world.clock_cost())
}

/// Makes one call, and returns whether it succeeded. `seen` is the value that the thread expects in
/// the word; a compare-and-swap and a swap update it.
#[inline]
fn call(word: &impl Word, operation: Operation, seen: &mut u32) -> bool {
    // Relaxed throughout: the word guards no other data.
    match operation {
        Operation::Cas => {
            let new = seen.wrapping_add(1);
            let result = word.exchange(*seen, new, Relaxed);
            *seen = result.map_or_else(|other| other, |_| new);
            result.is_ok()
        }
        Operation::Tas => word.fetch_or(1, Relaxed) & 1 == 0,
        Operation::CasFai => loop {
            let value = word.load(Relaxed);
            if word.exchange(value, value.wrapping_add(1), Relaxed).is_ok() {
                return true;
            }
        },
        Operation::Swap => {
            *seen = word.swap(*seen + 1, Relaxed);
            true
        }
        Operation::Fai => {
            word.fetch_add(1, Relaxed);
            true
        }
    }
}
