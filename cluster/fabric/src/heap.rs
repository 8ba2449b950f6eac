//! A heap in each rank's part: blocks of any size, which any rank can take and free.
//!
//! ```text
//!   top                 how much of the heap was ever used
//!   free[class]         a stack of free blocks of 64 << class bytes: tag | offset / 64
//!   blocks ...          the first word of a free block: offset / 64 of the next one in its stack
//! ```
//!
//! The size of a block is a power of two and at least a cache line, so blocks share no lines. To
//! pop a block, a rank reads the word of the stack, which gives the block. Then the rank reads the
//! block's first word, which gives the next block, and exchanges the word of the stack. The tag
//! counts these exchanges. If another rank has popped the block in between, the block's first word
//! may have any value, but then the tag has changed too, and the exchange fails. The first word is
//! read by a get, which may coincide with a put of the block's new owner, and also with a change by
//! the rank that frees the block. An owner has flushed its puts before it frees a block. A tag has
//! 24 bits, so an error would require that an exact multiple of 2^24 exchanges happens between two
//! accesses of a rank.
//!
//! If a rank takes a block and dies before it links the block to something, the block is lost for
//! ever.
//!
//! Source: Treiber, "Systems Programming: Coping with Parallelism" (IBM, 1986), with the tag of
//! Michael and Scott (PODC'96).

use thiserror::Error;

use crate::fabric::{Dead, Fabric, Position};

/// The size of the smallest block in bytes, and the unit in which offsets are stored.
const LINE: usize = 64;
/// The number of block sizes: the largest is 64 << 31 bytes.
const CLASSES: usize = 32;
/// The number of bits of an offset in the word of a stack, enough for 64 TiB in units of `LINE`.
const BITS: u32 = 40;
const DISPLACEMENT: u64 = (1 << BITS) - 1;
/// The size in bytes of the words before the first block.
const HEAD: usize = (8 * (1 + CLASSES)).next_multiple_of(LINE);

/// A range of every rank's part from which blocks are taken. This value only describes the range:
/// ranks that describe the same range use the same heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// The range's offset in each part, a multiple of 64. The bytes of the range must be zero at
    /// first.
    pub at: usize,
    /// The range's size in bytes.
    pub bytes: usize,
}

/// Why a block could not be taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Full {
    /// The rank's part of the heap has no room for a block of this size.
    #[error("rank {rank} has no room for {bytes} bytes")]
    Full {
        /// The rank.
        rank: usize,
        /// The size that was requested, in bytes.
        bytes: usize,
    },
    /// The rank is dead.
    #[error(transparent)]
    Dead(#[from] Dead),
}

impl Heap {
    /// The size of the block that a request for this many bytes gets.
    pub fn block(bytes: usize) -> usize {
        bytes.max(LINE).next_power_of_two()
    }

    fn class(bytes: usize) -> usize {
        (Self::block(bytes) / LINE).trailing_zeros() as usize
    }

    fn top(&self, rank: usize) -> Position {
        Position { rank, at: self.at }
    }

    fn free(&self, rank: usize, class: usize) -> Position {
        Position { rank, at: self.at + 8 * (1 + class) }
    }

    /// Takes a block in a rank's part, at a multiple of 64. The block's contents are unspecified.
    ///
    /// # Errors
    ///
    /// If there is no room in that part, or the rank is dead.
    pub fn take(&self, fabric: &impl Fabric, rank: usize, bytes: usize) -> Result<Position, Full> {
        let full = Full::Full { rank, bytes };
        if bytes > self.bytes {
            return Err(full);
        }
        let free = self.free(rank, Self::class(bytes));
        let mut seen = fabric.load(free)?;
        while seen & DISPLACEMENT != 0 {
            let block = Position { rank, at: (seen & DISPLACEMENT) as usize * LINE };
            // This is a get, because the block's new owner may put to it already. If the get sees a
            // part of such a put, the exchange fails because of the tag.
            let mut next = [0; 8];
            fabric.get(block, &mut next)?;
            let next = u64::from_ne_bytes(next);
            let now = fabric.compare_and_swap(free, seen, tagged(seen, next))?;
            if now == seen {
                return Ok(block);
            }
            seen = now;
        }
        self.fresh(fabric, rank, Self::block(bytes))?.ok_or(full)
    }

    /// Takes a block that was never used before. Returns `None` if the rest of the heap is too
    /// small.
    fn fresh(
        &self,
        fabric: &impl Fabric,
        rank: usize,
        block: usize,
    ) -> Result<Option<Position>, Dead> {
        let top = self.top(rank);
        let mut seen = fabric.load(top)?;
        loop {
            let start = (seen as usize).max(HEAD);
            if block > self.bytes.saturating_sub(start) {
                return Ok(None);
            }
            let now = fabric.compare_and_swap(top, seen, (start + block) as u64)?;
            if now == seen {
                return Ok(Some(Position { rank, at: self.at + start }));
            }
            seen = now;
        }
    }

    /// Frees a block. `bytes` is the size with which it was taken. All puts to the block must have
    /// been flushed.
    ///
    /// # Errors
    ///
    /// If the rank is dead. Then its blocks are lost too.
    pub fn give(&self, fabric: &impl Fabric, block: Position, bytes: usize) -> Result<(), Dead> {
        let free = self.free(block.rank, Self::class(bytes));
        let mut seen = fabric.load(free)?;
        loop {
            fabric.store(block, seen & DISPLACEMENT)?;
            let now =
                fabric.compare_and_swap(free, seen, tagged(seen, (block.at / LINE) as u64))?;
            if now == seen {
                return Ok(());
            }
            seen = now;
        }
    }
}

/// The word of a stack, with another offset and the next tag.
fn tagged(old: u64, displacement: u64) -> u64 {
    ((old >> BITS) + 1) << BITS | displacement & DISPLACEMENT
}
