//! Rows of blocks. A table's buckets are blocks.
//!
//! A block is a head of words and links, followed by slots for values of one type. Blocks of a row
//! follow each other in memory, so a block is found by its number. A row is freed as a whole.
//! Blocks that were never used are all zeros: their words are 0, their links empty, their slots
//! vacant.
//!
//! A slot is copied word by word, atomically. A copy that is made during a write may be torn. The
//! block's user has to detect that by words in the head.
//!
//! In native memory a row is bytes ([`native`](self)), and slots hold values of any type that can
//! be copied, even with padding. In a memory whose words are objects, such as a checker's, slots
//! are made of such objects ([`objects`]), and values are [`Words`].

mod native;
#[doc(hidden)]
pub mod objects;
mod pages;
mod word;
mod words;

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;

pub use self::words::Words;
use super::long::LongMemory;

/// The size of a cache line. Each block begins at one.
const LINE: usize = 64;
/// The fewest slots of a block, if the memory is free to choose.
const FEWEST: usize = 6;

/// The head of a block: words and links of a memory.
pub trait BlockHead: Default {
    /// The most slots that the head can describe.
    const MOST: usize;
}

/// A memory that can hold rows of blocks with the head `H` and slots for `R`.
///
/// # Safety
///
/// Blocks of a row overlap with nothing else, are zeros at first, and stay where they are until the
/// row is freed. A copy of a slot is the value that was set last, if the setting happened before
/// the copy and no thread sets the slot meanwhile. Accesses to a slot's words are atomic, with the
/// given orderings.
pub unsafe trait Blocks<H: BlockHead, R: Copy>: LongMemory {
    /// The number of slots of a block.
    const SLOTS: usize;
    /// Bytes of a block.
    const BYTES: usize;

    /// Allocates a row of `count` blocks, and returns the first of them.
    ///
    /// # Panics
    ///
    /// If the row is larger than can be addressed.
    fn allocate_row(count: usize) -> Self::Ref<H>;

    /// Frees a row.
    ///
    /// # Safety
    ///
    /// The row has `count` blocks, and no thread uses them any more.
    unsafe fn free_row(first: Self::Ref<H>, count: usize);

    /// The address at which block 0 would be if `block` had this number. It may only be passed to
    /// [`block`](Self::block), since no block need be there.
    fn start(block: Self::Ref<H>, number: usize) -> Self::Ref<H>;

    /// A block by its number.
    ///
    /// # Safety
    ///
    /// The start is that of a live row which has a block of this number.
    unsafe fn block(start: Option<Self::Ref<H>>, number: usize) -> Self::Ref<H>;

    /// Copies a slot's content.
    ///
    /// # Safety
    ///
    /// The block is in a live row, and has this slot.
    unsafe fn copy(block: Self::Ref<H>, slot: usize, order: Ordering) -> MaybeUninit<R>;

    /// Writes a slot.
    ///
    /// # Safety
    ///
    /// Same requirements as [`copy`](Self::copy), and no other thread sets it meanwhile.
    unsafe fn set(block: Self::Ref<H>, slot: usize, value: R, order: Ordering);

    /// Prefetches all of a block's lines but the first, if the machine can.
    fn fetch(_: Self::Ref<H>) {}

    /// Prefetches all of a block's lines for writing, if the machine can.
    fn fetch_for_write(_: Self::Ref<H>) {}
}

/// Bytes of a block with `slots` slots.
#[doc(hidden)]
pub const fn bytes(head: usize, slot: usize, slots: usize) -> usize {
    (head + slots * slot).next_multiple_of(LINE)
}

/// The number of slots of a block that leaves the smallest part of the block's lines unused. If
/// several numbers do, it is the largest of them, since a table's keys fill larger blocks more
/// evenly.
#[doc(hidden)]
pub const fn slots(head: usize, slot: usize, most: usize) -> usize {
    let mut best = most;
    let mut slots = most - 1;
    while slots >= FEWEST {
        if slots * bytes(head, slot, best) > best * bytes(head, slot, slots) {
            best = slots;
        }
        slots -= 1;
    }
    best
}
