//! The properties of a critical section's instructions, as read from the program's file.

use serde::Serialize;

/// The instructions from an acquisition to its release, read from the program's file. A section is
/// complete if every path from the acquisition leads to a release within the same function, or
/// within functions that were inlined into it, or to a call that does not return, and if at least
/// one path leads to a release.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Section {
    /// Whether the section is complete. If not, the counts are those of the instructions that were
    /// followed.
    pub complete: bool,
    /// The number of instructions on all paths together, without padding and without the calls that
    /// acquire and release.
    pub instructions: usize,
    /// Whether the section has a loop.
    pub loops: bool,
    /// Instructions that read memory which other threads can reach: not the function's own stack,
    /// thread-local data or constants. Atomic instructions are not counted.
    pub reads: usize,
    /// Instructions that write such memory, without atomic instructions.
    pub writes: usize,
    /// Atomic instructions on such memory.
    pub atomics: usize,
    /// The number of words of such memory that are read or written, distinguished by how they are
    /// addressed. A word that is only read to find the address of another word does not count, nor
    /// does a word that only gets a copy of another one. `None` if unknown, as in a loop over an
    /// array.
    pub words: Option<usize>,
    /// The functions that the section calls, in alphabetical order. Functions without names,
    /// unknown functions and system calls each have one entry that says so. Functions that acquire
    /// and release inner locks are included, but not the release that ends the section.
    pub calls: Vec<String>,
    /// The global variables that the section reads or writes at addresses that are in the
    /// instructions.
    pub variables: Vec<String>,
}
