//! An index from addresses of the program to their translations.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher for addresses. The standard hasher asks the system for random numbers and keeps them in
/// thread-local storage, which this library must not do inside another program.
#[derive(Default)]
pub struct Scatter(u64);

impl Hasher for Scatter {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// For each translated address of the program, the address of its translation.
pub struct Index(HashMap<u64, u64, BuildHasherDefault<Scatter>>);

impl Index {
    /// An index without entries.
    pub fn new() -> Index {
        Index(HashMap::default())
    }

    /// The address of the translation; `None` if there is none.
    pub fn get(&self, address: u64) -> Option<u64> {
        self.0.get(&address).copied()
    }

    /// Notes the address of a translation, in place of an older one.
    pub fn insert(&mut self, address: u64, host: u64) {
        self.0.insert(address, host);
    }

    /// Removes one entry.
    pub fn remove(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
