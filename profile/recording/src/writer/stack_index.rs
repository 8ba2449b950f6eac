//! The index of a file's stacks: by their frames, and by the calls that were made with them.

use core::sync::atomic::AtomicU32;

use crate::layout::STACK_FRAMES;

/// The size of the index by frames: twice the number of stacks that a file holds.
pub const NUMBERS: usize = 131_072;
/// The size of the index by calls.
const CALLS: usize = 8192;

/// Finds the number of a stack by its frames, or by the call. All zero is the empty index.
pub struct StackIndex {
    /// Numbers of stacks, by the hashes of their frames; 0 is none.
    pub numbers: [AtomicU32; NUMBERS],
    /// Where the return addresses of each stack lay when it was stored, in words from the innermost
    /// one. The first entry would be 0, and holds instead the words from there to the end of the
    /// thread's stack. 0 if the positions are not known.
    pub slots: [[AtomicU32; STACK_FRAMES]; NUMBERS / 2],
    /// Number of the stack with which a call was last made, by the call's return address and where
    /// that lay. The children of a server mostly make the same calls.
    pub by_call: [AtomicU32; CALLS],
}

/// The index of a call in [`StackIndex::by_call`].
pub fn index_of_call(caller: *const usize, ret: usize) -> usize {
    let mixed = (caller.addr() ^ ret.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - CALLS.ilog2())
}
