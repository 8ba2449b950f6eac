//! Lines in new pages. The thread that touches a page first decides in which node's memory the page
//! is.

use std::ops::Deref;
use std::slice;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use memmap2::{Advice, MmapMut};
use syncline::memory::Padded;

use crate::error::Error;

/// New lines, which are all zero.
pub struct Region {
    pages: MmapMut,
    lines: usize,
}

impl Region {
    /// Maps this many lines, which no thread has touched yet.
    pub fn new(lines: usize) -> Result<Region, Error> {
        let bytes = lines * size_of::<Padded<AtomicU32>>();
        let pages = MmapMut::map_anon(bytes).map_err(|source| Error::Memory { bytes, source })?;
        // Large pages are requested because a walk through much memory should measure the caches,
        // and not the translation of addresses. If the kernel has no large pages, the walk measures
        // both.
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
        // SAFETY: the mapping has this many bytes and is aligned to pages. It is zero at first,
        // which is a valid value for words. As long as the mapping exists, it is accessed only as
        // these words.
        unsafe { slice::from_raw_parts(self.pages.as_ptr().cast(), self.lines) }
    }
}
