//! The range of global addresses, and private memory that the system maps at the first touch.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use crate::shape::PAGE;

/// The address at which the global memory begins, in every rank. No system maps anything at this
/// address (4 TiB) by itself. The region of the locks, which needs 64 TiB in one piece, fits above
/// it.
const BASE: usize = 1 << 42;

/// Where the global memory lies in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// At an address at which no system maps anything by itself.
    Apart,
    /// At this address, a multiple of the page size. Memory that is mapped there is replaced, and
    /// its content is lost.
    Over(usize),
}

/// The range of global addresses. Once the program uses the range, the range is never released.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: these are only addresses; code that accesses the memory has its own soundness argument.
unsafe impl Send for Reserved {}
// SAFETY: as above.
unsafe impl Sync for Reserved {}

fn failed() -> io::Error {
    io::Error::last_os_error()
}

/// Turns the result of `mmap` into an address or an error.
fn mapped(at: *mut libc::c_void) -> io::Result<NonNull<u8>> {
    if at == libc::MAP_FAILED {
        return Err(failed());
    }
    NonNull::new(at.cast()).ok_or_else(failed)
}

impl Reserved {
    /// Maps private memory at the global addresses. The memory can be read and written, and no page
    /// is present yet.
    ///
    /// # Errors
    ///
    /// If something is mapped there that may not be replaced, or the system refuses.
    pub fn private(bytes: usize, place: Where) -> io::Result<Reserved> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        Reserved::map(bytes, place, access, libc::MAP_PRIVATE, None)
    }

    /// Maps a file at the global addresses. No access is allowed at first.
    ///
    /// # Errors
    ///
    /// Same errors as [`private`](Self::private).
    pub fn file(bytes: usize, place: Where, file: libc::c_int) -> io::Result<Reserved> {
        Reserved::map(bytes, place, libc::PROT_NONE, libc::MAP_SHARED, Some(file))
    }

    fn map(
        bytes: usize,
        place: Where,
        access: i32,
        flags: i32,
        file: Option<i32>,
    ) -> io::Result<Reserved> {
        let (anonymous, file) = match file {
            Some(file) => (0, file),
            None => (libc::MAP_ANONYMOUS, -1),
        };
        let (at, fixed) = match place {
            Where::Apart => (BASE, libc::MAP_FIXED_NOREPLACE),
            Where::Over(at) => (at, libc::MAP_FIXED),
        };
        let flags = flags | anonymous | libc::MAP_NORESERVE | fixed;
        let wanted = ptr::without_provenance_mut(at);
        // SAFETY: maps new addresses, or fails if something is mapped there; or replaces what the
        // caller allows to be replaced.
        let base = mapped(unsafe { libc::mmap(wanted, bytes, access, flags, file, 0) })?;
        // Kernels before 4.17 don't know MAP_FIXED_NOREPLACE, and map at another address.
        if base.addr().get() != at {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        // No huge pages, since a fault is handled for a single page. And a forked child does not
        // get the memory: it has no part in the protocol, so its accesses have to fail.
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: gives advice about pages that are ours. If the system does not know the
            // advice, nothing is lost.
            unsafe { libc::madvise(base.as_ptr().cast(), bytes, advice) };
        }
        Ok(Reserved { base, bytes })
    }

    /// Releases the addresses. No thread must have accessed them.
    pub fn release(self) {
        // SAFETY: ours, and not in use.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }

    /// The first address.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The offset of an address in the global memory, or `None` if the address is outside.
    #[inline]
    pub fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.checked_sub(self.base.addr().get())?;
        (offset < self.bytes).then_some(offset)
    }

    /// The address of a page.
    pub fn page(&self, page: usize) -> *mut u8 {
        assert!(page * PAGE <= self.bytes, "no such page");
        // SAFETY: within the mapping, or its end.
        unsafe { self.base.as_ptr().add(page * PAGE) }
    }

    /// Changes how pages may be accessed.
    pub fn protect(&self, pages: Range<usize>, access: i32) {
        let (start, bytes) = (self.page(pages.start), pages.len() * PAGE);
        // SAFETY: these pages are ours. A thread that faults on them waits in the handler, or gets
        // its signal.
        let result = unsafe { libc::mprotect(start.cast(), bytes, access) };
        assert!(result == 0, "mprotect of {bytes} bytes: {}", failed());
    }

    /// Frees the memory of private pages.
    pub fn discard(&self, pages: Range<usize>) {
        let (start, bytes) = (self.page(pages.start), pages.len() * PAGE);
        // SAFETY: pages that are ours, whose bytes are no longer needed.
        let result = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) };
        assert!(result == 0, "madvise of {bytes} bytes: {}", failed());
    }

    /// Copies a present page, word by word, since the program may write to it at the same time.
    pub fn read(&self, page: usize, into: &mut [u8]) {
        copy(self.page(page), into);
    }
}

/// Copies bytes word by word. The program's threads may write them at the same time.
pub fn copy(from: *const u8, into: &mut [u8]) {
    assert!(into.len().is_multiple_of(8) && from.addr().is_multiple_of(8), "whole words");
    for (number, word) in into.chunks_exact_mut(8).enumerate() {
        // SAFETY: a word of a present page. Volatile, so that each word is read only once: the
        // bytes may change.
        let value = unsafe { from.cast::<u64>().add(number).read_volatile() };
        word.copy_from_slice(&value.to_ne_bytes());
    }
}

/// Zeroed private memory. Only its touched pages take space.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps this many bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn new(bytes: usize) -> io::Result<Mapping> {
        let bytes = bytes.max(1);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new addresses.
        let base = mapped(unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) })?;
        // SAFETY: advises the system to map many of our pages at once, because a fault for each
        // page takes longer than copying the page. If the system does not know the advice, nothing
        // is lost.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(Mapping { base, bytes })
    }

    /// Some of its bytes.
    pub fn at(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: within the mapping; only `at_mut` changes it, and needs an exclusive borrow.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(range.start), range.len()) }
    }

    /// Some of its bytes, mutable.
    pub fn at_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: no references into it are left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
