//! An access to a line: what it does, and in which state it finds the line.

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
    /// One cache has it, changed.
    Modified,
    /// One cache has it changed, and others have copies.
    Owned,
    /// One cache has it, unchanged.
    Exclusive,
    /// Several caches have it, unchanged.
    Shared,
    /// No cache has it.
    Invalid,
}

pub const STATES: usize = 5;
