//! With one thread, a table does what `HashMap` does.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use syncline::table::{FlatTable, HashTable, Storage, Table};

use crate::random;

/// A hasher that has only a few results, so that buckets overflow.
#[derive(Clone, Default)]
struct Few;

impl BuildHasher for Few {
    type Hasher = Last;
    fn build_hasher(&self) -> Last {
        Last(0)
    }
}

struct Last(u64);

impl Hasher for Last {
    fn finish(&self) -> u64 {
        (self.0 % 3 * 5) | ((self.0 % 2) << 60)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.wrapping_mul(31).wrapping_add(byte.into()));
    }
}

fn does_what_a_map_does<S: BuildHasher, P: Storage<u64, u64>>(
    table: &HashTable<u64, u64, S, P>,
    keys: u64,
    steps: u64,
) {
    let mut model = HashMap::new();
    let mut state = 9;
    for step in 0..steps {
        let key = random(&mut state) % keys;
        match random(&mut state) % 12 {
            0..3 => {
                let old = table.insert(key, step).map(|old| *old);
                assert_eq!(old, model.insert(key, step));
            }
            3..5 => assert_eq!(table.remove(&key).map(|old| *old), model.remove(&key)),
            5 => {
                let new = table.update(&key, |value| value + 1).map(|new| *new);
                assert_eq!(
                    new,
                    model.get_mut(&key).map(|value| {
                        *value += 1;
                        *value
                    })
                );
            }
            6 => {
                let entry =
                    table.entry(key).and_modify(|value| value ^ 1).and_modify(|value| value + 2);
                let now = *entry.or_insert(step);
                let expected = *model.entry(key).and_modify(|v| *v = (*v ^ 1) + 2).or_insert(step);
                assert_eq!(now, expected);
            }
            7 => assert_eq!(table.entry(key).remove().map(|old| *old), model.remove(&key)),
            8 => {
                assert_eq!(*table.entry(key).insert(step), step);
                model.insert(key, step);
            }
            _ => {
                assert_eq!(table.get(&key).map(|value| *value), model.get(&key).copied());
                assert_eq!(table.contains_key(&key), model.contains_key(&key));
                assert_eq!(table.entry(key).get(), model.get(&key));
            }
        }
        if step % (steps / 8) == 0 {
            same(table, &model);
            table.retain(|key, value| (key + value) % 4 != 1);
            model.retain(|key, value| (*key + *value) % 4 != 1);
            same(table, &model);
        }
    }
    same(table, &model);
    table.clear();
    assert!(table.is_empty() && table.iter().next().is_none());
    table.insert(1, 1);
    assert_eq!(table.len(), 1);
}

fn same<S: BuildHasher, P: Storage<u64, u64>>(
    table: &HashTable<u64, u64, S, P>,
    model: &HashMap<u64, u64>,
) {
    assert_eq!(table.len(), model.len());
    assert_eq!(table.is_empty(), model.is_empty());
    let mut seen = HashSet::new();
    for entry in table {
        assert!(seen.insert(*entry.key()), "key {} comes twice", entry.key());
        assert_eq!(model.get(entry.key()), Some(&*entry));
    }
    assert_eq!(seen.len(), model.len());
}

#[test]
fn flat() {
    does_what_a_map_does(&FlatTable::<u64, u64>::new(), 5000, 200_000);
    does_what_a_map_does(&FlatTable::<u64, u64>::with_capacity(10_000), 5000, 100_000);
}

#[test]
fn boxed() {
    does_what_a_map_does(&Table::<u64, u64>::new(), 5000, 200_000);
}

#[test]
fn with_buckets_that_overflow() {
    does_what_a_map_does(&FlatTable::<u64, u64, Few>::default(), 100, 30_000);
    does_what_a_map_does(&Table::<u64, u64, Few>::default(), 100, 30_000);
}

#[test]
fn entries_of_odd_sizes_and_alignments() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Wide(u8);
    let wide: FlatTable<u8, Wide> = (0..200).map(|n| (n, Wide(n))).collect();
    assert!((0..200).all(|n| wide.get(&n).map(|v| *v) == Some(Wide(n))));
    let gaps: FlatTable<(u8, u32), (u16, u8, bool)> =
        (0..200).map(|n| ((n, 7), (n.into(), n, n % 2 == 0))).collect();
    assert!((0..200).all(|n| gaps.get(&(n, 7)).map(|v| *v) == Some((n.into(), n, n % 2 == 0))));
    let set: FlatTable<char, ()> = ('a'..='z').map(|c| (c, ())).collect();
    assert!(set.contains_key(&'q') && !set.contains_key(&'Q'));
    let one: FlatTable<(), ()> = FlatTable::new();
    assert!(one.insert((), ()).is_none() && one.insert((), ()).is_some() && one.len() == 1);
    let large: FlatTable<u64, [u64; 40]> = (0..100).map(|n| (n, [n; 40])).collect();
    assert!((0..100).all(|n| large.with(&n, |v| v.iter().all(|&x| x == n)) == Some(true)));
}

#[test]
fn memory_grows_with_the_entries_and_churn_needs_no_more() {
    let table: FlatTable<u64, u64> = FlatTable::new();
    for key in 0..100_000 {
        table.insert(key, key);
    }
    let full = table.bytes();
    assert!(full < 100_000 * 16 * 5, "{full} bytes");
    let mut state = 5;
    for key in 100_000..1_000_000 {
        table.remove(&(key - 100_000));
        table.insert(key, random(&mut state));
    }
    assert_eq!(table.len(), 100_000);
    assert!(table.bytes() <= 2 * full, "{full} bytes became {}", table.bytes());
}

#[test]
fn owned_keys_are_found_by_what_they_borrow() {
    let table = Table::with_hasher(RandomState::new());
    table.insert("a".to_owned(), vec![1]);
    assert_eq!(table.get("a").as_deref(), Some(&vec![1]));
    assert_eq!(table.with("a", Vec::len), Some(1));
    let kept = table.remove("a");
    assert!(table.get("a").is_none());
    table.insert("a".to_owned(), vec![2]);
    assert_eq!(kept.as_deref(), Some(&vec![1]));
}
