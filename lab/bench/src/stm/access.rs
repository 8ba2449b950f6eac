//! Words that transactions read and write, whichever library provides them: so that each structure
//! is written once.

/// The words, within a transaction.
pub trait Access {
    /// Why the transaction's attempt is over.
    type Stop;
    fn get(&mut self, word: usize) -> Result<u64, Self::Stop>;
    fn set(&mut self, word: usize, value: u64) -> Result<(), Self::Stop>;
}

/// What a transaction does.
pub trait Op {
    type Out: Copy;
    fn run<A: Access>(&self, words: &mut A) -> Result<Self::Out, A::Stop>;
}

/// Words, all 0 at first, and transactions on them.
pub trait Machine: Sync {
    fn new(words: usize) -> Self;
    fn atomically<O: Op>(&self, op: &O) -> O::Out;
}
