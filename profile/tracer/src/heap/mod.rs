//! Finds the block of the heap that an address lies in.
//!
//! ```text
//! index   finds blocks by address; needs no lock
//! words   the counts of a thread, and the caller of C++'s operator new
//! ```
//!
//! The notes are made by the functions that allocate and free (`interpose/heap.rs`).
//!
//! The notes have no times, so they tell only which block covers an address now. Hence blocks are
//! looked up when a section is written, right after its end. A block that was freed in the section
//! is still found then, unless its memory has been used again.

pub mod index;
pub mod words;

use syncline_trace::layout::ObjectRecord;

/// The block of the heap that covers an address, or covered it last.
///
/// `None` for memory outside of the heap, and for memory that was not allocated through the
/// interposed functions. The result may be wrong if another thread frees the block at this moment.
pub fn block_of(address: u64) -> Option<ObjectRecord> {
    index::find(address)
}

/// How many blocks the calling thread has allocated, and how many it has freed. Both counts wrap
/// around.
pub fn thread_counts() -> (u32, u32) {
    (words::allocations(), words::frees())
}
