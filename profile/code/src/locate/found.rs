//! The meaning of a name, or why it has none.

use std::ops::Range;

/// A span of addresses in a file: of the last bytes of calls, or of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file's name without its folders.
    pub module: String,
    /// The addresses, as in the file's own tables.
    pub addresses: Range<u64>,
}

/// What a name refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its addresses, at least one.
    pub spans: Vec<Span>,
    /// Why the result is more than what was named, if it is.
    pub wider: Option<Wider>,
}

/// Why a whole function is used instead of a line in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wider {
    /// There are no lines in the files.
    NoLines,
    /// The function has no lock on that line any more.
    Moved,
    /// The file has changed since its addresses were noted.
    Changed,
}

/// Why a name refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No file has it.
    NoSuchName,
    /// No file has it, and one of them has no symbols.
    NoSymbols,
    /// The file has changed since its addresses were noted.
    Changed,
}
