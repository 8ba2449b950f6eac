//! Which block of the heap an address lies in.
//!
//! ```text
//! interpose   malloc and its family, and C++'s operator new: the call passes on to the
//!             program's own allocator, and what it gave or took is noted
//! index       the notes: by address, without a lock
//! ```
//!
//! There is no log, and so no time: the block that covers an address is asked for when a section
//! is written down, right after its end. A block that was freed in the section is still found,
//! until its memory is used again.

mod index;
mod interpose;

use syncline_trace::layout::ObjectRecord;

/// The block of the heap that covers an address, or covered it last.
///
/// None if that is not known: for memory that is not the heap's, or was allocated otherwise than
/// through the functions that are interposed. May be wrong where another thread frees the block
/// at this moment.
pub fn block_of(address: u64) -> Option<ObjectRecord> {
    index::find(address)
}

/// How many blocks the calling thread has allocated and freed, each wrapping around.
pub fn thread_counts() -> (u32, u32) {
    (words::allocations(), words::frees())
}

mod words {
    //! The thread's own words.

    syncline_interpose::thread_words! {
        "syncline_inspect_heap" of "32" bytes;
        /// Blocks that this thread allocated.
        allocations, set_allocations at "0": u32;
        /// Blocks that it freed.
        frees, set_frees at "8": u32;
        /// Who called C++'s operator new, while that has not called `malloc` yet; else 0.
        caller_of_new, set_caller_of_new at "16": u64;
    }
}
