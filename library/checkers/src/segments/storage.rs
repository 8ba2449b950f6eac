//! Segments as two mappings of the same size: addresses, which can't be accessed, and storage.
//!
//! ```text
//!   addresses   | segment 0              | segment 1              |   reserved, PROT_NONE
//!                   &node --.
//!   storage     | segment 0 v            | segment 1              |   read and written
//! ```
//!
//! A word or node has its address in the first mapping, and its bytes at the same displacement in
//! the second. So a function can find the bytes from the address, and code that accesses the
//! address itself faults.
//!
//! A block consists of whole lines. The first of them, its header, is for the use of this memory.
//! Freed lines are reused as late as possible: the checker's execution is over by then.

use std::alloc::Layout;
use std::num::NonZeroU32;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of segments.
pub(super) const SEGMENTS: usize = 2;
/// Size of a segment in bytes.
const SEGMENT: usize = 1 << 24;
const LINE: usize = 128;
const LINES: usize = SEGMENT / LINE;
/// The unit of displacements, in bytes: all words and links have this alignment.
const UNIT: usize = 4;
/// The bit of a reference at which the segment's number begins; the displacement is below it.
const NUMBER: u32 = 24;

/// For each line, the first line of its block, counted from 1; 0 if free.
static BLOCKS: [[AtomicU32; LINES]; SEGMENTS] =
    [const { [const { AtomicU32::new(0) }; LINES] }; SEGMENTS];
/// The line at which the next search for free lines begins.
static NEXT: [Mutex<usize>; SEGMENTS] = [const { Mutex::new(0) }; SEGMENTS];

/// The starts of the two mappings.
fn mappings() -> (usize, usize) {
    static MAPPINGS: OnceLock<(usize, usize)> = OnceLock::new();
    let map = |rights| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let size = SEGMENTS * SEGMENT;
        // SAFETY: new addresses, where nothing was mapped.
        let at = unsafe { libc::mmap(ptr::null_mut(), size, rights, flags, -1, 0) };
        assert!(at != libc::MAP_FAILED, "there are no addresses for segments");
        at.expose_provenance()
    };
    *MAPPINGS.get_or_init(|| (map(libc::PROT_NONE), map(libc::PROT_READ | libc::PROT_WRITE)))
}

/// The position of a word or node: the number of its segment, counted from 1, and its displacement
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(NonZeroU32);

impl Position {
    fn new(segment: usize, displacement: usize) -> Self {
        let bits = (segment as u32 + 1) << NUMBER | (displacement / UNIT) as u32;
        Self(NonZeroU32::new(bits).expect("segments count from 1"))
    }

    /// The position of an address, if it is in a segment.
    pub(super) fn of<T>(address: *const T) -> Option<Self> {
        let offset = address.addr().checked_sub(mappings().0)?;
        (offset < SEGMENTS * SEGMENT).then(|| Self::new(offset / SEGMENT, offset % SEGMENT))
    }

    /// The position in the form that a word holds.
    pub(super) fn bits(self) -> u32 {
        self.0.get()
    }

    /// The position that a word holds; `None` for 0.
    pub(super) fn from_bits(bits: u32) -> Option<Self> {
        NonZeroU32::new(bits).map(Self)
    }

    pub(super) fn segment(self) -> usize {
        (self.0.get() >> NUMBER) as usize - 1
    }

    fn displacement(self) -> usize {
        (self.0.get() & ((1 << NUMBER) - 1)) as usize * UNIT
    }

    fn offset(self) -> usize {
        self.segment() * SEGMENT + self.displacement()
    }

    /// The address of the position in the first mapping, for Rust references; an access to it
    /// faults.
    pub(super) fn address<T>(self) -> *mut T {
        ptr::with_exposed_provenance_mut(mappings().0 + self.offset())
    }

    /// The address of the bytes in the storage.
    pub(super) fn storage<T>(self) -> *mut T {
        ptr::with_exposed_provenance_mut(mappings().1 + self.offset())
    }

    /// The first line of the block at this position; `None` if the block was freed.
    pub(super) fn header(self) -> Option<Self> {
        // Relaxed: a thread that uses a block got its address through something that synchronizes.
        // If the block was freed, the caller fails with either answer.
        let block = BLOCKS[self.segment()][self.displacement() / LINE].load(Relaxed);
        Some(Self::new(self.segment(), (block as usize).checked_sub(1)? * LINE))
    }

    /// Allocates a block in a segment, and returns the position of its second line, where an object
    /// of this layout has room.
    pub(super) fn take(segment: usize, layout: Layout) -> Self {
        assert!(layout.align() <= LINE, "a node has its own alignment");
        let lines = 1 + layout.size().div_ceil(LINE);
        let mut next = NEXT[segment].lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = &BLOCKS[segment];
        // Relaxed, here and below: the mutex orders allocations; for other readers see `header`.
        let is_free = |line: &AtomicU32| line.load(Relaxed) == 0;
        let all = (*next..LINES).chain(0..LINES);
        let first = all.filter(|first| first + lines <= LINES);
        let first =
            first.into_iter().find(|&first| blocks[first..first + lines].iter().all(is_free));
        let first = first.expect("the segment has room");
        for line in &blocks[first..first + lines] {
            line.store(first as u32 + 1, Relaxed);
        }
        *next = first + lines;
        Self::new(segment, (first + 1) * LINE)
    }

    /// Frees the block at this position. No other thread may use the block.
    pub(super) fn give(self) {
        let header = self.header().expect("a node was freed twice");
        let first = header.displacement() / LINE;
        for line in &BLOCKS[self.segment()][first..] {
            // Relaxed: as in `take`.
            if line.load(Relaxed) != first as u32 + 1 {
                break;
            }
            line.store(0, Relaxed);
        }
    }
}
