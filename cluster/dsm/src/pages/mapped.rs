//! Copies of pages under SIGSEGV and `mprotect`, which every system has: an absent page can't be
//! accessed, and a clean page can't be written.
//!
//! The pages belong to a file without a name. A second mapping of the file is always writable, so a
//! page gets its bytes there before any thread can access it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};

use super::copies::{Pages, Twins};
use super::memory::{Reserved, Where, copy};
use super::written::Written;
use crate::shape::PAGE;

pub struct Mapped {
    pages: Reserved,
    /// A second mapping of the pages, all writable.
    alias: *mut u8,
    written: Written,
}

// SAFETY: one thread at a time uses the alias, as `Pages` says.
unsafe impl Send for Mapped {}

impl Mapped {
    pub fn new(bytes: usize, place: Where) -> io::Result<(Mapped, Reserved)> {
        // SAFETY: creates a descriptor, which is ours alone.
        let file = unsafe {
            let file = libc::memfd_create(c"syncline-dsm".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(file)
        };
        file.set_len(bytes as u64)?;
        let pages = Reserved::file(bytes, place, file.as_raw_fd())?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, none) = (libc::MAP_SHARED | libc::MAP_NORESERVE, std::ptr::null_mut());
        // SAFETY: new addresses.
        let alias = unsafe { libc::mmap(none, bytes, access, flags, file.as_raw_fd(), 0) };
        if alias == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let written = Written::new(bytes / PAGE);
        Ok((Mapped { pages, alias: alias.cast(), written }, pages))
    }

    fn alias(&self, page: usize) -> *mut u8 {
        // SAFETY: the alias is as long as the pages are.
        unsafe { self.alias.add(page * PAGE) }
    }
}

impl Pages for Mapped {
    fn twins(&self) -> Twins {
        Twins::AtWrite
    }

    fn install(&mut self, first: usize, bytes: &[u8]) {
        // SAFETY: the pages are absent, so no other thread can access them.
        unsafe { self.alias(first).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.pages.protect(first..first + bytes.len() / PAGE, libc::PROT_READ);
    }

    fn write(&mut self, page: usize) {
        self.written.set(page);
        self.pages.protect(page..page + 1, libc::PROT_READ | libc::PROT_WRITE);
    }

    fn is_written(&self, page: usize) -> bool {
        self.written.has(page)
    }

    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        let reserved = self.pages;
        self.written.take(pages, most, |run| reserved.protect(run, libc::PROT_READ), found);
    }

    fn read(&self, page: usize, into: &mut [u8]) {
        copy(self.alias(page), into);
    }

    fn drop(&mut self, pages: Range<usize>) {
        pages.clone().for_each(|page| self.written.remove(page));
        self.pages.protect(pages.clone(), libc::PROT_NONE);
        let (start, bytes) = (self.alias(pages.start), pages.len() * PAGE);
        // SAFETY: frees the pages' memory, whose bytes are no longer needed. If the file system
        // can't free it, the memory is only used longer.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_REMOVE) };
    }

    /// Does nothing, as in `guarded`: clean pages are always protected, and the node makes the
    /// written ones clean before it drops them.
    fn freeze(&mut self, _: Range<usize>) {}

    fn thaw(&mut self, _: Range<usize>) {}
}
