//! Disk space for the file's pages, allocated before they are written to.
//!
//! A page that has disk space is called *real*. Pages are made real with a call that fails if there
//! is no space ([`populate`]); a plain write would kill the program then. Space is allocated in
//! steps, so that the call is rare. The first steps are small, so that the many processes that
//! record little take little disk space.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use syncline_interpose::populate;

const PAGE: u64 = 4096;
/// The most bytes that a step allocates in advance.
const MOST: u64 = 64 << 10;

/// How many bytes, from the start of a range of the file, are real. All zero is none.
pub struct Watermark {
    /// Bytes that are real.
    ready: AtomicU64,
}

impl Watermark {
    /// Whether the first `needed` bytes are real.
    pub fn has_reached(&self, needed: u64) -> bool {
        needed <= self.ready.load(Ordering::Relaxed)
    }

    /// Allocates disk space for the first `needed` bytes of `[base, base + limit)`. To make the
    /// next call rarer, it allocates at least as many bytes again as were real before, up to `MOST`
    /// and within `limit`. False if there is no space.
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

/// How much of each part of a file is real. All zero is nothing.
pub struct Real {
    pub modules: Watermark,
    pub threads: Watermark,
    pub stacks: Watermark,
    pub arena: Watermark,
    /// Whether the arena has ever refused a request.
    pub full: AtomicBool,
}
