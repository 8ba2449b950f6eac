//! A load: the transactions of threads on a structure for some time, and a check of the structure
//! afterwards.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::access::Machine;
use crate::locks::processors;

/// Pseudo-random numbers that cost a few instructions (xorshift64*, Marsaglia 2003).
pub struct Random(pub u64);

impl Random {
    /// A random number below the bound.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(number) * u128::from(bound)) >> 64) as u64
    }
}

pub trait Load: Sync {
    /// The data of a thread.
    type Worker: Send;
    /// The number of words of the structure.
    fn words(&self) -> usize;
    fn fill(&self, machine: &impl Machine);
    fn worker(&self, thread: usize) -> Self::Worker;
    /// Runs one transaction.
    fn step(&self, machine: &impl Machine, random: &mut Random, worker: &mut Self::Worker);
    /// Checks the structure, and panics if it does not match what the workers have done.
    fn check(&self, machine: &impl Machine, workers: &[Self::Worker]);
}

/// The number of transactions between two checks of whether the time is over.
const BATCH: u32 = 32;

/// Runs the load. Returns the transactions per second of all threads together.
pub fn run<M: Machine>(load: &impl Load, threads: usize, slot: Duration) -> f64 {
    let machine = M::new(load.words());
    load.fill(&machine);
    let (start, over) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let (count, workers, time) = thread::scope(|scope| {
        let (machine, start, over) = (&machine, &start, &over);
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    processors::keep_apart(thread);
                    let mut worker = load.worker(thread);
                    let mut random = Random(thread as u64 + 1);
                    let mut count = 0_u64;
                    start.wait();
                    while !over.load(Relaxed) {
                        for _ in 0..BATCH {
                            load.step(machine, &mut random, &mut worker);
                        }
                        count += u64::from(BATCH);
                    }
                    (count, worker)
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        thread::sleep(slot);
        over.store(true, Relaxed);
        let ended: Vec<_> =
            threads.into_iter().map(|thread| thread.join().expect("a thread ends")).collect();
        let time = began.elapsed();
        let (counts, workers): (Vec<u64>, Vec<_>) = ended.into_iter().unzip();
        (counts.iter().sum::<u64>(), workers, time)
    });
    load.check(&machine, &workers);
    count as f64 / time.as_secs_f64()
}
