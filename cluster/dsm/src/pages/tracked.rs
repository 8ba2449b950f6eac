//! Copies of pages under userfaultfd with asynchronous write protection. An access to an absent
//! page raises SIGBUS. The kernel records first writes without a signal; one system call finds the
//! written pages and protects them again. Needs Linux 6.7.
//!
//! A page's twin is made when the page is fetched, so twins take as much memory as the copies.

use std::io;
use std::ops::Range;

use super::copies::{Pages, Twins};
use super::memory::{Reserved, Where};
use super::uffd::{ASYNCHRONOUS, SIGBUS, Scanner, Userfault, WRITE_PROTECT};

pub struct Tracked {
    uffd: Userfault,
    scanner: Scanner,
}

impl Tracked {
    pub fn new(bytes: usize, place: Where) -> io::Result<(Tracked, Reserved)> {
        let file = Userfault::open(SIGBUS | WRITE_PROTECT | ASYNCHRONOUS)?;
        let pages = Reserved::private(bytes, place)?;
        let made = Userfault::register(file, pages)
            .and_then(|uffd| Ok(Tracked { uffd, scanner: Scanner::new(&pages)? }));
        if made.is_err() {
            pages.release();
        }
        Ok((made?, pages))
    }
}

impl Pages for Tracked {
    fn twins(&self) -> Twins {
        Twins::AtFetch
    }

    fn install(&mut self, first: usize, bytes: &[u8]) {
        self.uffd.copy(first, bytes);
    }

    fn write(&mut self, _: usize) {}

    fn is_written(&self, _: usize) -> bool {
        false
    }

    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        self.scanner.take_written(&self.uffd.pages, pages, most, found);
    }

    fn read(&self, page: usize, into: &mut [u8]) {
        self.uffd.pages.read(page, into);
    }

    fn drop(&mut self, pages: Range<usize>) {
        self.uffd.pages.discard(pages);
    }

    /// Uses `mprotect`: userfaultfd's own protection would not stop the write, since the kernel
    /// would only record it. A thread that writes gets SIGSEGV, and waits in the handler.
    fn freeze(&mut self, pages: Range<usize>) {
        self.uffd.pages.protect(pages, libc::PROT_READ);
    }

    fn thaw(&mut self, pages: Range<usize>) {
        self.uffd.pages.protect(pages, libc::PROT_READ | libc::PROT_WRITE);
    }
}
