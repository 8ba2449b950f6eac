//! Which addresses of the program are translated, and where.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Scatters an address. The standard hasher asks the system for random numbers and keeps them
/// in the thread, which this library must not do inside another program.
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

/// From an address of the program to its translation.
pub struct Index(HashMap<u64, u64, BuildHasherDefault<Scatter>>);

impl Index {
    /// Nothing is translated.
    pub fn new() -> Index {
        Index(HashMap::default())
    }

    /// Where the translation is.
    pub fn get(&self, address: u64) -> Option<u64> {
        self.0.get(&address).copied()
    }

    /// Notes where it is; replaces what was there.
    pub fn insert(&mut self, address: u64, host: u64) {
        self.0.insert(address, host);
    }

    /// Forgets one.
    pub fn remove(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
