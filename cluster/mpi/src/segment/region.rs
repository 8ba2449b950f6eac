//! The region: a range of addresses that this process reserves, and that contains all segments.
//!
//! Positions in the region are given out in ascending order, and each only once. So ranks that need
//! a common position only have to take the highest of their free positions. The region has room for
//! a few hundred million windows of a few ranks. After that, windows keep the MPI library's own
//! locks.

use std::ptr::{self, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The size of the region in bytes. These are only addresses: they need no memory until a segment
/// is mapped.
const ROOM: usize = 1 << 40;
/// The size of a page. Segments begin and end where pages do.
const PAGE: usize = 4096;

/// The lowest free position. The position is never 0, since distance 0 stands for no node.
static NEXT: AtomicUsize = AtomicUsize::new(PAGE);

/// Reserves the region at the first call. Returns its start, or `None` if the process may not have
/// so many addresses.
fn start() -> Option<usize> {
    static START: OnceLock<Option<usize>> = OnceLock::new();
    *START.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: maps new addresses.
        let at = unsafe { libc::mmap(null_mut(), ROOM, libc::PROT_NONE, flags, -1, 0) };
        (at != libc::MAP_FAILED).then(|| at.expose_provenance())
    })
}

/// The start of the region. A segment must have been mapped before.
#[inline]
pub fn base() -> usize {
    static BASE: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: all threads get the same value.
    let base = BASE.load(Relaxed);
    if base != 0 {
        return base;
    }
    let base = start().unwrap_or_default();
    BASE.store(base, Relaxed);
    base
}

/// The lowest position that is free in this process's region, or 0 if the process has no region.
pub fn position() -> usize {
    // Relaxed: windows of one communicator are made one after another, and each communicator's
    // ranks agree for themselves.
    if start().is_some() { NEXT.load(Relaxed) } else { 0 }
}

/// A segment that is mapped into this process. Dropping this ends the mapping.
#[derive(Debug)]
pub struct Area {
    at: usize,
    size: usize,
}

impl Area {
    /// Maps a file of `size` bytes at this position of the region. The ranks must have agreed on
    /// the position.
    pub fn map(file: libc::c_int, position: usize, size: usize) -> Option<Area> {
        let size = size.next_multiple_of(PAGE);
        let end = position.checked_add(size).filter(|end| *end <= ROOM)?;
        // Relaxed: the reason in `position` applies.
        NEXT.fetch_max(end, Relaxed);
        let at = start()? + position;
        let (rights, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: these addresses belong to the region, and no other segment is ever mapped there.
        let mapped = unsafe {
            libc::mmap(ptr::with_exposed_provenance_mut(at), size, rights, flags, file, 0)
        };
        (mapped != libc::MAP_FAILED).then(|| Area { at: mapped.expose_provenance(), size })
    }

    /// The address of a value at this offset in the segment.
    ///
    /// # Panics
    ///
    /// If the value is not entirely within the segment.
    pub fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.size, "beyond the segment");
        ptr::with_exposed_provenance_mut(self.at + offset)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the owner drops the segment, so nothing refers to it any more.
        unsafe {
            let at = ptr::with_exposed_provenance_mut(self.at);
            libc::mmap(at, self.size, libc::PROT_NONE, flags, -1, 0);
        }
    }
}
