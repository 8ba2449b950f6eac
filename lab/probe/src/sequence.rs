//! The sequences of accesses that are timed. The code is the same on this machine and on simulated
//! ones.
//!
//! **Many lines, one after another.** Reading a clock before and after a single access would take
//! longer than the access, and on many machines the clock ticks only every 10 to 40 ns. So a sample
//! is a chain of accesses to [`CHAIN`] lines. The address of each access depends on the result of
//! the access before, so no access begins before the previous one is complete. The lines are in
//! different pages and are accessed in a random order, which is different each time, so that no
//! prefetcher can guess the next line.
//!
//! **Subtracted time.** The time of the chain without the accesses is subtracted: the time of the
//! clock, of the loop and, for stores, of the fence. For its thread, a store is complete when it is
//! in the store buffer. But the probe measures the time until the store has taken effect, that is,
//! until a fence after the store is passed. (In SSYNC's measurements too, an atomic operation takes
//! about as long as a store followed by a barrier.)
//!
//! **Turns.** Threads bring the lines into their state in a fixed order. A word on a separate line
//! says whose turn it is.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use syncline::memory::{Memory, Padded, Word};

use crate::bench::{Bench, Lines, Timed};
use crate::case::{Access, Step, Touch};
use crate::error::Error;

/// The number of lines of a chain. It is small enough that each line can be in its own page without
/// misses in the first-level translation buffer (which has at least 32 entries) or in a first-level
/// cache. It is large enough that reading the clock is only a small part of the time.
pub const CHAIN: usize = 32;

/// The number of positions for lines in a page. A position has two lines of 64 bytes, because
/// processors fetch such pairs together.
const PLACES_OF_PAGE: usize = 4096 / size_of::<Padded<u32>>();

/// The number of positions for lines that a chain needs.
pub const PLACES: usize = CHAIN * PLACES_OF_PAGE;

/// The number of cycles in a sample of the processor's frequency. It is large enough that reading
/// the clock does not matter, and small enough that a sample fits between two interrupts.
pub const WORK: u32 = 100_000;

/// The number of repetitions of a chain if repetition changes nothing. On some machines, an access
/// to an own line takes only a tenth of the time between two ticks of the clock.
pub const LAPS: usize = 32;

/// The sequence that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// A chain of these accesses, one to each line.
    Access(Access),
    /// A chain of these accesses to each line, repeated [`LAPS`] times. This is for lines that stay
    /// in the measuring thread's cache.
    Own(Access),
    /// Loads of the chain's lines that do not wait for each other.
    Together,
    /// A chain without accesses, repeated [`LAPS`] times, with fences or without.
    Nothing { fences: bool },
    /// Nothing: this is the time that reading the clock takes.
    Clock,
    /// Computing for [`WORK`] cycles of the processor.
    Work,
}

/// The ticks of each round. A thread's *role* is its index in `places`. In a round, the threads
/// first take the preparing steps, and then the accesses of role 0 are timed.
///
/// # Errors
/// If no thread can run on one of the hardware threads that `places` names.
pub fn ticks<B: Bench>(
    bench: &B,
    lines: &Lines<B::Memory>,
    places: &[usize],
    steps: &[Step],
    timing: Timing,
    rounds: u32,
) -> Result<Vec<u64>, Error> {
    let turn = Padded::<<B::Memory as Memory>::Word>::default();
    let samples = Mutex::new(Vec::with_capacity(rounds as usize));
    bench.run(lines, places, &|role| {
        let own = rounds_of::<B::Memory>(role, &lines.region, &turn, steps, timing, rounds);
        if role == 0 {
            *samples.lock().expect("no thread panics with it") = own;
        }
    })?;
    Ok(samples.into_inner().expect("no thread panics with it"))
}

/// Does what a role has to do in all rounds. For role 0, returns the samples.
fn rounds_of<M: Timed>(
    role: usize,
    region: &[Padded<M::Word>],
    turn: &M::Word,
    steps: &[Step],
    timing: Timing,
    rounds: u32,
) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(role as u64 + 1);
    let mut samples = Vec::new();
    let mut now = 0;
    for round in 0..rounds {
        let order = order(&mut random);
        for &(who, touch) in steps {
            if who == role {
                wait_for::<M>(turn, now);
                touch_all::<M>(region, &order, touch, round);
                turn.store(now + 1, Release);
            }
            now += 1;
        }
        if role == 0 {
            wait_for::<M>(turn, now);
            samples.push(timed::<M>(region, &order, timing, round));
            turn.store(now + 1, Release);
        }
        now += 1;
    }
    samples
}

/// Waits for this thread's turn. Acquire: pairs with the Release that ends the turn before, so the
/// accesses to lines in that turn have happened.
fn wait_for<M: Timed>(turn: &M::Word, now: u32) {
    let mut looks = 0;
    while turn.load(Acquire) != now {
        looks += 1;
        M::pause(looks);
    }
}

/// The positions of a chain's lines, one in each page, in a random order.
fn order(random: &mut fastrand::Rng) -> [u32; CHAIN] {
    // The position differs from page to page, so that not all lines are in one set of a cache.
    // Since the step is odd, all positions of a page occur.
    let mut order = std::array::from_fn(|n| (n * PLACES_OF_PAGE + n * 5 % PLACES_OF_PAGE) as u32);
    random.shuffle(&mut order);
    order
}

fn touch_all<M: Timed>(region: &[Padded<M::Word>], order: &[u32], touch: Touch, round: u32) {
    for &place in order {
        let word = &region[place as usize];
        match touch {
            Touch::Store => word.store(round, Relaxed),
            Touch::Load => drop(black_box(word.load(Relaxed))),
            Touch::Evict => M::evict(word),
        }
    }
    M::settle();
}

fn timed<M: Timed>(region: &[Padded<M::Word>], order: &[u32], what: Timing, value: u32) -> u64 {
    match what {
        Timing::Access(access) => chain::<M>(region, order, 1, access, value),
        Timing::Own(access) => chain::<M>(region, order, LAPS, access, value),
        Timing::Together => together::<M>(region, order),
        Timing::Nothing { fences: true } => each::<M>(region, order, LAPS, |_| {
            M::settle();
            0
        }),
        Timing::Nothing { fences: false } => {
            each::<M>(region, order, LAPS, |word| word.address().0 as u32)
        }
        Timing::Clock => each::<M>(region, &[], 1, |_| 0),
        Timing::Work => {
            let start = M::ticks();
            M::work(WORK);
            M::ticks().saturating_sub(start)
        }
    }
}

/// The ticks of a chain of accesses to lines that contain `value`.
#[inline(always)]
fn chain<M: Timed>(
    region: &[Padded<M::Word>],
    order: &[u32],
    laps: usize,
    access: Access,
    value: u32,
) -> u64 {
    match access {
        Access::Load => each::<M>(region, order, laps, |word| word.load(Relaxed)),
        Access::Store => each::<M>(region, order, laps, |word| {
            word.store(value, Relaxed);
            M::settle();
            0
        }),
        // The exchange must succeed so that it writes; which value it writes does not matter.
        Access::CompareAndSwap => each::<M>(region, order, laps, |word| {
            word.exchange(value, value, Relaxed).unwrap_or_else(|other| other)
        }),
        Access::FetchAndIncrement => {
            each::<M>(region, order, laps, |word| word.fetch_add(1, Relaxed))
        }
        Access::TestAndSet => each::<M>(region, order, laps, M::test_and_set),
        Access::Swap => each::<M>(region, order, laps, |word| word.swap(value, Relaxed)),
    }
}

/// The ticks of accesses to the lines, one after another, repeated `laps` times.
#[inline(always)]
fn each<M: Timed>(
    region: &[Padded<M::Word>],
    order: &[u32],
    laps: usize,
    access: impl Fn(&M::Word) -> u32,
) -> u64 {
    // This value is zero, but the compiler does not know that. So the next address depends on the
    // result of the last access.
    let zero = black_box(0);
    let mut seen = 0;
    let start = M::ticks();
    for _ in 0..laps {
        for &place in order {
            seen = access(&region[(place + (seen & zero)) as usize]);
            M::depends();
        }
    }
    let stop = M::ticks();
    black_box(seen);
    stop.saturating_sub(start)
}

/// The ticks of loading all lines. The addresses are known from the beginning, so no load waits for
/// another.
#[inline(always)]
fn together<M: Timed>(region: &[Padded<M::Word>], order: &[u32]) -> u64 {
    let start = M::ticks();
    let sum = order.iter().map(|&place| region[place as usize].load(Relaxed));
    let sum = sum.fold(0, u32::wrapping_add);
    let stop = M::ticks();
    black_box(sum);
    stop.saturating_sub(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_page_once_and_changes() {
        let mut random = fastrand::Rng::with_seed(1);
        let (one, other) = (order(&mut random), order(&mut random));
        assert_ne!(one, other);
        let mut pages = one.map(|place| place as usize / PLACES_OF_PAGE);
        pages.sort_unstable();
        assert_eq!(pages, std::array::from_fn(|n| n));
        let places: std::collections::BTreeSet<_> =
            one.iter().map(|&place| place as usize % PLACES_OF_PAGE).collect();
        assert_eq!(places.len(), PLACES_OF_PAGE, "all sets of a cache");
    }
}
