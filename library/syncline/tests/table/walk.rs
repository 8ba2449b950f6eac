//! Readers whose bucket a writer changes in the middle of the search.
//!
//! A reader calls a key's `Eq` while it searches its bucket, which is not locked then. So the key
//! itself can run a writer at any point of the search. A second thread is needed only if the reader
//! may lock the bucket.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use syncline::table::{Boxed, Flat, FlatTable, HashTable, Storage, Table};

#[derive(Clone, Copy, Debug, Eq)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0);
    }
}

/// The number of comparisons before a function is called, and the function.
type Meanwhile = (u32, Rc<dyn Fn()>);

thread_local! {
    static MEANWHILE: RefCell<Option<Meanwhile>> = const { RefCell::new(None) };
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let meanwhile = MEANWHILE.with_borrow_mut(|meanwhile| {
            let (comparisons, _) = meanwhile.as_mut()?;
            match comparisons.checked_sub(1) {
                Some(left) => {
                    *comparisons = left;
                    None
                }
                None => meanwhile.take(),
            }
        });
        if let Some((_, act)) = meanwhile {
            act();
        }
        self.0 == other.0
    }
}

/// A hasher that gives all keys the same hash, so they are in one bucket, and in those chained
/// behind it.
#[derive(Default)]
struct NoHash;

impl Hasher for NoHash {
    fn finish(&self) -> u64 {
        0
    }
    fn write(&mut self, _: &[u8]) {}
}

/// A hasher whose result is the key itself. Hashes differ only in bits that choose the bucket, so a
/// reader compares all keys of its bucket.
#[derive(Default)]
struct OwnHash(u64);

impl Hasher for OwnHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().rev().fold(0, |hash, &byte| hash << 8 | u64::from(byte));
    }
}

type Equal = BuildHasherDefault<NoHash>;
type Lower = BuildHasherDefault<OwnHash>;

/// Runs an operation, and another one when the first has compared `comparisons` keys of its bucket,
/// or after the first has ended.
fn with_another<R>(
    comparisons: u32,
    operation: impl FnOnce() -> R,
    another: impl Fn() + 'static,
) -> R {
    MEANWHILE.set(Some((comparisons, Rc::new(another))));
    let result = operation();
    if let Some((_, another)) = MEANWHILE.take() {
        another();
    }
    result
}

/// Whichever key is removed while a reader searches for the last key, the last key is found. Keys
/// behind the removed one move forward, perhaps past the reader.
fn found_while_others_go<P: Storage<Key, u32> + 'static>() {
    for keys in 2..24 {
        for comparisons in 0..keys {
            for gone in 0..keys - 1 {
                let sought = keys - 1;
                let table: Rc<HashTable<Key, u32, Equal, P>> = Rc::default();
                (0..keys).for_each(|key| drop(table.insert(Key(key), key + 100)));
                let other = Rc::clone(&table);
                let found = with_another(
                    comparisons,
                    || table.get(&Key(sought)).map(|value| *value),
                    move || drop(other.remove(&Key(gone))),
                );
                let when = format!("{sought} of {keys}, without {gone} at {comparisons}");
                assert_eq!(found, Some(sought + 100), "{when}");
                assert!(!table.contains_key(&Key(gone)));
            }
        }
    }
}

/// The table grows to four times as many keys while a reader is in a bucket. The bucket is split
/// then, unless the table is small.
fn found_while_the_table_grows<P: Storage<Key, u32> + 'static>() {
    for keys in (1..200).step_by(13) {
        for sought in 0..keys {
            let table: Rc<HashTable<Key, u32, Lower, P>> = Rc::default();
            (0..keys).for_each(|key| drop(table.insert(Key(key), key + 100)));
            let other = Rc::clone(&table);
            let found = with_another(
                sought % 3,
                || table.get(&Key(sought)).map(|value| *value),
                move || (keys..4 * keys).for_each(|key| drop(other.insert(Key(key), key + 100))),
            );
            assert_eq!(found, Some(sought + 100), "{sought} of {keys}");
        }
    }
}

#[test]
fn nobody_is_missed_while_others_go() {
    found_while_others_go::<Boxed>();
    found_while_others_go::<Flat>();
}

#[test]
fn nobody_is_missed_while_the_table_grows() {
    found_while_the_table_grows::<Boxed>();
    found_while_the_table_grows::<Flat>();
}

#[test]
fn who_comes_and_goes_is_found_or_not_and_nobody_else() {
    let table: Rc<Table<Key, u32, Equal>> = Rc::default();
    let flat: Rc<FlatTable<Key, u32, Equal>> = Rc::default();
    table.insert(Key(1), 1);
    flat.insert(Key(1), 1);
    let other = Rc::clone(&table);
    let found = with_another(
        0,
        || table.get(&Key(2)).map(|value| *value),
        move || drop(other.insert(Key(2), 2)),
    );
    assert_eq!(found, Some(2), "a writer was there, so the reader looks again");
    let other = Rc::clone(&flat);
    let found = with_another(
        0,
        || flat.get(&Key(1)).map(|value| *value),
        move || assert!(other.insert(Key(1), 3).is_some()),
    );
    assert_eq!(found, Some(1), "it was there when the reader looked");
}

/// Calls `act` at the beginning of each comparison, until it returns `false`.
fn always(act: Rc<dyn Fn() -> bool>) {
    let once = move || {
        if act() {
            always(Rc::clone(&act));
        }
    };
    MEANWHILE.set(Some((0, Rc::new(once))));
}

/// More disturbances than a reader tolerates before it locks the bucket.
const OFTEN: u32 = 1000;
/// How long a writer may take to change the bucket; after that it counts as locked out. A writer
/// that is only slow makes this test weaker, but does not make it fail.
const SLOW: Duration = Duration::from_millis(300);

/// A writer changes the bucket each time before the reader compares the next key.
#[test]
fn a_reader_that_is_always_disturbed_gets_through() {
    let table: Arc<FlatTable<Key, u32, Equal>> = Arc::default();
    for key in 1..=2 {
        table.insert(Key(key), key);
    }
    let ((ask, asked), (answer, answered)) = (mpsc::channel(), mpsc::channel());
    let other = Arc::clone(&table);
    let writer = thread::spawn(move || {
        for value in asked {
            other.insert(Key(1), value);
            answer.send(()).expect("the reader is there");
        }
    });
    let disturbed = Rc::new(Cell::new(0));
    let count = Rc::clone(&disturbed);
    let sender = ask.clone();
    always(Rc::new(move || {
        count.set(count.get() + 1);
        assert!(count.get() < OFTEN, "the reader never gets through");
        sender.send(count.get()).expect("the writer is there");
        answered.recv_timeout(SLOW).is_ok()
    }));
    assert_eq!(table.get(&Key(2)).map(|value| *value), Some(2));
    MEANWHILE.take();
    drop(ask);
    assert!(disturbed.get() > 1);
    // If the writer was locked out until now, its last answer is not received, and it panics.
    let _ = writer.join();
}
