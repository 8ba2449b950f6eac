//! Room in the file, claimed before it is written to.
//!
//! Pages are made real before, with a call that says so if there is no room ([`populate`]). Room is
//! claimed in steps, so that the call is rare; and in small steps at first, so that the many
//! processes that record little take little disk space.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use syncline_interpose::populate;

const PAGE: u64 = 4096;
/// Bytes of the largest step.
const MOST: u64 = 64 << 10;

/// How many bytes from the start of a range of the file have disk space. All zero is nothing.
pub struct Watermark {
    /// Bytes that are real.
    ready: AtomicU64,
}

impl Watermark {
    /// Whether the first `needed` bytes are real.
    pub fn has_reached(&self, needed: u64) -> bool {
        needed <= self.ready.load(Ordering::Relaxed)
    }

    /// Allocates disk space for the first `needed` bytes of `[base, base + limit)`, and for as many
    /// more as have it already.
    pub fn reach(&self, base: *mut u8, needed: u64, limit: u64) -> bool {
        let ready = self.ready.load(Ordering::Relaxed);
        if needed <= ready {
            return true;
        }
        let target = needed.max(ready + ready.min(MOST)).next_multiple_of(PAGE).min(limit);
        if needed > limit
            || !populate(base.wrapping_add(ready as usize), base.wrapping_add(target as usize))
        {
            return false;
        }
        self.ready.fetch_max(target, Ordering::Relaxed);
        true
    }
}

/// How much of each part of a file has disk space. All zero is nothing.
pub struct Real {
    pub modules: Watermark,
    pub threads: Watermark,
    pub stacks: Watermark,
    pub arena: Watermark,
    /// Whether the arena had no room when it was last asked for some.
    pub full: AtomicBool,
}
