//! A load on a set of numbers. The set contains half of the range, and keeps that size.

use std::hint::black_box;

use super::access::{Access, Machine, Op};
use super::load::{Load, Random};

/// A transaction on a set. To insert a number, a thread provides a node.
#[derive(Clone, Copy)]
pub enum Ask {
    Contains(u64),
    Insert(u64, u64),
    Remove(u64),
}

/// The result of a transaction on a set.
#[derive(Clone, Copy)]
pub enum Asked {
    /// Nothing was changed. The value says whether the number was in the set.
    Found(bool),
    /// The number was inserted, or it was removed and the node with this index became free.
    Changed(u64),
}

/// The layout of a set in words.
pub trait Layout: Copy + Sync {
    /// The number of words for this many nodes. Node 0, which does not exist, is counted.
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
    /// The operation that counts the numbers and checks the structure.
    pub count: C,
    pub range: u64,
    /// The number of updates among a hundred transactions.
    pub updates: u64,
    pub threads: usize,
}

/// The number of spare nodes of each thread. Each insertion uses one, and the removal after it
/// gives one back.
const SPARE: u64 = 2;

pub struct Worker {
    spare: Vec<u64>,
    /// Whether the next change is a removal. Insertions and removals alternate.
    removes: bool,
    /// The number of insertions minus the number of removals.
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
        // There are enough words for all numbers of the range, and for the spare nodes of all
        // threads.
        self.layout.words((self.range + 1 + SPARE * self.threads as u64) as usize)
    }

    fn fill(&self, machine: &impl Machine) {
        // The order is pseudo-random, so that neighbouring numbers have scattered nodes.
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
            // The search must not be optimized away.
            black_box(found);
        }
    }

    fn check(&self, machine: &impl Machine, workers: &[Worker]) {
        let net: i64 = workers.iter().map(|worker| worker.net).sum();
        let count = machine.atomically(&self.count);
        assert_eq!(count as i64, self.range as i64 / 2 + net, "numbers were lost or doubled");
    }
}
