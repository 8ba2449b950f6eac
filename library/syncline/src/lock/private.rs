//! A number in a node that only the node's owner uses.
//!
//! Other threads can reach the node. So the number is the memory's [`Data`], although no other
//! thread uses the number.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use crate::memory::{Data, Memory};

/// A number, initially 0. Like a `Cell`, one thread at a time uses it.
pub struct Private<M: Memory> {
    number: M::Data<usize>,
    not_shared: PhantomData<Cell<usize>>,
}

impl<M: Memory> Private<M> {
    /// The number.
    #[inline(always)]
    pub fn get(&self) -> usize {
        // SAFETY: the number is not shared between threads, and no reference to it escapes.
        unsafe { self.number.look(|number| *number) }
    }

    /// Changes the number.
    #[inline(always)]
    pub fn set(&self, to: usize) {
        // SAFETY: as in `get`.
        unsafe { self.number.with(|number| *number = to) }
    }
}

impl<M: Memory> Default for Private<M> {
    fn default() -> Self {
        Self { number: Data::new(0), not_shared: PhantomData }
    }
}

impl<M: Memory> fmt::Debug for Private<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Private").field(&self.get()).finish()
    }
}
