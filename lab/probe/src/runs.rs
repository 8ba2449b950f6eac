//! Measures how long a line stays with its owner while another thread's request for it is on its
//! way.
//!
//! Two threads increment one word as fast as they can. If a line left its owner as soon as another
//! thread requested it, every increment would have to fetch the line. On real machines the owner
//! continues until the request arrives, so its increments come in *runs*. A thread recognizes a run
//! by the values that its increments return. The time between the beginnings of two runs is the
//! time that the line needs to travel to the other core and back. During a part of that time the
//! owner uses the line again, for all increments of a run except the first. Each of these
//! increments takes as long as an increment by a thread that is alone.

use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use syncline::memory::{Memory, Padded, Word};

use crate::bench::{Bench, Lines, Timed};
use crate::error::Error;

/// The number of increments in a sample. They make at least a few hundred runs, and take a fraction
/// of a millisecond.
const INCREMENTS: u32 = 10_000;

/// The counts of one thread: its increments, its runs, and its time.
#[derive(Clone, Copy)]
struct Seen {
    increments: u32,
    runs: u32,
    ticks: u64,
}

/// The share of the time between the beginnings of two runs in which the owner uses the line again.
/// `None` if the clock did not advance.
///
/// # Errors
/// If no thread can run at one of the places.
pub fn share<B: Bench>(
    bench: &B,
    lines: &Lines<B::Memory>,
    pair: [usize; 2],
) -> Result<Option<f64>, Error> {
    let alone = seen(bench, lines, &pair[..1])?;
    let both = seen(bench, lines, &pair)?;
    let sum = |field: fn(&Seen) -> u32| f64::from(both.iter().map(field).sum::<u32>());
    let (increments, runs) = (sum(|seen| seen.increments), sum(|seen| seen.runs));
    let each = alone[0].ticks as f64 / f64::from(alone[0].increments);
    let ticks = both.iter().map(|seen| seen.ticks).max().unwrap_or(0) as f64;
    let used = (increments - runs) * each / ticks;
    Ok((ticks > 0.0).then_some(used.clamp(0.0, 1.0)))
}

fn seen<B: Bench>(
    bench: &B,
    lines: &Lines<B::Memory>,
    places: &[usize],
) -> Result<Vec<Seen>, Error> {
    let ready = Padded::<<B::Memory as Memory>::Word>::default();
    let all = Mutex::new(Vec::new());
    lines.region[0].store(0, Relaxed);
    bench.run(lines, places, &|_| {
        // AcqRel and Acquire pair with each other, so no thread begins before all have arrived.
        ready.fetch_add(1, AcqRel);
        let mut looks = 0;
        while ready.load(Acquire) < places.len() as u32 {
            looks += 1;
            B::Memory::pause(looks);
        }
        let seen = increment::<B::Memory>(&lines.region[0]);
        all.lock().expect("no thread panics with it").push(seen);
    })?;
    Ok(all.into_inner().expect("no thread panics with it"))
}

/// Increments the word until all threads together have made [`INCREMENTS`] increments.
fn increment<M: Timed>(word: &M::Word) -> Seen {
    let (mut increments, mut runs) = (0, 0);
    let mut next = u32::MAX;
    let start = M::ticks();
    loop {
        // Relaxed: the word protects no other data.
        let value = word.fetch_add(1, Relaxed);
        if value >= INCREMENTS {
            break;
        }
        increments += 1;
        runs += u32::from(value != next);
        next = value + 1;
    }
    Seen { increments, runs, ticks: M::ticks().saturating_sub(start) }
}
