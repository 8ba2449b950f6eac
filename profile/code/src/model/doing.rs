//! What a sampled thread does.

/// What a thread does at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It looks at a word in a loop until another thread has changed it.
    Waits,
    /// It changes a word that other threads can reach, by an atomic instruction.
    Exchanges,
    /// It is in a system call, or has just returned from one.
    Calls,
    /// It does anything else, or its instructions are not known.
    Works,
}
