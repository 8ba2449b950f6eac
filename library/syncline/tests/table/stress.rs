//! Many threads use a table, even while it grows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use syncline::table::{FlatTable, HashTable, Storage, Table};

use crate::counted::Count;
use crate::random;

const THREADS: u64 = 4;

/// A value whose torn copies are detected: the key and the first word determine all words.
type Value = [u64; 8];

fn value(key: u64, number: u64) -> Value {
    std::array::from_fn(|at| number.wrapping_mul(at as u64 + 1) ^ key)
}

fn whole(key: u64, found: &Value) -> bool {
    *found == value(key, found[0] ^ key)
}

/// Each thread changes keys of its own, whose values it knows, and reads all keys.
fn own_keys_and_others<P: Storage<u64, Value>>(rounds: u64) {
    let table: HashTable<u64, Value, _, P> = HashTable::new();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let table = &table;
            scope.spawn(move || {
                let mut mine = std::collections::HashMap::new();
                let mut state = thread + 77;
                for round in 0..rounds {
                    // The range of keys grows, so that the table grows all the time.
                    let key = random(&mut state) % (round / 4 + 8) * THREADS + thread;
                    let expected = mine.get(&key).map(|&number| value(key, number));
                    match random(&mut state) % 8 {
                        0..3 => {
                            let old = table.insert(key, value(key, round));
                            assert_eq!(old.map(|old| *old), expected);
                            mine.insert(key, round);
                        }
                        3 => {
                            assert_eq!(table.remove(&key).map(|old| *old), expected);
                            mine.remove(&key);
                        }
                        4 => {
                            let new = table.update(&key, |_| value(key, round));
                            assert_eq!(new.is_some(), expected.is_some());
                            mine.entry(key).and_modify(|number| *number = round);
                        }
                        _ => assert_eq!(table.get(&key).map(|found| *found), expected),
                    }
                    let other = random(&mut state) % (rounds / 4 * THREADS);
                    assert!(table.get(&other).is_none_or(|found| whole(other, &found)), "torn");
                }
                for (&key, &number) in &mine {
                    assert_eq!(table.get(&key).map(|found| *found), Some(value(key, number)));
                }
            });
        }
    });
}

#[test]
fn flat() {
    own_keys_and_others::<syncline::table::Flat>(60_000);
}

#[test]
fn boxed() {
    own_keys_and_others::<syncline::table::Boxed>(60_000);
}

/// The values are so large that most of the time is spent copying. So a thread that loses its
/// processor mostly does so in the middle of a copy, and torn copies are found even on a single
/// processor.
#[test]
fn readers_of_one_contended_key_see_no_torn_value() {
    const WORDS: usize = 512;
    let table: FlatTable<u64, [u64; WORDS]> = FlatTable::new();
    table.insert(1, [0; WORDS]);
    let end = Instant::now() + Duration::from_secs(1);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while Instant::now() < end {
                    let found = *table.get(&1).expect("it is always there");
                    assert!(found.iter().all(|&word| word == found[0]), "torn");
                    assert!(found[0] >= last, "an older value came back");
                    last = found[0];
                }
            });
        }
        let mut round = 0;
        while Instant::now() < end {
            round += 1;
            table.insert(1, [round; WORDS]);
        }
    });
}

/// All keys are in one long chain, in which entries move forward when others are removed. A thread
/// that looks for an entry that stays must find it, wherever the entry moves meanwhile.
#[test]
fn entries_that_move_are_found() {
    /// Hashes that differ only in their upper bits: one bucket, but many tags.
    #[derive(Clone, Default)]
    struct Upper(u64);
    impl std::hash::BuildHasher for Upper {
        type Hasher = Upper;
        fn build_hasher(&self) -> Upper {
            Upper(0)
        }
    }
    impl std::hash::Hasher for Upper {
        fn finish(&self) -> u64 {
            self.0 << 57
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0 = bytes[0].into();
        }
    }
    const STAY: u64 = 100;
    let table: FlatTable<u64, u64, Upper> = FlatTable::default();
    (0..2 * STAY).for_each(|key| _ = table.insert(key, key));
    let end = Instant::now() + Duration::from_secs(1);
    thread::scope(|scope| {
        for thread in 0..2 {
            let table = &table;
            scope.spawn(move || {
                let mut state = thread + 5;
                while Instant::now() < end {
                    let key = random(&mut state) % STAY;
                    assert_eq!(table.get(&key).map(|value| *value), Some(key), "it is not found");
                }
            });
        }
        let mut state = 3;
        while Instant::now() < end {
            let key = STAY + random(&mut state) % STAY;
            if table.remove(&key).is_none() {
                table.insert(key, key);
            }
        }
    });
}

#[test]
fn updates_of_one_key_add_up() {
    let flat: FlatTable<u64, u64> = FlatTable::new();
    let boxed: Table<u64, u64> = Table::new();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..20_000 {
                    flat.entry(round % 3).and_modify(|n| n + 1).or_insert(1);
                    if boxed.update(&(round % 3), |n| n + 1).is_none() {
                        boxed.entry(round % 3).and_modify(|n| n + 1).or_insert(1);
                    }
                }
            });
        }
    });
    assert_eq!(flat.iter().map(|n| *n).sum::<u64>(), THREADS * 20_000);
    assert_eq!(boxed.iter().map(|n| *n).sum::<u64>(), THREADS * 20_000);
}

#[test]
fn entries_that_stay_are_met_once_while_the_table_grows() {
    const STAY: u64 = 500;
    let table: FlatTable<u64, u64> = (0..STAY).map(|key| (key, key)).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in STAY..100_000 {
                table.insert(key, key);
                if key % 3 == 0 {
                    table.remove(&key);
                }
            }
            stop.store(true, Relaxed);
        });
        while !stop.load(Relaxed) {
            let mut met = vec![0; STAY as usize];
            for entry in &table {
                if let Some(times) = met.get_mut(*entry.key() as usize) {
                    *times += 1;
                }
            }
            assert!(met.iter().all(|&times| times == 1), "met {met:?}");
            assert!(table.len() >= STAY as usize);
        }
    });
}

#[test]
fn values_live_as_long_as_they_are_referred_to() {
    let count = Count::default();
    let table = Table::new();
    let reads = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, count, reads) = (&table, &count, &reads);
            scope.spawn(move || {
                let mut state = thread + 3;
                for round in 0..20_000u64 {
                    let key = random(&mut state) % 16;
                    if round % 4 == thread % 4 {
                        table.insert(key, (Box::new((key, key)), count.value()));
                    } else if round % 16 == 5 {
                        table.remove(&key);
                    } else if let Some(found) = table.get(&key) {
                        // A node that was freed would have another content.
                        let copy = *found.0;
                        assert_eq!(copy, (key, key));
                        reads.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    assert!(reads.load(Relaxed) > 0);
    assert_eq!(table.retain(|key, _| key % 2 == 0), ());
    drop(table);
    assert_eq!(count.alive(), 0);
}
