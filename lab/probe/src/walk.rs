//! Walks through a large memory. Each line contains the position of the next line, so no load
//! begins before the previous one is complete, and the positions can't be predicted. A step takes
//! as long as a load that finds its line in the smallest cache that has room for the whole region.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Padded, Word};

use crate::bench::{Bench, Lines, Timed};
use crate::error::Error;

/// The ticks of a walk of this many steps, one value for each round. A step takes as long as a load
/// that finds its line in the smallest cache that has room for the region.
///
/// # Errors
/// If no thread can run at this place.
pub fn walk<B: Bench>(
    bench: &B,
    lines: &Lines<B::Memory>,
    place: usize,
    steps: usize,
    rounds: u32,
) -> Result<Vec<u64>, Error> {
    let region = &*lines.region;
    let samples = Mutex::new(Vec::new());
    bench.run(lines, &[place], &|_| {
        lay_cycle::<B::Memory>(region);
        let mut at = follow::<B::Memory>(region, 0, region.len());
        for _ in 0..rounds {
            let start = B::Memory::ticks();
            at = follow::<B::Memory>(region, at, steps);
            let stop = B::Memory::ticks();
            samples.lock().expect("no thread panics with it").push(stop.saturating_sub(start));
        }
        black_box(at);
    })?;
    Ok(samples.into_inner().expect("no thread panics with it"))
}

/// Links the lines into one random cycle (Sattolo's algorithm).
fn lay_cycle<M: Timed>(region: &[Padded<M::Word>]) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut next: Vec<u32> = (0..region.len() as u32).collect();
    for last in (1..next.len()).rev() {
        next.swap(last, random.usize(..last));
    }
    for (word, next) in region.iter().zip(next) {
        word.store(next, Relaxed);
    }
    M::settle();
}

#[inline(always)]
fn follow<M: Timed>(region: &[Padded<M::Word>], from: u32, steps: usize) -> u32 {
    let mut at = from;
    for _ in 0..steps {
        at = region[at as usize].load(Relaxed);
    }
    at
}
