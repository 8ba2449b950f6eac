//! The values that words can hold. The engine keeps them as bits.

use std::ptr::{NonNull, with_exposed_provenance_mut};

/// A value that a word, a long word or a link can hold.
pub trait Held: Copy + PartialEq {
    /// The value as bits.
    fn bits(self) -> u64;
    /// The value with these bits, which must come from [`bits`](Self::bits).
    fn of(bits: u64) -> Self;
}

impl Held for u32 {
    fn bits(self) -> u64 {
        self.into()
    }
    fn of(bits: u64) -> u32 {
        bits as u32
    }
}

impl Held for u64 {
    fn bits(self) -> u64 {
        self
    }
    fn of(bits: u64) -> u64 {
        bits
    }
}

impl<T> Held for Option<NonNull<T>> {
    fn bits(self) -> u64 {
        self.map_or(0, |node| node.as_ptr().expose_provenance() as u64)
    }
    fn of(bits: u64) -> Self {
        NonNull::new(with_exposed_provenance_mut(bits as usize))
    }
}
