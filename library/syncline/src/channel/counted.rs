//! A value shared by several owners and freed by the last: an `Arc` whose count is in the memory
//! that the checkers see.

use alloc::boxed::Box;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::memory::{Memory, Word};

/// One of the owners.
pub struct Counted<T, M: Memory>(NonNull<Inner<T, M>>);

struct Inner<T, M: Memory> {
    /// The number of owners besides the first.
    others: M::Word,
    value: T,
}

// SAFETY: it hands out shared references, and the last owner drops the value, in whichever thread
// it is.
unsafe impl<T: Send + Sync, M: Memory> Send for Counted<T, M> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, M: Memory> Sync for Counted<T, M> {}

impl<T, M: Memory> Counted<T, M> {
    pub fn new(value: T) -> Self {
        Self(NonNull::from_mut(Box::leak(Box::new(Inner { others: M::Word::default(), value }))))
    }

    fn inner(&self) -> &Inner<T, M> {
        // SAFETY: it lives as long as an owner does.
        unsafe { self.0.as_ref() }
    }

    /// Adds an owner.
    pub fn share(&self) -> Self {
        // Relaxed: the caller is an owner, so no thread frees the value meanwhile. The count can't
        // overflow, since each owner takes memory.
        self.inner().others.fetch_add(1, Relaxed);
        Self(self.0)
    }
}

impl<T, M: Memory> Deref for Counted<T, M> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T, M: Memory> Drop for Counted<T, M> {
    fn drop(&mut self) {
        // AcqRel: what each owner did happens before the last one frees the value.
        if self.inner().others.fetch_sub(1, AcqRel) == 0 {
            // SAFETY: it was boxed in `new`, and the others are gone.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
