//! Functions, keys and values that panic: nothing is lost, leaked, or left locked.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use syncline::table::{FlatTable, Table};

use crate::counted::{Count, Counted};

static HASH_PANICS: AtomicBool = AtomicBool::new(false);

/// A key that panics in `Hash` on request, and in `Eq` if one of the two keys is 1007.
#[derive(Clone, Copy, Debug)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!HASH_PANICS.load(Relaxed), "this key panics when hashed");
        // Few hashes, so that keys are compared.
        (self.0 % 5).hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        assert!(self.0 != 1007 && other.0 != 1007, "this key panics when compared");
        self.0 == other.0
    }
}
impl Eq for Key {}

fn panics<R>(what: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(what()))).is_err()
}

#[test]
fn keys_that_panic() {
    let count = Count::default();
    let table = Table::new();
    for n in 0..50 {
        table.insert(Key(n), count.value());
    }
    // Panics in `Eq`, with the bucket's lock held and without.
    let bad = Key(1007);
    assert!(panics(|| table.get(&bad)));
    assert!(panics(|| table.insert(bad, count.value())));
    assert!(panics(|| table.remove(&bad)));
    assert!(panics(|| table.entry(bad)));
    assert_eq!(count.alive(), 50);
    // Panics in `Hash`, before a bucket is looked at. The next test has a panic while a bucket is
    // split.
    HASH_PANICS.store(true, Relaxed);
    assert!(panics(|| table.get(&Key(1))));
    assert!(panics(|| table.insert(Key(99), count.value())));
    HASH_PANICS.store(false, Relaxed);
    assert_eq!(count.alive(), 50);
    assert_eq!((0..50).filter(|&n| table.contains_key(&Key(n))).count(), 50);
    for n in 50..200 {
        table.insert(Key(n), count.value());
    }
    assert_eq!(table.len(), 200);
    drop(table);
    assert_eq!(count.alive(), 0);
}

/// A key whose hash panics while the key is armed, so that its bucket can't be split.
#[derive(Debug)]
struct Once {
    number: u64,
    armed: AtomicBool,
}

impl Hash for Once {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!self.armed.load(Relaxed), "this key panics when its bucket is split");
        self.number.hash(state);
    }
}
impl PartialEq for Once {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Once {}

#[test]
fn a_split_that_panics_leaves_the_bucket_as_it_was() {
    let key = |number| Once { number, armed: AtomicBool::new(false) };
    let table = Table::new();
    for number in 0..20 {
        table.insert(key(number), number);
    }
    let bad = table.get(&key(11)).expect("it was just put in");
    bad.key().armed.store(true, Relaxed);
    let refused = (20..5000).filter(|&number| panics(|| table.insert(key(number), number)));
    let refused: Vec<u64> = refused.collect();
    assert!(!refused.is_empty(), "no bucket was split");
    assert!((0..5000).all(|number| table.contains_key(&key(number)) != refused.contains(&number)));
    bad.key().armed.store(false, Relaxed);
    for &number in &refused {
        table.insert(key(number), number);
    }
    assert_eq!(table.len(), 5000);
}

#[test]
fn functions_that_panic() {
    let table: FlatTable<u32, u32> = (0..100).map(|n| (n, n)).collect();
    assert!(panics(|| table.update(&7, |_| panic!("on purpose"))));
    assert!(panics(|| table.entry(7).and_modify(|_| panic!("on purpose")).or_insert(1)));
    assert!(panics(|| table.entry(700).or_insert_with(|| panic!("on purpose"))));
    assert!(panics(|| table.with(&7, |_| panic!("on purpose"))));
    assert!(panics(|| table.retain(|_, _| panic!("on purpose"))));
    assert!((0..100).all(|n| table.get(&n).map(|value| *value) == Some(n)));
    assert_eq!(table.len(), 100);
    table.insert(700, 1);
    assert_eq!(table.remove(&7).map(|value| *value), Some(7));
}

#[test]
fn values_that_panic_when_the_table_is_dropped() {
    let count = Count::default();
    let table = Table::new();
    for n in 0..100 {
        let value = if n % 30 == 11 { count.bomb() } else { count.value() };
        table.insert(n, value);
    }
    assert!(panics(|| table));
    assert_eq!(count.alive(), 0);
}

#[test]
fn values_that_panic_when_they_are_freed() {
    let count = Count::default();
    let table = Table::new();
    for round in 0..300 {
        let value = if round % 3 == 0 { count.bomb() } else { count.value() };
        assert!(!panics(|| table.insert(round % 10, value)));
        if round % 7 == 0 {
            assert!(!panics(|| table.remove(&(round % 10))));
        }
    }
    assert!(!panics(|| table.clear()));
    assert!(!panics(|| table));
    assert_eq!(count.alive(), 0);
}

#[test]
fn nothing_is_leaked_or_freed_early() {
    let count = Count::default();
    let table: Table<u64, Counted> = Table::new();
    assert!(table.insert(1, count.value()).is_none());
    let old = table.insert(1, count.value()).expect("the first value");
    assert_eq!(count.alive(), 2);
    drop(table.entry(1).remove());
    drop(table.entry(1).or_insert_with(|| count.value()));
    drop(table.entry(1).insert(count.value()));
    drop(table.entry(2));
    // An entry that is dropped unused leaves nothing in the table.
    assert!(table.entry(3).get().is_none() && !table.contains_key(&3));
    drop(old);
    drop(table);
    assert_eq!(count.alive(), 0);
}

#[test]
#[should_panic(expected = "more entries than can be addressed")]
fn room_for_too_many() {
    drop(FlatTable::<u64, u64>::with_capacity(usize::MAX));
}

/// A value that uses its table when it is dropped, if the field is `true`.
struct Unneeded(bool);

static OF_UNNEEDED: OnceLock<Table<u32, Unneeded>> = OnceLock::new();

impl Drop for Unneeded {
    fn drop(&mut self) {
        if self.0 {
            OF_UNNEEDED.get().expect("a table").remove(&1);
        }
    }
}

#[test]
fn a_value_that_is_not_inserted_is_dropped_without_the_lock() {
    let table = OF_UNNEEDED.get_or_init(Table::new);
    table.entry(1).or_insert(Unneeded(false));
    let present = table.entry(1).or_insert(Unneeded(true));
    assert!(!present.0);
    assert!(table.get(&1).is_none(), "it was removed by the value that was dropped");
}
