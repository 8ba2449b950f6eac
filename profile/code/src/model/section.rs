//! What the instructions of a critical section do, as far as reading them tells.

use serde::Serialize;

/// The instructions from an acquisition to its release, read from the program's file. Only
/// sections are described whose every way from the acquisition leads to a release within
/// the same function (and what was inlined into it).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Section {
    /// Whether every way leads to a release; if not, the counts are those of what was seen.
    pub complete: bool,
    /// Instructions on all ways together, without the calls that acquire and release.
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
    /// Places in such memory that are read or written, told apart by how they are addressed, but
    /// for variables that are only read to get to another, and for what only gets a copy of
    /// another; `None` if unknown, as in a loop over an array.
    pub words: Option<usize>,
    /// Functions that it calls, by their names as far as they have some, in the order of the
    /// alphabet: those that take and release inner locks too, but not the release that ends it.
    pub calls: Vec<String>,
    /// Global variables that it reads or writes, as far as they are addressed as such.
    pub variables: Vec<String>,
}
