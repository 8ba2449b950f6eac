//! SSYNC's table with locks: compared with a model, and with values that count themselves.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use syncline::lock::{Mcs, Ticket};
use syncline::table::LockTable;
use syncline::wait::Park;

/// The next number of a sequence that looks random.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A value that is counted as long as it lives.
#[derive(Debug)]
struct Counted {
    alive: Arc<AtomicI64>,
    panics: bool,
}

impl Counted {
    fn new(alive: &Arc<AtomicI64>, panics: bool) -> Self {
        alive.fetch_add(1, Relaxed);
        Self { alive: Arc::clone(alive), panics }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert!(!self.panics, "this value can't be copied");
        Self::new(&self.alive, false)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
        assert!(!self.panics || std::thread::panicking(), "this value panics when dropped");
    }
}

#[test]
fn does_what_a_map_does() {
    for (buckets, room) in [(1, 0), (3, 12), (12, 48)] {
        let table: LockTable<u64, Ticket> = LockTable::new(buckets, room);
        let mut model = HashMap::new();
        let mut state = 7;
        for step in 0..20_000 {
            let key = random(&mut state) % 200;
            match random(&mut state) % 3 {
                0 => assert_eq!(table.put(key, step), model.insert(key, step)),
                1 => assert_eq!(table.get(key), model.get(&key).copied()),
                _ => assert_eq!(table.remove(key), model.remove(&key)),
            }
        }
        assert_eq!(table.len(), model.len());
        assert_eq!(table.is_empty(), model.is_empty());
    }
}

#[test]
fn following_keys_fill_buckets_evenly() {
    for (buckets, keys) in [(12, 12), (512, 48)] {
        let table: LockTable<(), Ticket> = LockTable::new(buckets, keys);
        let mut filled = vec![0; buckets];
        for key in 1000..1000 + (buckets * keys) as u64 {
            filled[table.bucket_of(key)] += 1;
        }
        let most = filled.iter().max().copied().unwrap_or(0);
        let least = filled.iter().min().copied().unwrap_or(0);
        assert!(most <= keys + 3 && least + 3 >= keys, "{buckets} buckets: {least} to {most}");
    }
}

#[test]
#[should_panic(expected = "a table needs at least one bucket")]
fn without_buckets_there_is_no_table() {
    drop(LockTable::<u64, Ticket>::new(0, 12));
}

#[test]
fn sums_are_kept_by_many_threads() {
    const THREADS: u64 = 4;
    const KEYS: u64 = 40;
    let table: LockTable<u64, Mcs<Park>> = LockTable::new(5, 2);
    // Joined one by one: a sanitizer doesn't see the order that a scope's end makes.
    std::thread::scope(|scope| {
        let table = &table;
        let threads = (0..THREADS).map(|thread| {
            scope.spawn(move || {
                let mut state = thread + 1;
                for _ in 0..20_000 {
                    let key = random(&mut state) % KEYS * THREADS + thread;
                    let value = table.remove(key).unwrap_or(key);
                    assert_eq!(value % 1000, key, "another key's value");
                    table.put(key, value + 1000);
                    let others = random(&mut state) % (KEYS * THREADS);
                    assert!(table.get(others).is_none_or(|value| value % 1000 == others));
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
    });
    let sum: u64 = (0..KEYS * THREADS).filter_map(|key| table.get(key)).map(|v| v / 1000).sum();
    assert_eq!(sum, THREADS * 20_000);
}

#[test]
fn values_are_dropped_once() {
    let alive = Arc::new(AtomicI64::new(0));
    let table: LockTable<Counted> = LockTable::new(3, 2);
    for key in 0..100 {
        drop(table.put(key, Counted::new(&alive, false)));
        drop(table.put(key, Counted::new(&alive, false)));
    }
    assert_eq!(alive.load(Relaxed), 100);
    (0..50).for_each(|key| drop(table.remove(key)));
    assert_eq!(alive.load(Relaxed), 50);
    let kept = table.remove(70);
    drop(table);
    assert_eq!(alive.load(Relaxed), 1);
    drop(kept);
    assert_eq!(alive.load(Relaxed), 0);
}

#[test]
fn a_panic_while_copying_leaves_the_table_usable() {
    let alive = Arc::new(AtomicI64::new(0));
    let table: LockTable<Counted> = LockTable::new(1, 2);
    drop(table.put(1, Counted::new(&alive, true)));
    assert!(catch_unwind(AssertUnwindSafe(|| table.get(1))).is_err());
    // The bucket's lock is free, and the value is still there.
    drop(table.put(2, Counted::new(&alive, false)));
    assert_eq!(table.len(), 2);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(table.remove(1)))).is_err());
    assert!(table.get(1).is_none() && table.get(2).is_some());
    drop(table);
    assert_eq!(alive.load(Relaxed), 0);
}

#[test]
fn a_panic_of_one_drop_keeps_no_other_alive() {
    let alive = Arc::new(AtomicI64::new(0));
    let table: LockTable<Counted> = LockTable::new(2, 2);
    for key in 0..30 {
        drop(table.put(key, Counted::new(&alive, key == 11)));
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(table))).is_err());
    assert_eq!(alive.load(Relaxed), 0);
}
