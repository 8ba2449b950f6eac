//! What the instructions of a critical section do, as far as reading them shows.

use serde::Serialize;

/// The instructions from an acquisition to its release, read from the program's file. A section is
/// complete if every path from the acquisition leads to a release within the same function (and
/// what was inlined into it).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Section {
    /// Whether every path leads to a release; if not, the counts are those of the instructions that
    /// were followed.
    pub complete: bool,
    /// Instructions on all paths together, without the calls that acquire and release.
    pub instructions: usize,
    /// Whether it has a loop.
    pub loops: bool,
    /// Instructions that read memory which others can reach: not the function's own stack,
    /// the thread's own data, or constants. Atomic ones are not among them.
    pub reads: usize,
    /// Instructions that write such memory, without atomics.
    pub writes: usize,
    /// Atomic instructions on such memory.
    pub atomics: usize,
    /// Words of such memory that are read or written, distinguished by how they are addressed.
    /// Variables that are only read to reach another, and words that only get a copy of another, do
    /// not count; `None` if unknown, as in a loop over an array.
    pub words: Option<usize>,
    /// The names of the functions that it calls, if they have names, in alphabetical order:
    /// including those that take and release inner locks, but not the release that ends it.
    pub calls: Vec<String>,
    /// Global variables that it reads or writes, as far as they are addressed as such.
    pub variables: Vec<String>,
}
