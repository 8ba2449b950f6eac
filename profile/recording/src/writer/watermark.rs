//! Allocates disk space for pages of the file before they are written to.
//!
//! A page that has disk space is called *real*. Pages are made real by a call that fails if there
//! is no space ([`populate`]). Without it, a write to the page would kill the program in this case.
//! Space is allocated in steps, so that the call is rare. The first steps are small because many
//! processes record little and should take little disk space.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use syncline_interpose::populate;

const PAGE: u64 = 4096;
/// A step allocates at most this many bytes in advance.
const MOST: u64 = 64 << 10;

/// How many bytes from the start of a part of the file are real. All zero means none.
pub struct Watermark {
    /// Bytes that are real.
    ready: AtomicU64,
}

impl Watermark {
    /// Whether the first `needed` bytes are real.
    pub fn has_reached(&self, needed: u64) -> bool {
        needed <= self.ready.load(Ordering::Relaxed)
    }

    /// Allocates disk space for the first `needed` bytes of the part of the file that begins at
    /// `base` and has `limit` bytes; false if there is no space. So that calls are rare, at least
    /// as many bytes are allocated as were real before, but at most [`MOST`] in advance and only
    /// within `limit`.
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

/// How much of each part of a file is real. All zero means that nothing is real.
pub struct Real {
    pub modules: Watermark,
    pub threads: Watermark,
    pub stacks: Watermark,
    pub arena: Watermark,
    /// Whether there has ever been no room in the arena for a request.
    pub full: AtomicBool,
}
