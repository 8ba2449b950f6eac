//! Fabrics on which code can find the rank that it runs in.

use crate::fabric::Fabric;
use crate::heap::Heap;

/// A fabric on which code can find the rank that it runs in. [`Window`](crate::Window) needs this
/// for its words.
pub trait Here: Fabric + Sized + 'static {
    /// Calls a function with the rank in which this code runs.
    ///
    /// # Panics
    ///
    /// If the code does not run in a rank.
    fn here<R>(then: impl FnOnce(&Self) -> R) -> R;

    /// The heap from which lock nodes are taken. All ranks use one heap, each in its own part.
    fn nodes(&self) -> Heap;
}
