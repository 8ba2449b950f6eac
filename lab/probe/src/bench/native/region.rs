//! Lines in pages that were never used before, so that their first touch decides in which node's
//! memory they are.

use std::ops::Deref;
use std::slice;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use memmap2::{Advice, MmapMut};
use syncline::memory::Padded;

use crate::error::Error;

/// Fresh lines, all zero.
pub struct Region {
    pages: MmapMut,
    lines: usize,
}

impl Region {
    /// Maps this many lines, which no thread has touched yet.
    pub fn new(lines: usize) -> Result<Region, Error> {
        let bytes = lines * size_of::<Padded<AtomicU32>>();
        let pages = MmapMut::map_anon(bytes).map_err(|source| Error::Memory { bytes, source })?;
        // A walk through much memory is meant to measure caches, not the translation of addresses.
        // If the kernel has no large pages, it measures both.
        let _ = pages.advise(Advice::HugePage);
        Ok(Region { pages, lines })
    }

    /// Touches all pages.
    pub fn touch(&self) {
        for line in self.iter() {
            line.store(0, Relaxed);
        }
    }
}

impl Deref for Region {
    type Target = [Padded<AtomicU32>];

    fn deref(&self) -> &Self::Target {
        // SAFETY: the mapping has this many bytes, is aligned to pages, and is initially all zero,
        // which is a valid value of the words. As long as it exists, it is accessed only through
        // these words.
        unsafe { slice::from_raw_parts(self.pages.as_ptr().cast(), self.lines) }
    }
}
