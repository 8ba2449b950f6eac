//! The growing tables over any checker's memory: the library's own code, with buckets of two slots.
//!
//! A key is its own hash, whose low bits choose the bucket. There are four buckets at first, so
//! keys that are multiples of four are in bucket 0 until it is split; then those with bit 2 set
//! move. All keys have the same tag, so a reader copies every entry of its bucket. A value is two
//! equal words, from which its key can be computed, so a torn copy shows.

mod cases;
mod history;
mod kept;
mod loom;
mod shuttle;

use std::hash::{BuildHasherDefault, Hasher};

use syncline::table::{Flat, HashTable};
use syncline_checkers::{Engine, Loom, Shuttle};

pub use self::cases::*;
pub use self::history::recorded;
pub use self::kept::Kept;

/// A hasher whose result is the key itself.
#[derive(Default)]
pub struct OwnHash(u64);

impl Hasher for OwnHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are words");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The hasher of these keys.
pub type Own = BuildHasherDefault<OwnHash>;

/// The value of a key.
pub type Value = [u64; 2];

/// A growing table, or a mutant of it.
pub trait Grows: Default + Send + Sync + 'static {
    type Memory: Engine;
    fn get(&self, key: u64) -> Option<Value>;
    fn insert(&self, key: u64, value: Value) -> Option<Value>;
    fn remove(&self, key: u64) -> Option<Value>;
    fn update(&self, key: u64, to: impl Fn(Value) -> Value) -> Option<Value>;
    fn or_insert(&self, key: u64, value: Value) -> Value;
    fn entries(&self) -> Vec<(u64, Value)>;
    fn bytes(&self) -> usize;
}

/// Implements [`Grows`] for a table, with its functions of these names.
macro_rules! grows {
    ([$($generics:tt)*] $Table:ty, $Memory:ty) => {
        impl<$($generics)*> $crate::growing::Grows for $Table {
            type Memory = $Memory;
            fn get(&self, key: u64) -> Option<[u64; 2]> {
                self.get(&key).map(|value| *value)
            }
            fn insert(&self, key: u64, value: [u64; 2]) -> Option<[u64; 2]> {
                self.insert(key, value).map(|value| *value)
            }
            fn remove(&self, key: u64) -> Option<[u64; 2]> {
                self.remove(&key).map(|value| *value)
            }
            fn update(&self, key: u64, to: impl Fn([u64; 2]) -> [u64; 2]) -> Option<[u64; 2]> {
                self.update(&key, |value| to(*value)).map(|value| *value)
            }
            fn or_insert(&self, key: u64, value: [u64; 2]) -> [u64; 2] {
                *self.entry(key).or_insert(value)
            }
            fn entries(&self) -> Vec<(u64, [u64; 2])> {
                self.iter().map(|entry| (*entry.key(), *entry)).collect()
            }
            fn bytes(&self) -> usize {
                self.bytes()
            }
        }
    };
}
pub(crate) use grows;

grows! { [] HashTable<u64, Value, Own, Flat, Loom>, Loom }
grows! { [] HashTable<u64, Value, Own, Flat, Shuttle>, Shuttle }
grows! { [] HashTable<u64, Value, Own, Kept<Loom>, Loom>, Loom }
grows! { [] HashTable<u64, Value, Own, Kept<Shuttle>, Shuttle>, Shuttle }
