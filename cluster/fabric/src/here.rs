//! Fabrics on which running code finds its own rank.

use crate::fabric::Fabric;
use crate::heap::Heap;

/// A fabric on which running code can find its own rank, as words of a [`Window`](crate::Window)
/// must.
pub trait Here: Fabric + Sized + 'static {
    /// Calls a function with the rank in which this code runs.
    ///
    /// # Panics
    ///
    /// If it runs in no rank.
    fn here<R>(then: impl FnOnce(&Self) -> R) -> R;

    /// The heap for this rank's lock nodes; all ranks use one heap, each in its own part.
    fn nodes(&self) -> Heap;
}
