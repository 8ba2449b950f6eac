//! Words of 64 bits over shuttle's atomics.

use std::sync::atomic::Ordering::{self, SeqCst};

use shuttle::sync::atomic::AtomicU64;
use syncline::memory::{Long, LongMemory};

use super::Shuttle;

/// A word of 64 bits.
#[derive(Debug, Default)]
pub struct ShuttleLong(AtomicU64);

// SAFETY: shuttle's atomics implement it.
unsafe impl LongMemory for Shuttle {
    type Long = ShuttleLong;
}

impl Long for ShuttleLong {
    fn load(&self, _: Ordering) -> u64 {
        self.0.load(SeqCst)
    }
    fn store(&self, value: u64, _: Ordering) {
        self.0.store(value, SeqCst);
    }
    fn fetch_add(&self, value: u64, _: Ordering) -> u64 {
        self.0.fetch_add(value, SeqCst)
    }
    fn exchange(&self, old: u64, new: u64, _: Ordering) -> Result<u64, u64> {
        self.0.compare_exchange(old, new, SeqCst, SeqCst)
    }
}
