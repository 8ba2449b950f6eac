//! Ranks that running code finds by itself.

use crate::fabric::Fabric;
use crate::heap::Heap;

/// A fabric that running code finds its rank of by itself, as words of a [`Window`](crate::Window)
/// have to.
pub trait Here: Fabric + Sized + 'static {
    /// Gives the rank that this code runs in.
    ///
    /// # Panics
    ///
    /// If it runs in none.
    fn here<R>(then: impl FnOnce(&Self) -> R) -> R;

    /// Where this rank takes the nodes of its locks from; all ranks use one heap, each its own part.
    fn nodes(&self) -> Heap;
}
