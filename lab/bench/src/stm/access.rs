//! Words that transactions of any library read and write, so that each structure is written once.

/// Access to the words within a transaction.
pub trait Access {
    /// Why an attempt of the transaction has ended.
    type Stop;
    fn get(&mut self, word: usize) -> Result<u64, Self::Stop>;
    fn set(&mut self, word: usize, value: u64) -> Result<(), Self::Stop>;
}

/// The body of a transaction.
pub trait Op {
    type Out: Copy;
    fn run<A: Access>(&self, words: &mut A) -> Result<Self::Out, A::Stop>;
}

/// Words, all initially 0, and transactions on them.
pub trait Machine: Sync {
    fn new(words: usize) -> Self;
    fn atomically<O: Op>(&self, op: &O) -> O::Out;
}
