//! The addresses that a name refers to, or why there are none.

use std::ops::Range;

/// A range of addresses in a file. It contains the last bytes of calls, or it is a variable or a
/// part of one.
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
    /// The ranges of addresses, at least one.
    pub spans: Vec<Span>,
    /// Why there are more addresses than the name says; `None` if there are not.
    pub wider: Option<Wider>,
}

/// Why a whole function is used instead of a position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wider {
    /// The file has no line information for the function.
    NoLines,
    /// The function no longer has code on that line of that file.
    Moved,
    /// The file has changed since its addresses were noted.
    Changed,
}

/// Why a name refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No file has the name.
    NoSuchName,
    /// No file has the name, and the program itself was stripped.
    NoSymbols,
    /// The file has changed since its addresses were noted.
    Changed,
}
