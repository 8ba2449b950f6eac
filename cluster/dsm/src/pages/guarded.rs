//! Copies under userfaultfd whose first writes come to the handler: accesses to absent pages and
//! writes to clean ones raise SIGBUS. Needs Linux 5.11.
//!
//! Twins are made at the write, so that pages that are only read have none.

use std::io;
use std::ops::Range;

use super::memory::Reserved;
use super::uffd::{SIGBUS, Userfault, WRITE_PROTECT};
use super::{Pages, Twins};

/// Which pages are written: a bit each.
pub struct Written(Vec<u64>);

impl Written {
    pub fn new(pages: usize) -> Written {
        Written(vec![0; pages.div_ceil(64)])
    }

    pub fn set(&mut self, page: usize) {
        self.0[page / 64] |= 1 << (page % 64);
    }

    pub fn has(&self, page: usize) -> bool {
        self.0[page / 64] >> (page % 64) & 1 != 0
    }

    pub fn remove(&mut self, page: usize) {
        self.0[page / 64] &= !(1 << (page % 64));
    }

    /// The first one from a page on.
    pub fn next(&self, from: usize, end: usize) -> Option<usize> {
        let mut page = from;
        while page < end {
            let rest = self.0[page / 64] >> (page % 64);
            if rest != 0 {
                return Some(page + rest.trailing_zeros() as usize).filter(|page| *page < end);
            }
            page = (page / 64 + 1) * 64;
        }
        None
    }

    /// Takes written pages of a range out, as runs of neighbours: each is first protected and then
    /// found.
    pub fn take(
        &mut self,
        pages: Range<usize>,
        most: usize,
        mut protect: impl FnMut(Range<usize>),
        found: &mut dyn FnMut(usize),
    ) {
        let (mut left, mut from) = (most, pages.start);
        while let Some(first) = self.next(from, pages.end).filter(|_| left > 0) {
            let mut end = first;
            while end < pages.end && left > 0 && self.has(end) {
                self.remove(end);
                (end, left) = (end + 1, left - 1);
            }
            protect(first..end);
            (first..end).for_each(&mut *found);
            from = end;
        }
    }
}

pub struct Guarded {
    uffd: Userfault,
    written: Written,
}

impl Guarded {
    pub fn new(bytes: usize) -> io::Result<(Guarded, Reserved)> {
        let file = Userfault::open(SIGBUS | WRITE_PROTECT)?;
        let pages = Reserved::private(bytes)?;
        let uffd = Userfault::register(file, pages).inspect_err(|_| pages.release())?;
        let written = Written::new(bytes / crate::shape::PAGE);
        Ok((Guarded { uffd, written }, pages))
    }
}

impl Pages for Guarded {
    fn twins(&self) -> Twins {
        Twins::AtWrite
    }

    fn install(&mut self, first: usize, bytes: &[u8]) {
        self.uffd.copy(first, bytes);
    }

    fn write(&mut self, page: usize) {
        self.written.set(page);
        self.uffd.protect(page..page + 1, false);
    }

    fn is_written(&self, page: usize) -> bool {
        self.written.has(page)
    }

    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        self.written.take(pages, most, |run| self.uffd.protect(run, true), found);
    }

    fn read(&self, page: usize, into: &mut [u8]) {
        self.uffd.pages.read(page, into);
    }

    fn drop(&mut self, pages: Range<usize>) {
        pages.clone().for_each(|page| self.written.remove(page));
        self.uffd.pages.discard(pages);
    }

    /// Clean pages are protected as it is, and written ones are taken by the node first.
    fn freeze(&mut self, _: Range<usize>) {}

    fn thaw(&mut self, _: Range<usize>) {}
}
