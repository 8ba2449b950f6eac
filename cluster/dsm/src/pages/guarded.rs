//! Copies of pages under userfaultfd, where the signal handler sees first writes: an access to an
//! absent page or a write to a clean page raises SIGBUS. Needs Linux 5.11.
//!
//! A page's twin is made at its first write, so pages that are only read have no twin.

use std::io;
use std::ops::Range;

use super::copies::{Pages, Twins};
use super::memory::{Reserved, Where};
use super::uffd::{SIGBUS, Userfault, WRITE_PROTECT};
use super::written::Written;

pub struct Guarded {
    uffd: Userfault,
    written: Written,
}

impl Guarded {
    pub fn new(bytes: usize, place: Where) -> io::Result<(Guarded, Reserved)> {
        let file = Userfault::open(SIGBUS | WRITE_PROTECT)?;
        let pages = Reserved::private(bytes, place)?;
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

    /// Nothing to do: clean pages are protected anyway, and the node makes the written ones clean
    /// before it drops them.
    fn freeze(&mut self, _: Range<usize>) {}

    fn thaw(&mut self, _: Range<usize>) {}
}
