//! The tables that threads share: those that grow, and SSYNC's table with locks.

use std::hash::RandomState;
use std::sync::Arc;

use syncline::lock::{Mcs, RawLock, Ticket};
use syncline::table::{FlatTable, HashTable, LockTable, Storage, Table};
use syncline::wait::{Park, Spin};

use crate::{ROUNDS, THREADS, together};

/// Enough keys that buckets are split, and that some have overflow buckets.
const KEYS: u64 = 12 * ROUNDS;

/// Threads insert, update, read and remove the same keys while the table grows.
fn all_at_once<P: Storage<u64, V>, V: Send + Sync>(
    table: &HashTable<u64, V, RandomState, P>,
    make: impl Fn(u64) -> V + Sync,
    right: impl Fn(u64, &V) -> bool + Sync,
) where
    HashTable<u64, V, RandomState, P>: Sync,
{
    together(|number| {
        for key in (0..KEYS).map(|key| (key + number * KEYS / THREADS) % KEYS) {
            match (key + number) % 6 {
                0 => drop(table.insert(key, make(key))),
                1 => assert!(table.get(&key).is_none_or(|value| right(key, &value))),
                2 => drop(table.update(&key, |_| make(key))),
                3 => assert!(table.remove(&key).is_none_or(|value| right(key, &value))),
                4 => assert!(right(key, &table.entry(key).or_insert_with(|| make(key)))),
                _ => assert!(table.with(&key, |value| right(key, value)).unwrap_or(true)),
            }
        }
        assert!(table.iter().all(|value| right(*value.key(), &value)));
        if number == 0 {
            table.retain(|key, _| key % 2 == 0);
        }
    });
    let found = table.iter().count();
    assert_eq!(found, table.len());
    table.clear();
    assert!(table.is_empty());
}

#[test]
fn entries_in_nodes() {
    let table: Table<u64, Box<u64>> = Table::new();
    all_at_once(&table, Box::new, |key, value| **value == key);
}

#[test]
fn entries_in_buckets() {
    let table: FlatTable<u64, [u64; 2]> = FlatTable::new();
    all_at_once(&table, |key| [key, !key], |key, value| *value == [key, !key]);
}

#[test]
fn entries_in_buckets_that_are_pointers() {
    let words: Vec<u64> = (0..KEYS).collect();
    let table: FlatTable<u64, &u64> = FlatTable::new();
    all_at_once(&table, |key| &words[key as usize], |key, value| **value == key);
}

#[test]
fn what_was_found_outlives_its_entry() {
    let token = Arc::new(());
    let table: Table<u64, Arc<()>> = Table::new();
    for key in 0..ROUNDS {
        drop(table.insert(key, Arc::clone(&token)));
        let found = table.get(&key).expect("it is there");
        std::thread::scope(|scope| {
            scope.spawn(|| drop(table.remove(&key)));
        });
        assert!(Arc::ptr_eq(&found, &token));
    }
    drop(table);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_large_table() {
    // So large that natively, on Linux, its memory is mapped by the kernel, not taken from the
    // allocator.
    let table: FlatTable<u64, u64> = FlatTable::with_capacity(1 << 18);
    assert!(table.insert(1, 2).is_none());
    assert_eq!(table.get(&1).map(|value| *value), Some(2));
}

fn with_locks<L: RawLock>()
where
    LockTable<Box<u64>, L>: Sync,
{
    let table: LockTable<Box<u64>, L> = LockTable::new(2, 2);
    together(|number| {
        for key in number..number + 4 * ROUNDS {
            assert!(table.put(key, Box::new(key)).is_none_or(|old| *old == key));
            assert!(table.get(key).is_none_or(|value| *value == key));
            if key % 2 == 0 {
                drop(table.remove(key));
            }
        }
    });
    assert!(!table.is_empty());
}

#[test]
fn a_table_with_locks() {
    with_locks::<Ticket<Spin>>();
    with_locks::<Mcs<Park>>();
}
