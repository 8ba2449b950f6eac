//! What a sampled thread does.

/// What a thread does at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The thread looks at a word in a loop until another thread has changed the word.
    Waits,
    /// The thread changes a word that other threads can reach, by an atomic instruction.
    Exchanges,
    /// The thread is in a system call, or has just returned from one.
    Calls,
    /// The thread does anything else, or its instructions are not known.
    Works,
}
