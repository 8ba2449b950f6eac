//! The cases of growing tables. Each fills its table before the threads begin.

use std::sync::{Arc, Mutex};

use syncline_checkers::Engine;

use super::{Grows, Value};

/// The value of a key after `changes` changes.
fn value(key: u64, changes: u64) -> Value {
    [key * 100 + changes; 2]
}

/// The number of changes of a key's value. Panics if the value is torn, or another key's.
#[track_caller]
fn changes(key: u64, [first, second]: Value) -> u64 {
    assert_eq!(first, second, "a torn copy was taken for whole");
    assert_eq!(first / 100, key, "the value of another key");
    first % 100
}

/// The number of changes of a key's value; `None` if the key is absent.
#[track_caller]
fn found<T: Grows>(table: &T, key: u64) -> Option<u64> {
    table.get(key).map(|value| changes(key, value))
}

fn put<T: Grows>(table: &T, key: u64) {
    assert_eq!(table.insert(key, value(key, 0)), None, "{key} is there already");
}

/// Makes a table with these keys.
fn with<T: Grows>(keys: &[u64]) -> Arc<T> {
    T::Memory::arrange();
    let table = T::default();
    keys.iter().for_each(|&key| put(&table, key));
    T::Memory::explore();
    Arc::new(table)
}

/// Checks that the table has these keys and no others, and that an iteration visits each once.
#[track_caller]
fn has<T: Grows>(table: &T, keys: &[u64]) {
    T::Memory::arrange();
    let mut there: Vec<_> = table.entries().into_iter().map(|(key, _)| key).collect();
    there.sort_unstable();
    assert_eq!(there, keys);
    keys.iter().for_each(|&key| assert!(found(table, key).is_some(), "{key} is not found"));
    T::Memory::explore();
}

/// Runs two threads: the first writes, and the second reads meanwhile.
fn beside<T: Grows>(
    table: &Arc<T>,
    write: impl Fn(&T) + Send + Sync + 'static,
    read: impl Fn(&T) + Send + Sync + 'static,
) {
    let table = Arc::clone(table);
    T::Memory::run(2, move |thread| if thread == 0 { write(&table) } else { read(&table) });
}

/// Keys of bucket 1; the last one makes the table double.
const OTHERS: [u64; 5] = [1, 5, 9, 13, 17];

/// Makes a table that has doubled. Its bucket 0 has these keys, and was not split yet.
fn doubled<T: Grows>(keys: &[u64]) -> Arc<T> {
    with(&[keys, &OTHERS].concat())
}

fn sorted(keys: &[u64]) -> Vec<u64> {
    let mut keys = [keys, &OTHERS].concat();
    keys.sort_unstable();
    keys
}

/// A key that is being inserted may be found or not; once it was found, it is found again. Keys
/// that were there before are found.
pub fn beside_insert<T: Grows>() {
    let table = with::<T>(&[0]);
    beside(
        &table,
        |table| put(table, 4),
        |table| {
            let first = found(table, 4);
            assert_eq!(found(table, 0), Some(0));
            assert!(first.is_none() || found(table, 4).is_some(), "it was there");
        },
    );
    has(&*table, &[0, 4]);
}

/// A key is removed, and another key takes its slot. A reader must not find first the new key and
/// then the old one.
pub fn beside_exchange<T: Grows>() {
    let table = with::<T>(&[0]);
    beside(
        &table,
        |table| {
            assert_eq!(table.remove(0), Some(value(0, 0)));
            put(table, 4);
        },
        |table| {
            let came = found(table, 4);
            let stayed = found(table, 0);
            assert!(came.is_none() || stayed.is_none(), "both were there");
        },
    );
    has(&*table, &[4]);
}

/// A value changes twice. A reader must not find an older value after a newer one.
pub fn beside_change<T: Grows>() {
    let table = with::<T>(&[0]);
    beside(
        &table,
        |table| {
            assert_eq!(table.insert(0, value(0, 1)), Some(value(0, 0)));
            assert_eq!(table.update(0, |[a, b]| [a + 1, b + 1]), Some(value(0, 2)));
        },
        |table| {
            let [first, second] = [0; 2].map(|key| found(table, key));
            assert!(first.is_some() && first <= second, "an older value came back");
        },
    );
    assert_eq!(found(&*table, 0), Some(2));
}

/// An entry moves forward from a chained bucket. The chained bucket is freed, and then chained
/// behind another bucket.
pub fn beside_fill<T: Grows>() {
    let table = with::<T>(&[0, 4, 8, 1, 5]);
    beside(
        &table,
        |table| {
            assert_eq!(table.remove(0), Some(value(0, 0)));
            put(table, 9);
        },
        |table| {
            assert_eq!(found(table, 8), Some(0), "it stays, wherever it is");
            assert!(matches!(found(table, 9), None | Some(0)));
        },
    );
    has(&*table, &[1, 4, 5, 8, 9]);
}

/// A bucket is split while each of its keys is looked up once.
pub fn beside_split<T: Grows>() {
    let table = doubled::<T>(&[0, 4]);
    beside(
        &table,
        |table| put(table, 8),
        |table| {
            assert_eq!(found(table, 4), Some(0), "it goes to the other half");
            assert_eq!(found(table, 0), Some(0), "it stays");
        },
    );
    has(&*table, &sorted(&[0, 4, 8]));
}

/// Like [`beside_split`], with a bucket that has another chained behind it.
pub fn beside_split_of_two<T: Grows>() {
    let table = doubled::<T>(&[0, 4, 12]);
    beside(
        &table,
        |table| put(table, 8),
        |table| {
            assert_eq!(found(table, 12), Some(0), "it was behind");
            assert_eq!(found(table, 0), Some(0), "it stays");
        },
    );
    has(&*table, &sorted(&[0, 4, 8, 12]));
}

/// Two threads write to a bucket that must be split.
pub fn two_split<T: Grows>() {
    let table = doubled::<T>(&[0, 4]);
    let shared = Arc::clone(&table);
    T::Memory::run(2, move |thread| put(&*shared, [8, 12][thread]));
    has(&*table, &sorted(&[0, 4, 8, 12]));
}

/// Two threads write, and a third one reads.
pub fn two_split_and_one_reads<T: Grows>() {
    let table = doubled::<T>(&[0, 4]);
    let shared = Arc::clone(&table);
    T::Memory::run(3, move |thread| match thread {
        0 => assert_eq!(found(&*shared, 4), Some(0)),
        1 => put(&*shared, 8),
        _ => assert_eq!(shared.remove(0), Some(value(0, 0))),
    });
    has(&*table, &sorted(&[4, 8]));
}

/// Two threads find that the table is too small.
pub fn two_double<T: Grows>() {
    let table = with::<T>(&[0, 4, 8, 1, 5, 2, 6]);
    let before = table.bytes();
    let shared = Arc::clone(&table);
    T::Memory::run(2, move |thread| put(&*shared, [9, 10][thread]));
    has(&*table, &[0, 1, 2, 4, 5, 6, 8, 9, 10]);
    // Before: four buckets and a chained one. After: eight or sixteen buckets and three chained
    // ones; or eight and two chained ones, if the second thread has split its bucket instead.
    let buckets = table.bytes() * 5 / before;
    assert!([10, 11, 19].contains(&buckets), "{buckets} buckets");
}

/// A reader uses a table while another thread doubles it. The new buckets were never used.
pub fn beside_doubling<T: Grows>() {
    let table = with::<T>(&[4, 1, 5, 9, 13]);
    beside(
        &table,
        |table| put(table, 17),
        |table| assert_eq!(found(table, 4), Some(0), "it stays where it is"),
    );
    has(&*table, &sorted(&[4]));
}

/// A writer uses a table that is being doubled, and its bucket is split.
pub fn writer_beside_doubling<T: Grows>() {
    let table = with::<T>(&[0, 1, 5, 9, 13]);
    beside(
        &table,
        |table| {
            put(table, 17);
            put(table, 8);
        },
        |table| put(table, 4),
    );
    has(&*table, &sorted(&[0, 4, 8]));
}

/// While a bucket is split, an iteration visits each key that stays exactly once, and a key that is
/// being inserted at most once.
pub fn iterated_beside_split<T: Grows>() {
    let table = doubled::<T>(&[0, 4]);
    beside(
        &table,
        |table| put(table, 8),
        |table| {
            let mut met = table.entries();
            met.iter().for_each(|&(key, value)| assert_eq!(changes(key, value), 0));
            met.sort_unstable();
            let mut keys: Vec<_> = met.into_iter().map(|(key, _)| key).collect();
            let came = keys.iter().position(|&key| key == 8);
            came.map(|at| keys.remove(at));
            assert_eq!(keys, sorted(&[0, 4]));
        },
    );
    has(&*table, &sorted(&[0, 4, 8]));
}

/// Two threads change one value, once each: both changes take effect.
pub fn both_update<T: Grows>() {
    let table = with::<T>(&[0, 4, 8]);
    let shared = Arc::clone(&table);
    T::Memory::run(2, move |_| {
        let new = shared.update(8, |[a, b]| [a + 1, b + 1]).expect("it is there");
        assert!(matches!(changes(8, new), 1 | 2));
    });
    assert_eq!(found(&*table, 8), Some(2));
}

/// Two threads insert an absent key: one value is inserted, and both threads get it.
pub fn both_put_in<T: Grows>() {
    let table = with::<T>(&[0]);
    let got = Arc::new(Mutex::new(Vec::new()));
    let (shared, seen) = (Arc::clone(&table), Arc::clone(&got));
    T::Memory::run(2, move |thread| {
        let there = shared.or_insert(4, value(4, thread as u64));
        seen.lock().expect("no panics").push(there);
    });
    let got = got.lock().expect("no panics");
    assert_eq!(got[0], got[1]);
    assert_eq!(table.get(4), Some(got[0]));
}
