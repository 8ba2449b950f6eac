//! The global addresses, and private memory that is mapped as it is touched.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use crate::shape::PAGE;

/// Where the global memory begins in every rank: at 4 TiB, where no system maps anything by itself,
/// and below the 64 TiB that the locks' region wants in one piece.
const BASE: usize = 1 << 42;

/// The global addresses. Once they are used they are never given back.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: addresses; code that accesses what they lead to has its own reasons.
unsafe impl Send for Reserved {}
// SAFETY: as above.
unsafe impl Sync for Reserved {}

fn failed() -> io::Error {
    io::Error::last_os_error()
}

/// What `mmap` returned.
fn mapped(at: *mut libc::c_void) -> io::Result<NonNull<u8>> {
    if at == libc::MAP_FAILED {
        return Err(failed());
    }
    NonNull::new(at.cast()).ok_or_else(failed)
}

impl Reserved {
    /// Maps private pages at the global addresses, readable and writable, none of them there yet.
    ///
    /// # Errors
    ///
    /// If something is mapped there, or the system refuses.
    pub fn private(bytes: usize) -> io::Result<Reserved> {
        Reserved::map(bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE, None)
    }

    /// Maps a file at the global addresses, without access.
    ///
    /// # Errors
    ///
    /// Same errors as [`private`](Self::private).
    pub fn file(bytes: usize, file: libc::c_int) -> io::Result<Reserved> {
        Reserved::map(bytes, libc::PROT_NONE, libc::MAP_SHARED, Some(file))
    }

    fn map(bytes: usize, access: i32, flags: i32, file: Option<i32>) -> io::Result<Reserved> {
        let (anonymous, file) = match file {
            Some(file) => (0, file),
            None => (libc::MAP_ANONYMOUS, -1),
        };
        let flags = flags | anonymous | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let wanted = ptr::without_provenance_mut(BASE);
        // SAFETY: new addresses, or an error if something is there.
        let base = mapped(unsafe { libc::mmap(wanted, bytes, access, flags, file, 0) })?;
        // Kernels before 4.17 don't know the flag, and map elsewhere.
        if base.addr().get() != BASE {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        // Faults are for single pages. A child has no part in the protocol: its accesses fail.
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: says how pages that are ours are treated. Where it is not known nothing is lost.
            unsafe { libc::madvise(base.as_ptr().cast(), bytes, advice) };
        }
        Ok(Reserved { base, bytes })
    }

    /// Gives the addresses back, which no thread has accessed.
    pub fn release(self) {
        // SAFETY: ours, and not in use.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }

    /// Where they begin.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// How many bytes they are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How far into them an address is; `None` if it is outside.
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
        // SAFETY: pages that are ours; a thread that faults on them waits, or is told.
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

    /// Copies a present page word by word: the program may write to it at the same time.
    pub fn read(&self, page: usize, into: &mut [u8]) {
        copy(self.page(page), into);
    }
}

/// Copies bytes that the program's threads may write at the same time.
pub fn copy(from: *const u8, into: &mut [u8]) {
    assert!(into.len().is_multiple_of(8) && from.addr().is_multiple_of(8), "whole words");
    for (number, word) in into.chunks_exact_mut(8).enumerate() {
        // SAFETY: a present page. Volatile: its bytes may change, and no word is used twice.
        let value = unsafe { from.cast::<u64>().add(number).read_volatile() };
        word.copy_from_slice(&value.to_ne_bytes());
    }
}

/// Zeroed private memory, of which only the touched part takes space.
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
    /// This many bytes.
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
        // SAFETY: says how pages that are ours are made: many at once, as a fault for each takes longer
        // than to copy it. Where it is not known nothing is lost.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(Mapping { base, bytes })
    }

    /// Bytes of it.
    pub fn at(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: within the mapping, which is only changed through `at_mut`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(range.start), range.len()) }
    }

    /// Bytes of it, to be changed.
    pub fn at_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.bytes);
        // SAFETY: as above, and we have it alone.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: no references into it are left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
