//! A range of addresses that this process reserves, in which all segments lie.
//!
//! Positions are assigned in ascending order and never reused: ranks that agree on the highest of
//! their free positions need no list of the positions in use. The range has room for a few hundred
//! million windows with a few ranks; after that, windows keep the MPI library's own locks.

use std::ptr::{self, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Size of the range in bytes. Only addresses: no memory is behind them until a segment is mapped.
const ROOM: usize = 1 << 40;
/// Segments begin and end at pages.
const PAGE: usize = 4096;

/// The lowest free position; never 0, which stands for no node.
static NEXT: AtomicUsize = AtomicUsize::new(PAGE);

/// Reserves the region on the first call. Returns its start; `None` if the process may not have
/// this many addresses.
fn start() -> Option<usize> {
    static START: OnceLock<Option<usize>> = OnceLock::new();
    *START.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new addresses, where nothing was mapped.
        let at = unsafe { libc::mmap(null_mut(), ROOM, libc::PROT_NONE, flags, -1, 0) };
        (at != libc::MAP_FAILED).then(|| at.expose_provenance())
    })
}

/// The region's start; a segment must have been mapped before.
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

/// The lowest position at which this process can map a segment; 0 if it can't map any.
pub fn position() -> usize {
    // Relaxed: windows of one communicator are made in order, and ranks of others agree separately.
    if start().is_some() { NEXT.load(Relaxed) } else { 0 }
}

/// A segment that is mapped into this process until this is dropped.
#[derive(Debug)]
pub struct Area {
    at: usize,
    size: usize,
}

impl Area {
    /// Maps a file of `size` bytes at this position, on which the ranks have agreed.
    pub fn map(file: libc::c_int, position: usize, size: usize) -> Option<Area> {
        let size = size.next_multiple_of(PAGE);
        let end = position.checked_add(size).filter(|end| *end <= ROOM)?;
        // Relaxed: as in `position`.
        NEXT.fetch_max(end, Relaxed);
        let at = start()? + position;
        let (rights, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: these addresses belong to the region, and nothing else was or will be mapped
        // there.
        let mapped = unsafe {
            libc::mmap(ptr::with_exposed_provenance_mut(at), size, rights, flags, file, 0)
        };
        (mapped != libc::MAP_FAILED).then(|| Area { at: mapped.expose_provenance(), size })
    }

    /// The address of a value at this offset of the segment.
    ///
    /// # Panics
    ///
    /// If the value does not lie entirely within the segment.
    pub fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.size, "beyond the segment");
        ptr::with_exposed_provenance_mut(self.at + offset)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: nothing refers to the segment any more, as its owner drops it.
        unsafe {
            let at = ptr::with_exposed_provenance_mut(self.at);
            libc::mmap(at, self.size, libc::PROT_NONE, flags, -1, 0);
        }
    }
}
