//! Recorded histories of the tables, and of broken tables, whose faults must be found.

use std::hash::RandomState;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use syncline::lock::Ttas;
use syncline::table::{Boxed, Flat, HashTable, LockTable, Storage};

use crate::history::{MOST, Operation, What, is_linearizable};
use crate::random;

/// A table under test.
trait Map: Sync {
    fn new() -> Self;
    fn get(&self, key: u64) -> Option<u64>;
    fn insert(&self, key: u64, value: u64) -> Option<u64>;
    fn remove(&self, key: u64) -> Option<u64>;
    fn increment(&self, key: u64) -> Option<u64>;
}

impl<P: Storage<u64, u64>> Map for HashTable<u64, u64, RandomState, P> {
    fn new() -> Self {
        Self::with_capacity(0)
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.get(&key).map(|value| *value)
    }
    fn insert(&self, key: u64, value: u64) -> Option<u64> {
        self.insert(key, value).map(|old| *old)
    }
    fn remove(&self, key: u64) -> Option<u64> {
        self.remove(&key).map(|old| *old)
    }
    fn increment(&self, key: u64) -> Option<u64> {
        self.update(&key, |value| value + 1).map(|new| *new)
    }
}

impl Map for LockTable<u64, Ttas> {
    fn new() -> Self {
        Self::new(2, 1)
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.get(key)
    }
    fn insert(&self, key: u64, value: u64) -> Option<u64> {
        self.put(key, value)
    }
    fn remove(&self, key: u64) -> Option<u64> {
        self.remove(key)
    }
    fn increment(&self, _: u64) -> Option<u64> {
        unreachable!("it is not offered")
    }
}

/// A table whose updates are two steps, so that other threads can come in between.
struct LostUpdates(HashTable<u64, u64, RandomState, Flat>);

impl Map for LostUpdates {
    fn new() -> Self {
        Self(Map::new())
    }
    fn get(&self, key: u64) -> Option<u64> {
        Map::get(&self.0, key)
    }
    fn insert(&self, key: u64, value: u64) -> Option<u64> {
        Map::insert(&self.0, key, value)
    }
    fn remove(&self, key: u64) -> Option<u64> {
        Map::remove(&self.0, key)
    }
    fn increment(&self, key: u64) -> Option<u64> {
        let value = Map::get(&self.0, key)? + 1;
        in_between();
        Map::insert(&self.0, key, value)?;
        Some(value)
    }
}

/// A table that removes the old value before it inserts the new one. In between, a reader finds
/// nothing.
struct Gaps(HashTable<u64, u64, RandomState, Boxed>);

impl Map for Gaps {
    fn new() -> Self {
        Self(Map::new())
    }
    fn get(&self, key: u64) -> Option<u64> {
        Map::get(&self.0, key)
    }
    fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let old = Map::remove(&self.0, key);
        in_between();
        Map::insert(&self.0, key, value);
        old
    }
    fn remove(&self, key: u64) -> Option<u64> {
        Map::remove(&self.0, key)
    }
    fn increment(&self, key: u64) -> Option<u64> {
        Map::increment(&self.0, key)
    }
}

fn in_between() {
    thread::yield_now();
}

const THREADS: usize = 4;
/// The number of keys whose histories are checked; other keys make the table grow.
const KEYS: u64 = 3;
/// If no fault is found, there are at least `LEAST - 1` runs.
const LEAST: u64 = 200;
const STEPS: usize = MOST / THREADS;

/// Records the histories of the keys in one run.
fn record<T: Map>(seed: u64, increments: bool) -> Vec<Vec<Operation>> {
    let table = T::new();
    let barrier = Barrier::new(THREADS);
    let start = Instant::now();
    let run = |thread: usize| {
        let mut histories = vec![Vec::new(); KEYS as usize];
        let mut state = seed * 1000 + thread as u64 + 1;
        barrier.wait();
        for step in 0..STEPS as u64 {
            let key = random(&mut state) % KEYS;
            let kind = random(&mut state) % if increments { 4 } else { 3 };
            let value = step * 100 + thread as u64;
            let called = now(start);
            let what = match kind {
                0 => What::Get(table.get(key)),
                1 => What::Insert(value, table.insert(key, value)),
                2 => What::Remove(table.remove(key)),
                _ => What::Increment(table.increment(key)),
            };
            histories[key as usize].push(Operation { called, returned: now(start), what });
            table.insert(KEYS + step * THREADS as u64 + thread as u64, 0);
        }
        histories
    };
    let mut all = vec![Vec::new(); KEYS as usize];
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || run(t))).collect();
        for thread in threads {
            let histories = thread.join().expect("a thread ends");
            all.iter_mut().zip(histories).for_each(|(all, history)| all.extend(history));
        }
    });
    all
}

fn now(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

/// Whether one of many histories is not linearizable.
fn is_told<T: Map>(increments: bool) -> bool {
    let end = Instant::now() + Duration::from_secs(2);
    let mut seeds = 1..;
    while Instant::now() < end || seeds.start < LEAST {
        let seed = seeds.next().unwrap_or_default();
        let histories = record::<T>(seed, increments);
        if let Some(wrong) = histories.iter().find(|history| !is_linearizable(history)) {
            println!("{wrong:#?}");
            return true;
        }
    }
    println!("{} runs", seeds.start);
    false
}

#[test]
fn flat() {
    assert!(!is_told::<HashTable<u64, u64, RandomState, Flat>>(true));
}

#[test]
fn boxed() {
    assert!(!is_told::<HashTable<u64, u64, RandomState, Boxed>>(true));
}

#[test]
fn lock_table() {
    assert!(!is_told::<LockTable<u64, Ttas>>(false));
}

#[test]
fn lost_updates_are_told() {
    assert!(is_told::<LostUpdates>(true));
}

#[test]
fn gaps_are_told() {
    assert!(is_told::<Gaps>(false));
}
