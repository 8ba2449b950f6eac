//! The test cases, written over any fabric. Each returns what is wrong, if anything is.

use std::cell::Cell;

use bytemuck::Zeroable;
use syncline::lock::RawLock;
use syncline::memory::{Memory, Own};
use syncline_fabric::simulated::{Outcome, Simulated, Simulation};
use syncline_fabric::{Fabric, Heap, Here, Position, Region, Window};

/// The size of a rank's part in bytes.
pub const BYTES: usize = 32 * 1024;
/// The heap for lock nodes, after the memory that the cases use.
const NODES: Heap = Heap { at: 8192, bytes: BYTES - 8192 };
/// The position of a lock, in the part of rank 0.
const LOCK: Position = Position { rank: 0, at: 4096 };
/// Words in the part of rank 0: a count of calls of `meet`, a flag, and a sum.
const DONE: Position = Position { rank: 0, at: 64 };
const FLAG: Position = Position { rank: 0, at: 128 };
const SUM: Position = Position { rank: 0, at: 192 };
/// The number of words in another rank's part that are written and read together. There are
/// several, so that a read may see some words new and some old.
const WORDS: usize = 6;

/// A fabric that runs in a simulation.
pub trait Tested: Here {
    fn of(simulated: Simulated) -> Self;
}

impl Tested for Simulated {
    fn of(simulated: Simulated) -> Self {
        simulated
    }
}

/// Waits until a word is at least `least`.
fn wait_for(fabric: &impl Fabric, word: Position, least: u64) {
    let mut looks = 1;
    while fabric.load(word).unwrap() < least {
        fabric.pause(word, looks);
        looks += 1;
    }
}

/// Waits until all ranks have called this for the `time`-th time.
fn meet(fabric: &impl Fabric, time: u64) {
    fabric.add(DONE, 1).unwrap();
    wait_for(fabric, DONE, time * fabric.ranks() as u64);
}

/// All ranks add to one word. Checks the sum, and the values that the additions have returned.
pub fn sum<F: Tested>(ranks: usize, times: u64, seed: u64) -> Result<(), String> {
    let simulation = Simulation::new(ranks, BYTES, seed);
    let outcome = simulation.run(|simulated| {
        let fabric = F::of(simulated);
        let found: Vec<u64> = (0..times).map(|_| fabric.add(SUM, 1).unwrap()).collect();
        meet(&fabric, 1);
        (found, fabric.load(SUM).unwrap())
    });
    let expected = ranks as u64 * times;
    let mut all = Vec::new();
    for (found, sum) in outcome.results.into_iter().flatten() {
        if sum != expected {
            return Err(format!("the sum is {sum}, and not {expected}"));
        }
        all.extend(found);
    }
    all.sort_unstable();
    if all.into_iter().eq(0..expected) {
        Ok(())
    } else {
        Err("two additions found the same".to_owned())
    }
}

/// Rank 0 puts a number into many words, flushes, and announces it. A rank that sees the
/// announcement must get the number from all words.
pub fn message<F: Tested>(ranks: usize, times: u64, seed: u64) -> Result<(), String> {
    let outcome = Simulation::new(ranks, BYTES, seed).run(|simulated| {
        let fabric = F::of(simulated);
        let data = Position { rank: ranks - 1, at: 1024 };
        for number in 1..=times {
            if fabric.rank() == 0 {
                fabric.put(data, bytemuck::cast_slice(&[number; WORDS]));
                fabric.flush(data.rank).unwrap();
                fabric.store(FLAG, number).unwrap();
            } else {
                wait_for(&fabric, FLAG, number);
                let mut got = [0u64; WORDS];
                fabric.get(data, bytemuck::cast_slice_mut(&mut got)).unwrap();
                if got != [number; WORDS] {
                    return Err(format!("{got:?} was got where {number} was announced"));
                }
            }
            // The next number is put only when all ranks have read this one.
            meet(&fabric, number);
        }
        Ok(())
    });
    outcome.results.into_iter().flatten().collect()
}

/// All ranks add to words in the last rank's part, by get and put, under a lock in the first rank's
/// part.
pub fn section<F: Tested, L>(ranks: usize, times: u64, seed: u64) -> Result<(), String>
where
    L: RawLock<Memory = Window<F>> + Zeroable + 'static,
{
    // The rank that is in the critical section. All ranks run in one thread, so this can be an
    // ordinary variable.
    let inside = Cell::new(None);
    let fault = Cell::new(None);
    let outcome: Outcome<[u64; WORDS]> = Simulation::new(ranks, BYTES, seed).run(|simulated| {
        simulated.enter(NODES);
        let fabric = F::of(simulated);
        let data = Position { rank: ranks - 1, at: 1024 };
        // SAFETY: the part is zero at first, and only this lock uses these bytes.
        let lock: &L = unsafe { Region::lock::<F, L>(LOCK) };
        let mut sums = [0u64; WORDS];
        for _ in 0..times {
            let node = Own::<L::Node, Window<F>>::default();
            // SAFETY: only this call uses the node, and the release below gets the same node.
            unsafe { lock.acquire(&node) };
            if let Some(other) = inside.replace(Some(fabric.rank())) {
                fault.set(Some((other, fabric.rank())));
            }
            fabric.get(data, bytemuck::cast_slice_mut(&mut sums)).unwrap();
            sums = sums.map(|sum| sum + 1);
            fabric.put(data, bytemuck::cast_slice(&sums));
            Window::<F>::releasing();
            inside.set(None);
            // SAFETY: acquired with this node.
            unsafe { lock.release(&node) };
        }
        meet(&fabric, 1);
        fabric.get(data, bytemuck::cast_slice_mut(&mut sums)).unwrap();
        sums
    });
    if let Some((first, second)) = fault.get() {
        return Err(format!("ranks {first} and {second} were in the section at once"));
    }
    let expected = ranks as u64 * times;
    for sums in outcome.results.into_iter().flatten() {
        if sums != [expected; WORDS] {
            return Err(format!("the sums are {sums:?}, and not {expected}"));
        }
    }
    Ok(())
}
