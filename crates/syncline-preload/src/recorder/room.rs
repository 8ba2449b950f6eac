//! Room in the file, claimed before it is written to.
//!
//! The file is sparse. A store into a page that the file system then can't provide would
//! end the program with SIGBUS, so pages are made real first, with a call that reports an
//! error instead (`MADV_POPULATE_WRITE`, Linux 5.14; on older kernels a full disk is not
//! noticed in time). Room is claimed in steps, so that the call is rare.

use core::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, madvise};

/// Makes the pages of `[start, end)` real. False if the file system has no room.
pub fn populate(start: *mut u8, end: *mut u8) -> bool {
    const PAGE: usize = 4096;
    let first = start as usize & !(PAGE - 1);
    let last = (end as usize).next_multiple_of(PAGE);
    // SAFETY: the range lies within the mapped file; the call changes no byte of it.
    let result = unsafe { madvise(first as *mut _, last - first, Advice::LinuxPopulateWrite) };
    matches!(result, Ok(()) | Err(Errno::INVAL))
}

/// How far a run of bytes in the file is real, from its start.
pub struct Watermark {
    /// Bytes that are real.
    ready: AtomicU64,
}

impl Watermark {
    /// Nothing is real yet.
    pub const fn new() -> Watermark {
        Watermark { ready: AtomicU64::new(0) }
    }

    /// Whether the first `needed` bytes are real.
    pub fn has_reached(&self, needed: u64) -> bool {
        needed <= self.ready.load(Ordering::Relaxed)
    }

    /// Makes the first `needed` bytes of `[base, base + limit)` real, `step` at a time.
    pub fn reach(&self, base: *mut u8, needed: u64, limit: u64, step: u64) -> bool {
        let ready = self.ready.load(Ordering::Relaxed);
        if needed <= ready {
            return true;
        }
        let target = needed.next_multiple_of(step).min(limit);
        if needed > limit
            || !populate(base.wrapping_add(ready as usize), base.wrapping_add(target as usize))
        {
            return false;
        }
        self.ready.fetch_max(target, Ordering::Relaxed);
        true
    }
}
