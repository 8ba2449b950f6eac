//! The index of a file's stacks, by their frames and by calls.

use core::sync::atomic::AtomicU32;

use crate::layout::STACK_FRAMES;

/// How many numbers the index has room for: twice the stacks that a file holds.
pub const NUMBERS: usize = 131_072;
/// The number of calls that the index by calls has room for.
const CALLS: usize = 8192;

/// Finds the number of a stack by its frames. All zero is the empty index.
pub struct StackIndex {
    /// Numbers of stacks, by the hashes of their frames; 0 is none.
    pub numbers: [AtomicU32; NUMBERS],
    /// Where the frames of each stack lay when it was stored: words from the innermost return
    /// address. The first, which is 0, has the words from there to the end of the thread's stack
    /// instead; 0 if all this is not known.
    pub slots: [[AtomicU32; STACK_FRAMES]; NUMBERS / 2],
    /// The stack that a call was last made with, by its return address and where that lay. The
    /// children of a server mostly make the same calls.
    pub by_call: [AtomicU32; CALLS],
}

/// The slot of a call in the index by calls.
pub fn index_of_call(caller: *const usize, ret: usize) -> usize {
    let mixed = (caller.addr() ^ ret.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - CALLS.ilog2())
}
