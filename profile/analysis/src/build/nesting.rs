//! Locks that were already held when another was taken.

use std::collections::{HashMap, HashSet};

use syncline_recording::{Primitive, Row};

use super::ops::wants;
use super::stacks::Stacks;
use crate::model::{Lock, Nesting, Outer};

/// The acquisitions that were added so far, each with the lock that was already held.
#[derive(Default)]
pub struct Nests {
    seen: HashMap<Key, u64>,
    /// Locks that were taken at least once with another one held.
    nested: HashSet<(Primitive, u64)>,
    /// By the stack of an acquisition: the number of its site.
    acquired_at: HashMap<usize, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    primitive: Primitive,
    lock: u64,
    site: usize,
    stack: usize,
    /// Address and stack of the lock that was already held.
    outer: Option<(u64, usize)>,
}

impl Nests {
    /// Adds what one thread did at one call site.
    pub fn add(&mut self, row: &Row, site: usize, stack: usize, stacks: &Stacks) {
        if !wants(row.op) {
            return;
        }
        self.acquired_at.insert(stack, site);
        let (primitive, lock) = (row.op.primitive(), row.counts.lock);
        let mut add = |outer, seen: u64| {
            if seen > 0 {
                *self.seen.entry(Key { primitive, lock, site, stack, outer }).or_default() += seen;
            }
        };
        let Some(nest) = &row.nest else {
            let after_waiting = row.waits.as_ref().map_or(0, |waits| waits.held_samples);
            return add(None, u64::from(row.counts.held_samples).saturating_add(after_waiting));
        };
        add(None, u64::from(nest.alone));
        for held in nest.locks.iter().filter(|held| held.lock != 0) {
            add(
                Some((held.lock, stacks.of_call(None, held.stack, held.lock))),
                u64::from(held.seen),
            );
        }
        self.nested.insert((primitive, lock));
    }

    /// The acquisitions of locks that were taken at least once with another held, most frequent
    /// first.
    pub fn finish(self, site_numbers: &[usize], locks: &[Lock]) -> Vec<Nesting> {
        let Nests { mut seen, nested, acquired_at } = self;
        seen.retain(|key, _| nested.contains(&(key.primitive, key.lock)));
        let mut numbers: HashMap<(Primitive, u64), usize> = HashMap::new();
        // Locks of several kinds may have had the same address, one after the other. The busiest of
        // them is assumed to be the one that was held.
        let mut by_address: HashMap<u64, usize> = HashMap::new();
        for (number, lock) in locks.iter().enumerate() {
            numbers.insert((lock.primitive, lock.address), number);
            let known = by_address.entry(lock.address).or_insert(number);
            if locks[*known].figures.calls < lock.figures.calls {
                *known = number;
            }
        }
        let mut seen: Vec<(Key, u64)> = seen.into_iter().collect();
        seen.sort_by_key(|&(key, seen)| (u64::MAX - seen, key));
        let nesting = |(key, seen): (Key, u64)| {
            Some(Nesting {
                lock: *numbers.get(&(key.primitive, key.lock))?,
                site: site_numbers[key.site],
                stack: key.stack,
                outer: key.outer.map(|(address, stack)| Outer {
                    address,
                    lock: by_address.get(&address).copied(),
                    stack,
                    site: acquired_at.get(&stack).map(|&site| site_numbers[site]),
                }),
                seen,
            })
        };
        seen.into_iter().filter_map(nesting).collect()
    }
}
