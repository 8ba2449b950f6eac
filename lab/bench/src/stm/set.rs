//! A set of numbers as a load: half of the range is in it, and stays so.

use std::hint::black_box;

use super::access::{Access, Machine, Op};
use super::load::{Load, Random};

/// A transaction on a set. The inserting thread brings the nodes.
#[derive(Clone, Copy)]
pub enum Ask {
    Contains(u64),
    Insert(u64, u64),
    Remove(u64),
}

/// What came of it.
#[derive(Clone, Copy)]
pub enum Asked {
    /// Nothing was changed, and whether the number was there.
    Found(bool),
    /// The number was inserted, or removed and this node is free.
    Changed(u64),
}

/// How a set lies in words.
pub trait Layout: Copy + Sync {
    /// How many it takes with this many nodes, of which the first is none.
    fn words(&self, nodes: usize) -> usize;
    fn run<A: Access>(&self, ask: &Ask, words: &mut A) -> Result<Asked, A::Stop>;
}

struct Asking<L>(L, Ask);

impl<L: Layout> Op for Asking<L> {
    type Out = Asked;

    #[inline]
    fn run<A: Access>(&self, words: &mut A) -> Result<Asked, A::Stop> {
        self.0.run(&self.1, words)
    }
}

#[derive(Clone, Copy)]
pub struct Set<L, C> {
    pub layout: L,
    /// Counts the numbers and checks the structure.
    pub count: C,
    pub range: u64,
    /// Of a hundred transactions.
    pub updates: u64,
    pub threads: usize,
}

/// Spare nodes that each thread has: after each insertion it gets one back.
const SPARE: u64 = 2;

pub struct Worker {
    spare: Vec<u64>,
    /// Whether what changes next is a removal: after each insertion comes one.
    removes: bool,
    /// Insertions less removals.
    net: i64,
}

impl<L: Layout, C: Op<Out = u64> + Sync> Set<L, C> {
    fn change(&self, machine: &impl Machine, worker: &mut Worker, number: u64) {
        let spare = worker.spare.last().copied().expect("it gets back what it gives");
        let ask = if worker.removes { Ask::Remove(number) } else { Ask::Insert(number, spare) };
        if let Asked::Changed(node) = machine.atomically(&Asking(self.layout, ask)) {
            if worker.removes {
                worker.spare.push(node);
                worker.net -= 1;
            } else {
                worker.spare.pop();
                worker.net += 1;
            }
            worker.removes = !worker.removes;
        }
    }
}

impl<L: Layout, C: Op<Out = u64> + Sync> Load for Set<L, C> {
    type Worker = Worker;

    fn words(&self) -> usize {
        // All numbers may be in it, and none of the threads runs out.
        self.layout.words((self.range + 1 + SPARE * self.threads as u64) as usize)
    }

    fn fill(&self, machine: &impl Machine) {
        // In an order that looks random, so that nodes lie about.
        let mut random = Random(7);
        let mut numbers: Vec<u64> = (0..self.range).step_by(2).collect();
        for place in (1..numbers.len()).rev() {
            numbers.swap(place, random.below(place as u64 + 1) as usize);
        }
        for (node, number) in (1..).zip(numbers) {
            machine.atomically(&Asking(self.layout, Ask::Insert(number, node)));
        }
    }

    fn worker(&self, thread: usize) -> Worker {
        let first = self.range / 2 + 1 + thread as u64 * SPARE;
        Worker { spare: (first..first + SPARE).collect(), removes: false, net: 0 }
    }

    #[inline]
    fn step(&self, machine: &impl Machine, random: &mut Random, worker: &mut Worker) {
        let number = random.below(self.range);
        if random.below(100) < self.updates {
            self.change(machine, worker, number);
        } else if let Asked::Found(found) =
            machine.atomically(&Asking(self.layout, Ask::Contains(number)))
        {
            // Who asks wants to know: the search is not to be optimised away.
            black_box(found);
        }
    }

    fn check(&self, machine: &impl Machine, workers: &[Worker]) {
        let net: i64 = workers.iter().map(|worker| worker.net).sum();
        let count = machine.atomically(&self.count);
        assert_eq!(count as i64, self.range as i64 / 2 + net, "numbers were lost or doubled");
    }
}
