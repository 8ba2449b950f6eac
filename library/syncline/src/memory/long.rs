//! Words of 64 bits, for versions, which must never wrap around, and for values of up to 64 bits.
//!
//! No thread can sleep on a long word, since the kernel's futex has 32 bits. So long words are
//! separate from [`Word`](super::Word), and only code that needs them requires a [`LongMemory`].

use core::fmt::Debug;
use core::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};

use super::interface::Memory;
use super::native::Native;

/// A memory that has words of 64 bits.
///
/// # Safety
///
/// Same requirements as [`Memory`]. All threads see the SeqCst accesses to all long words in one
/// order.
pub unsafe trait LongMemory: Memory {
    /// A shared word of 64 bits.
    type Long: Long;
}

/// A shared word of 64 bits, initially 0.
pub trait Long: Default + Debug + Send + Sync + 'static {
    /// Reads the word.
    fn load(&self, order: Ordering) -> u64;
    /// Writes the word.
    fn store(&self, value: u64, order: Ordering);
    /// Adds, wrapping around, and returns what the word held.
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
    /// Writes `new` if the word holds `old`; the error is what it held instead. Does not fail for
    /// other reasons. A failed exchange has the ordering of a Relaxed load.
    fn exchange(&self, old: u64, new: u64, order: Ordering) -> Result<u64, u64>;
}

// SAFETY: core's atomics.
unsafe impl LongMemory for Native {
    type Long = AtomicU64;
}

impl Long for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }
    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
    #[inline(always)]
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        AtomicU64::fetch_add(self, value, order)
    }
    #[inline(always)]
    fn exchange(&self, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.compare_exchange(old, new, order, Relaxed)
    }
}
