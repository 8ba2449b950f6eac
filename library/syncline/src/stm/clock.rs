//! The clock of versions. It only advances: to a version that a thread has found in a cell, or has
//! written while it ran alone.
//!
//! All accesses after its creation are SeqCst. The rules that need this order are in
//! [`shared`](super::shared) and [`serial`](super::serial).

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::memory::{Long, LongMemory, Native};

/// The clock of an engine's versions: an attempt begins at its value.
pub struct Clock<M: LongMemory>(M::Long);

impl Clock<Native> {
    /// A clock at version 0. It is `const`.
    pub const fn fresh() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl<M: LongMemory> Clock<M> {
    /// A clock at this version.
    pub fn at(version: u64) -> Self {
        let clock = M::Long::default();
        // Relaxed: other threads get a reference to the clock through something that synchronizes.
        clock.store(version, Relaxed);
        Self(clock)
    }

    /// The version that the clock has reached.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.0.load(SeqCst)
    }

    /// Advances the clock to a version, unless it has reached it already.
    pub fn advance(&self, version: u64) {
        loop {
            let now = self.now();
            if now >= version || self.0.exchange(now, version, SeqCst).is_ok() {
                return;
            }
        }
    }
}
