//! The cases of tables with a lock for each bucket (as in SSYNC) and of versions. They run over any
//! such table or version, in any checker's memory.
//!
//! The tables' contents are plain data, which the checkers watch. A version protects words, and a
//! reader must find words that were all written by the same writer.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use syncline::lock::RawLock;
use syncline::memory::{Long, LongMemory, Memory};
use syncline::table::LockTable;
use syncline::table::version::{Seen, Version};
use syncline_checkers::Engine;

/// A table with locks, or a mutant of it.
pub trait Buckets: Send + Sync + 'static {
    type Memory: Engine;
    fn new(buckets: usize, keys: usize) -> Self;
    fn put(&self, key: u64, value: u64) -> Option<u64>;
    fn get(&self, key: u64) -> Option<u64>;
    fn remove(&self, key: u64) -> Option<u64>;
}

/// Implements [`Buckets`] for a type, with its functions of these names.
macro_rules! buckets {
    ([$($generics:tt)*] $Table:ty, $Memory:ty) => {
        impl<$($generics)*> $crate::cases::Buckets for $Table {
            type Memory = $Memory;
            fn new(buckets: usize, keys: usize) -> Self {
                Self::new(buckets, keys)
            }
            fn put(&self, key: u64, value: u64) -> Option<u64> {
                self.put(key, value)
            }
            fn get(&self, key: u64) -> Option<u64> {
                self.get(key)
            }
            fn remove(&self, key: u64) -> Option<u64> {
                self.remove(key)
            }
        }
    };
}
pub(crate) use buckets;

buckets! { [L: RawLock<Memory: Engine> + 'static] LockTable<u64, L>, L::Memory }

/// Each thread has a key of its own, in one bucket that must grow.
pub fn own_keys<T: Buckets>(threads: usize) {
    let table = Arc::new(T::new(1, 0));
    T::Memory::run(threads, move |thread| {
        let key = thread as u64;
        assert_eq!(table.put(key, key + 10), None);
        assert_eq!(table.get(key), Some(key + 10));
        assert_eq!(table.remove(key), Some(key + 10));
        assert_eq!(table.get(key), None);
    });
}

/// All threads put a value under one key, and the first thread also removes one. Each value must
/// come back exactly once.
pub fn one_key<T: Buckets>(threads: usize) {
    let table = Arc::new(T::new(1, 1));
    let returned = Arc::new(Mutex::new(Vec::new()));
    let (shared, seen) = (Arc::clone(&table), Arc::clone(&returned));
    T::Memory::run(threads, move |thread| {
        let old = shared.put(7, thread as u64);
        let taken = if thread == 0 { shared.remove(7) } else { None };
        let mut seen = seen.lock().expect("no panics");
        seen.extend(old.into_iter().chain(taken));
    });
    let mut returned = std::mem::take(&mut *returned.lock().expect("no panics"));
    returned.extend(table.remove(7));
    assert_eq!(table.get(7), None);
    returned.sort_unstable();
    assert_eq!(returned, (0..threads as u64).collect::<Vec<_>>());
}

/// A version, or a mutant of it.
pub trait Versioned: Default + Send + Sync + 'static {
    type Memory: LongMemory + Engine;
    type Seen: Copy;
    const READ: Ordering;
    const WRITE: Ordering;
    fn look(&self) -> Option<Self::Seen>;
    fn unchanged(&self, seen: Self::Seen) -> bool;
    fn try_lock(&self) -> Option<Self::Seen>;
    fn unlock(&self, seen: Self::Seen, changed: bool);
}

/// Implements [`Versioned`] for a type, with its functions of these names.
macro_rules! versioned {
    ([$($generics:tt)*] $Version:ty, $Seen:ty, $Memory:ty) => {
        impl<$($generics)*> $crate::cases::Versioned for $Version {
            type Memory = $Memory;
            type Seen = $Seen;
            const READ: std::sync::atomic::Ordering = Self::READ;
            const WRITE: std::sync::atomic::Ordering = Self::WRITE;
            fn look(&self) -> Option<$Seen> {
                self.look()
            }
            fn unchanged(&self, seen: $Seen) -> bool {
                self.unchanged(seen)
            }
            fn try_lock(&self) -> Option<$Seen> {
                self.try_lock()
            }
            fn unlock(&self, seen: $Seen, changed: bool) {
                self.unlock(seen, changed);
            }
        }
    };
}
pub(crate) use versioned;

versioned! { [M: LongMemory + Engine] Version<M>, Seen, M }

/// Two words that are always equal, and count their changes.
#[derive(Default)]
struct Pair<V: Versioned> {
    version: V,
    words: [<V::Memory as LongMemory>::Long; 2],
}

impl<V: Versioned> Pair<V> {
    fn write(&self) {
        let mut looks = 0;
        let seen = loop {
            if let Some(seen) = self.version.try_lock() {
                break seen;
            }
            looks += 1;
            V::Memory::pause(looks);
        };
        // Relaxed: `try_lock` orders these reads after the last writer's stores.
        let [first, second] = [0, 1].map(|at| self.words[at].load(Ordering::Relaxed));
        assert_eq!(first, second, "a writer does not see what the last one wrote");
        self.words[0].store(first + 1, V::WRITE);
        self.words[1].store(first + 1, V::WRITE);
        self.version.unlock(seen, true);
    }

    /// Tries to read the number once; `None` if a writer holds the version, or has changed the
    /// words meanwhile.
    fn read(&self) -> Option<u64> {
        let seen = self.version.look()?;
        let [first, second] = [0, 1].map(|at| self.words[at].load(V::READ));
        self.version.unchanged(seen).then(|| {
            assert_eq!(first, second, "a torn copy was taken for whole");
            first
        })
    }
}

/// The last thread reads, and all others write.
pub fn whole<V: Versioned>(threads: usize) {
    let pair = Arc::new(Pair::<V>::default());
    let played = Arc::clone(&pair);
    V::Memory::run(threads, move |thread| {
        if thread + 1 < threads {
            played.write();
        } else {
            let first = played.read();
            let second = played.read();
            if let (Some(first), Some(second)) = (first, second) {
                assert!(first <= second, "an older value came back");
            }
        }
    });
    assert_eq!(pair.read(), Some(threads as u64 - 1));
}
