//! Fabrics on which code can find the rank that it runs in.

use std::cell::RefCell;

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

/// The rank that a thread has entered, and the heap of its lock nodes. Each fabric of real threads has
/// one of these for each thread.
pub(crate) struct Entered<F>(RefCell<Option<(F, Heap)>>);

impl<F> Entered<F> {
    pub const fn new() -> Entered<F> {
        Entered(RefCell::new(None))
    }

    pub fn set(&self, rank: F, nodes: Heap) {
        self.0.replace(Some((rank, nodes)));
    }

    pub fn with<R>(&self, then: impl FnOnce(&F) -> R) -> R {
        then(&self.0.borrow().as_ref().expect(NO_RANK).0)
    }

    pub fn nodes(&self) -> Heap {
        self.0.borrow().as_ref().expect(NO_RANK).1
    }
}

const NO_RANK: &str = "this thread is no rank: `enter` makes it one";
