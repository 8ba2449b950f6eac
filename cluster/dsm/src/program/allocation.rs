//! Global memory: allocated by all ranks together, from below, or by one, from above. One word says
//! how many pages are taken on either side, so that they don't meet.
//!
//! What all ranks allocate is the same on each, since they do it in the same order: each counts for
//! itself, and advances the shared word if that is behind. Memory that one rank allocates comes
//! from pages that it has taken; a block that is freed is used again by the rank that freed it.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use syncline_fabric::Fabric;
use thiserror::Error;

use super::{Program, reached};
use crate::shape::{Control, PAGE};

/// There is not enough memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "no {bytes} bytes of shared memory: {free} of {all} are free; `syncline cluster --memory` says how much there is"
)]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub bytes: usize,
    /// Bytes in pages that no rank has taken.
    pub free: usize,
    /// All bytes.
    pub all: usize,
}

/// Pages that are taken from below, and from above.
pub(super) fn halves(word: u64) -> (usize, usize) {
    (word as u32 as usize, (word >> 32) as usize)
}

/// Blocks of one rank.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Pages that this rank has seen taken by all together.
    together: usize,
    /// Blocks to be used again, by their size.
    free: BTreeMap<usize, Vec<usize>>,
    /// Where small blocks come from.
    small: std::ops::Range<usize>,
}

/// Up to here blocks share pages.
const SMALL: usize = PAGE / 2;

/// The size of the block for this many bytes.
fn block(bytes: usize, unit: usize) -> usize {
    match bytes {
        0..=SMALL => bytes.max(64).next_power_of_two(),
        _ => bytes.next_multiple_of(unit),
    }
}

impl Program {
    /// Memory of at least this many bytes, zero, at the same address on all ranks. All ranks call
    /// this in the same order with the same size. It begins with a line and shares none.
    ///
    /// # Errors
    ///
    /// If there is not enough left.
    pub fn allocate_together(&self, bytes: usize) -> Result<NonNull<u8>, OutOfMemory> {
        let pages = bytes.max(1).div_ceil(self.shape.line()) * self.shape.line_pages;
        let mut arena = self.arena.lock();
        let (first, end) = (arena.together, arena.together + pages);
        self.take(bytes, |(below, above)| (below.max(end), above))?;
        arena.together = end;
        Ok(self.address(first * PAGE))
    }

    /// Memory of at least this many bytes, at a multiple of 64, for this rank to use and to tell
    /// others of. Its content is unspecified.
    ///
    /// # Errors
    ///
    /// If there is not enough left.
    pub fn allocate(&self, bytes: usize) -> Result<NonNull<u8>, OutOfMemory> {
        let size = block(bytes, self.shape.line());
        let mut arena = self.arena.lock();
        if let Some(at) = arena.free.get_mut(&size).and_then(Vec::pop) {
            return Ok(self.address(at));
        }
        if size > SMALL {
            let at = self.take_above(size).map_err(|error| OutOfMemory { bytes, ..error })?;
            return Ok(self.address(at));
        }
        if arena.small.len() < size {
            let line = self.shape.line();
            let at = self.take_above(line)?;
            arena.small = at..at + line;
        }
        let at = arena.small.start;
        arena.small.start += size;
        Ok(self.address(at))
    }

    /// Gives memory back that [`allocate`](Self::allocate) has given to any rank for this many
    /// bytes.
    ///
    /// # Safety
    ///
    /// No rank uses it any more, and what was done with it is visible to this rank.
    ///
    /// # Panics
    ///
    /// If it is no address of shared memory.
    pub unsafe fn free(&self, block_at: NonNull<u8>, bytes: usize) {
        let at = self.reserved.offset(block_at.addr().get()).expect("an address of shared memory");
        let size = block(bytes, self.shape.line());
        self.arena.lock().free.entry(size).or_default().push(at);
    }

    /// Places the lines of a range at a rank, if no rank has touched them yet, and returns how many
    /// of them are placed there.
    ///
    /// # Panics
    ///
    /// If there is no such rank, or the range is not shared memory.
    pub fn place(&self, from: *const u8, bytes: usize, rank: usize) -> usize {
        assert!(rank < self.ranks(), "there is no rank {rank}");
        let start = self.reserved.offset(from.addr()).expect("an address of shared memory");
        assert!(bytes <= self.shape.bytes() - start, "beyond the shared memory");
        let lines = start / self.shape.line()..(start + bytes).div_ceil(self.shape.line());
        reached(self.inside(|node| node.place(lines, rank)))
    }

    fn take_above(&self, bytes: usize) -> Result<usize, OutOfMemory> {
        let pages = bytes.div_ceil(PAGE);
        let (_, above) = self.take(bytes, |(below, above)| (below, above + pages))?;
        Ok((self.shape.pages() - above) * PAGE)
    }

    /// Changes how much is taken, if it fits.
    fn take(
        &self,
        bytes: usize,
        change: impl Fn((usize, usize)) -> (usize, usize),
    ) -> Result<(usize, usize), OutOfMemory> {
        let word = self.layout.control(0, Control::Allocated);
        let mut seen = reached(self.host.load(word));
        loop {
            let (below, above) = change(halves(seen));
            if below + above > self.shape.pages() {
                let (taken_below, taken_above) = halves(seen);
                let free = (self.shape.pages() - taken_below - taken_above) * PAGE;
                return Err(OutOfMemory { bytes, free, all: self.shape.bytes() });
            }
            let new = below as u64 | (above as u64) << 32;
            let found = reached(self.host.compare_and_swap(word, seen, new));
            if found == seen {
                // Relaxed: a hint for the handler.
                self.allocated.store(new, Relaxed);
                return Ok((below, above));
            }
            seen = found;
        }
    }

    fn address(&self, at: usize) -> NonNull<u8> {
        // SAFETY: within the reserved addresses.
        let address = unsafe { self.reserved.base().add(at) };
        NonNull::new(address).expect("global addresses don't begin at zero")
    }
}
