//! The addresses that a name refers to, or why there are none.

use std::ops::Range;

/// A range of addresses in a file, which contains the last bytes of calls, or variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file's name without its folders.
    pub module: String,
    /// The addresses, as in the file's own tables.
    pub addresses: Range<u64>,
}

/// The addresses that a name refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its addresses, at least one.
    pub spans: Vec<Span>,
    /// Why the addresses are more than those that were named; `None` if they are not.
    pub wider: Option<Wider>,
}

/// Why a whole function is used instead of a position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wider {
    /// No file has line information for the function.
    NoLines,
    /// The function has no code on that line of that file any more.
    Moved,
    /// The file has changed since its addresses were noted.
    Changed,
}

/// Why a name refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No file has it.
    NoSuchName,
    /// No file has it, and the program itself has no symbol table.
    NoSymbols,
    /// The file has changed since its addresses were noted.
    Changed,
}
