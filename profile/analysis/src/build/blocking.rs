//! Which holders made which waiters wait: for each lock, then over all locks.

use std::cmp::Reverse;
use std::collections::HashMap;

use syncline_recording::{Primitive, ProcessFile, Row};

use super::clock::Clock;
use super::ops::wants;
use super::stacks::Stacks;
use crate::model::{Blocker, Blocking, Site};

/// A waiter and a holder of one lock.
pub struct Pair {
    /// The lock's primitive.
    pub primitive: Primitive,
    /// The lock's address.
    pub lock: u64,
    /// The waiter and the holder.
    pub blocker: Blocker,
}

/// The pairs that were added so far.
#[derive(Default)]
pub struct Pairs {
    pairs: HashMap<Key, Sum>,
    /// By the stack of an acquisition: the number of its site.
    holders: HashMap<usize, usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    primitive: Primitive,
    lock: u64,
    waiter: usize,
    holder_stack: usize,
}

#[derive(Default)]
struct Sum {
    waits: u64,
    ticks: u64,
    /// Ticks by the index of the holder's thread.
    by_thread: HashMap<u32, u64>,
}

impl Sum {
    /// The index of the thread that was waited for longest; of several such threads, the lowest.
    fn thread(&self) -> Option<u32> {
        let longest =
            self.by_thread.iter().max_by_key(|&(&thread, &ticks)| (ticks, Reverse(thread)));
        longest.map(|(&thread, _)| thread)
    }
}

impl Pairs {
    /// Adds the holders that a row's waits were for. `site` is the number of the row's site, and
    /// `stack` that of its stack.
    pub fn add(&mut self, row: &Row, site: usize, stack: usize, stacks: &Stacks) {
        if wants(row.op) {
            self.holders.insert(stack, site);
        }
        let Some(waits) = &row.waits else { return };
        for blocker in waits.blockers.iter().filter(|b| b.stack != 0 && b.waits != 0) {
            let sum = self
                .pairs
                .entry(Key {
                    primitive: row.op.primitive(),
                    lock: row.counts.lock,
                    waiter: site,
                    holder_stack: stacks.of_call(None, blocker.stack, row.counts.lock),
                })
                .or_default();
            sum.waits = sum.waits.saturating_add(blocker.waits);
            sum.ticks = sum.ticks.saturating_add(blocker.ticks);
            let ticks = sum.by_thread.entry(blocker.thread).or_default();
            *ticks = ticks.saturating_add(blocker.ticks);
        }
    }

    /// The pairs, those with most time waited first.
    pub fn finish(
        self,
        site_numbers: &[usize],
        sites: &[Site],
        file: &ProcessFile,
        clock: &Clock,
    ) -> Vec<Pair> {
        let threads: HashMap<u32, usize> =
            file.threads.iter().enumerate().map(|(place, thread)| (thread.index, place)).collect();
        let pair = |(key, sum): (Key, Sum)| Pair {
            primitive: key.primitive,
            lock: key.lock,
            blocker: Blocker {
                waiter: site_numbers[key.waiter],
                holder_stack: key.holder_stack,
                holder: self.holders.get(&key.holder_stack).map(|&site| site_numbers[site]),
                thread: sum.thread().and_then(|thread| threads.get(&thread).copied()),
                waits: sum.waits,
                waited: clock.seconds(sum.ticks),
            },
        };
        let mut pairs: Vec<Pair> = self.pairs.into_iter().map(pair).collect();
        pairs.sort_by(|a, b| {
            let names = |p: &Pair| {
                let Blocker { waiter, holder_stack, .. } = p.blocker;
                (sites[waiter].op, p.lock, holder_stack, waiter)
            };
            b.blocker.waited.total_cmp(&a.blocker.waited).then_with(|| names(a).cmp(&names(b)))
        });
        pairs
    }
}

/// Sums the pairs over all locks, by the call sites of the waiter and the holder.
pub fn over_all_locks(pairs: &[Pair], stacks: &Stacks) -> Vec<Blocking> {
    let mut numbers = HashMap::new();
    let mut blocking: Vec<Blocking> = Vec::new();
    for Pair { primitive, lock, blocker } in pairs {
        let places = (blocker.waiter, blocker.holder, stacks.place(blocker.holder_stack));
        let (number, locks) = numbers.entry(places).or_insert_with(|| {
            blocking.push(Blocking {
                waiter: blocker.waiter,
                holder_stack: blocker.holder_stack,
                holder: blocker.holder,
                holder_place: stacks.place_name(blocker.holder_stack),
                locks: 0,
                waits: 0,
                waited: 0.0,
            });
            (blocking.len() - 1, std::collections::HashSet::new())
        });
        locks.insert((*primitive, *lock));
        let sum = &mut blocking[*number];
        sum.locks = locks.len();
        sum.waits = sum.waits.saturating_add(blocker.waits);
        sum.waited += blocker.waited;
    }
    blocking.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    blocking
}
