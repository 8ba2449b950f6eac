//! Words that transactions of any library read and write, so that each structure has to be written
//! only once.

/// Access to the words in a transaction.
pub trait Access {
    /// The reason why an attempt of the transaction has ended.
    type Stop;
    fn get(&mut self, word: usize) -> Result<u64, Self::Stop>;
    fn set(&mut self, word: usize, value: u64) -> Result<(), Self::Stop>;
}

/// The body of a transaction.
pub trait Op {
    type Out: Copy;
    fn run<A: Access>(&self, words: &mut A) -> Result<Self::Out, A::Stop>;
}

/// A library's transactions, and the words on which they run. All words are 0 at first.
pub trait Machine: Sync {
    fn new(words: usize) -> Self;
    fn atomically<O: Op>(&self, op: &O) -> O::Out;
}
