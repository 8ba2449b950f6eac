//! The kinds of accesses to a line, and the states in which an access may find the line.

/// The kind of an access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Access {
    Load,
    Store,
    CompareAndSwap,
    FetchAndIncrement,
    TestAndSet,
    Swap,
}

pub const ACCESSES: usize = 6;

/// The state of a line before an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum State {
    /// One cache has the line, and has changed it.
    Modified,
    /// One cache has changed the line, and others have copies.
    Owned,
    /// One cache has the line, unchanged.
    Exclusive,
    /// One cache or several have the line, unchanged; none may write to it without a request.
    Shared,
    /// No cache has the line.
    Invalid,
}

pub const STATES: usize = 5;
