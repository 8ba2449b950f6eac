//! Allocation of global memory. Memory that all ranks allocate together comes from the low end, and
//! memory that a single rank allocates comes from the high end. One word holds the numbers of pages
//! taken at both ends, so that the two areas don't meet.
//!
//! Each rank makes the same calls for memory of all ranks, in the same order, so each gets the same
//! addresses. Each rank counts these pages by itself, and advances the shared word if its number is
//! lower. A block that one rank allocates comes from pages that this rank has taken. A freed block
//! is used again by the rank that freed it.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use syncline::Mutex;
use syncline_fabric::Fabric;
use thiserror::Error;

use super::rank::{Rank, halves, reached};
use crate::shape::{Control, PAGE};

/// There is not enough global memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "no {bytes} bytes of shared memory: {free} of {all} are free; `syncline cluster --memory SIZE` gives more"
)]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub bytes: usize,
    /// The bytes in pages that no rank has taken.
    pub free: usize,
    /// All bytes of the memory.
    pub all: usize,
}

/// What this rank knows of the allocated blocks.
#[derive(Debug, Default)]
struct Blocks {
    /// The pages that all ranks have taken together, by this rank's own count.
    together: usize,
    /// Free blocks, by their size.
    free: BTreeMap<usize, Vec<usize>>,
    /// The unused rest of the line from which small blocks are taken.
    small: std::ops::Range<usize>,
}

/// The largest size of a block that shares a page with other blocks.
const SMALL: usize = PAGE / 2;

/// The size of the block that is allocated for this many bytes. Large blocks are multiples of
/// `unit`.
fn block(bytes: usize, unit: usize) -> usize {
    match bytes {
        0..=SMALL => bytes.max(64).next_power_of_two(),
        _ => bytes.next_multiple_of(unit),
    }
}

/// The allocator of global memory on this rank.
pub struct GlobalMemory {
    rank: &'static Rank,
    blocks: Mutex<Blocks>,
}

impl GlobalMemory {
    pub(super) fn new(rank: &'static Rank) -> GlobalMemory {
        GlobalMemory { rank, blocks: Mutex::new(Blocks::default()) }
    }

    /// Returns zeroed memory of at least this many bytes, at the same address on all ranks. All
    /// ranks make these calls in the same order, with the same sizes. The memory begins where a
    /// line begins, and no other memory is in its lines.
    ///
    /// # Errors
    ///
    /// If not enough memory is left.
    pub fn allocate_together(&self, bytes: usize) -> Result<NonNull<u8>, OutOfMemory> {
        let pages = bytes.max(1).div_ceil(self.rank.shape.line()) * self.rank.shape.line_pages;
        let mut blocks = self.blocks.lock();
        let (first, end) = (blocks.together, blocks.together + pages);
        self.take(bytes, |(below, above)| (below.max(end), above))?;
        blocks.together = end;
        Ok(self.address(first * PAGE))
    }

    /// Returns memory of at least this many bytes, at a multiple of 64. Only this rank gets the
    /// address; it may pass the address to other ranks. The content is unspecified.
    ///
    /// # Errors
    ///
    /// If not enough memory is left.
    pub fn allocate(&self, bytes: usize) -> Result<NonNull<u8>, OutOfMemory> {
        let size = block(bytes, self.rank.shape.line());
        let mut blocks = self.blocks.lock();
        if let Some(at) = blocks.free.get_mut(&size).and_then(Vec::pop) {
            return Ok(self.address(at));
        }
        if size > SMALL {
            return Ok(self.address(self.take_above(size, bytes)?));
        }
        if blocks.small.len() < size {
            let line = self.rank.shape.line();
            let at = self.take_above(line, bytes)?;
            blocks.small = at..at + line;
        }
        let at = blocks.small.start;
        blocks.small.start += size;
        Ok(self.address(at))
    }

    /// Frees memory that a call of [`allocate`](Self::allocate) for this many bytes has returned,
    /// on any rank.
    ///
    /// # Safety
    ///
    /// No rank uses the memory any more. The accesses of other ranks to it are visible to this
    /// rank.
    ///
    /// # Panics
    ///
    /// If the address is not in shared memory.
    pub unsafe fn free(&self, block_at: NonNull<u8>, bytes: usize) {
        let at =
            self.rank.reserved.offset(block_at.addr().get()).expect("an address of shared memory");
        let size = block(bytes, self.rank.shape.line());
        self.blocks.lock().free.entry(size).or_default().push(at);
    }

    /// Places the lines of a range at a rank, except lines that a rank has touched already. Returns
    /// how many of the lines live there.
    ///
    /// # Panics
    ///
    /// If there is no such rank, or the range is not shared memory.
    pub fn place(&self, from: *const u8, bytes: usize, rank: usize) -> usize {
        assert!(rank < self.rank.fabric.ranks(), "there is no rank {rank}");
        let start = self.rank.reserved.offset(from.addr()).expect("an address of shared memory");
        let fits = bytes <= self.rank.shape.bytes() - start;
        assert!(fits, "{bytes} bytes from this address reach beyond the shared memory");
        let lines =
            start / self.rank.shape.line()..(start + bytes).div_ceil(self.rank.shape.line());
        reached(self.rank.inside(|node| node.place(lines, rank)))
    }

    /// The first global address and the number of global bytes. Memory must be allocated before it
    /// is used.
    pub fn addresses(&self) -> (*mut u8, usize) {
        (self.rank.reserved.base(), self.rank.shape.bytes())
    }

    /// The bytes of a line.
    pub fn line(&self) -> usize {
        self.rank.shape.line()
    }

    /// Makes accesses of this rank's threads to the line of an address an error, as below a stack,
    /// or allows them again. The line must not be in this rank's cache.
    ///
    /// # Panics
    ///
    /// If the address is not in shared memory.
    pub fn guard(&self, address: usize, guarded: bool) {
        let offset = self.rank.reserved.offset(address).expect("an address of shared memory");
        self.rank.guard(offset / self.rank.shape.line(), guarded);
    }

    /// Whether threads of this rank may access an address: it is in shared memory, its page is
    /// allocated, and its line is not [guarded](Self::guard).
    pub fn may_access(&self, address: usize) -> bool {
        let offset = self.rank.reserved.offset(address);
        offset.is_some_and(|offset| self.rank.may_access(offset / PAGE))
    }

    /// Makes the pages of a range present, so that a system call can read or write them: on an
    /// absent page, a system call fails with `EFAULT` and raises no signal. The pages may become
    /// absent again at this rank's next fence, or when other pages take their slots in a small
    /// cache.
    ///
    /// # Safety
    ///
    /// The bytes are allocated, and no other thread writes to them without synchronization.
    pub unsafe fn touch(&self, from: *mut u8, bytes: usize, write: bool) {
        if bytes == 0 {
            return;
        }
        let pages = from.addr() / PAGE..=(from.addr() + bytes - 1) / PAGE;
        for page in pages {
            let byte = from.with_addr((page * PAGE).max(from.addr()));
            // SAFETY: a byte of the range.
            let value = unsafe { byte.read_volatile() };
            if write {
                // SAFETY: same as above. An exchange for the same value writes to the page and
                // changes nothing. The compiler may turn an addition of zero into a read, but not
                // this. Relaxed, as it orders nothing. If the exchange fails, another thread has
                // written to the page, so the page is writable anyway.
                let byte = unsafe { AtomicU8::from_ptr(byte) };
                let _ = byte.compare_exchange(value, value, Relaxed, Relaxed);
            }
        }
    }

    /// Takes pages for `size` bytes from the high end. An error reports `bytes`, which the caller
    /// asked for.
    fn take_above(&self, size: usize, bytes: usize) -> Result<usize, OutOfMemory> {
        let pages = size.div_ceil(PAGE);
        let (_, above) = self.take(bytes, |(below, above)| (below, above + pages))?;
        Ok((self.rank.shape.pages() - above) * PAGE)
    }

    /// Replaces the two numbers of taken pages by the result of `change`, if the memory has that
    /// many pages. Otherwise the error reports `bytes`, which the caller asked for.
    fn take(
        &self,
        bytes: usize,
        change: impl Fn((usize, usize)) -> (usize, usize),
    ) -> Result<(usize, usize), OutOfMemory> {
        let word = self.rank.layout.control(0, Control::Allocated);
        let mut seen = reached(self.rank.fabric.load(word));
        loop {
            let (below, above) = change(halves(seen));
            if below + above > self.rank.shape.pages() {
                let (taken_below, taken_above) = halves(seen);
                let free = (self.rank.shape.pages() - taken_below - taken_above) * PAGE;
                return Err(OutOfMemory { bytes, free, all: self.rank.shape.bytes() });
            }
            let new = below as u64 | (above as u64) << 32;
            let found = reached(self.rank.fabric.compare_and_swap(word, seen, new));
            if found == seen {
                self.rank.note_allocated(new);
                return Ok((below, above));
            }
            seen = found;
        }
    }

    fn address(&self, at: usize) -> NonNull<u8> {
        // SAFETY: within the reserved addresses.
        let address = unsafe { self.rank.reserved.base().add(at) };
        NonNull::new(address).expect("global addresses don't begin at zero")
    }
}
