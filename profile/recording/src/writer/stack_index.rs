//! The index of a file's stacks, by their frames and by calls that were made with them.

use core::sync::atomic::AtomicU32;

use crate::layout::STACK_FRAMES;

/// The size of the index by frames, which is twice the number of stacks that fit into a file.
pub const NUMBERS: usize = 131_072;
/// The size of the index by calls.
const CALLS: usize = 8192;

/// Finds the number of a stack by its frames or by a call. All zero is the empty index.
pub struct StackIndex {
    /// Numbers of stacks, by the hashes of their frames; 0 in an empty slot.
    pub numbers: [AtomicU32; NUMBERS],
    /// For each stack, where its return addresses lay when it was stored: the distances in words
    /// from the innermost one. The first distance would always be 0, so in its place there is the
    /// distance from the innermost return address to the end of the thread's stack, or 0 if the
    /// positions are unknown.
    pub slots: [[AtomicU32; STACK_FRAMES]; NUMBERS / 2],
    /// The number of the stack with which a call was last made, by the call's return address and
    /// where that lay. (The children of a server mostly make the same calls.)
    pub by_call: [AtomicU32; CALLS],
}

/// The index of a call in [`StackIndex::by_call`]. `caller` is where the call's return address
/// `ret` lies.
pub fn index_of_call(caller: *const usize, ret: usize) -> usize {
    let mixed = (caller.addr() ^ ret.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - CALLS.ilog2())
}
