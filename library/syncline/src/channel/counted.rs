//! A value shared by several owners and freed by the last: an `Arc` whose count is in the memory
//! that the checkers see.

use alloc::boxed::Box;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::memory::{Memory, Word};

/// The largest number of owners, not counting the first. The rest of the word is for threads that
/// are refused at the same time.
const MOST: u32 = (1 << 31) - 1;

/// One of the owners.
pub struct Counted<T, M: Memory>(NonNull<Inner<T, M>>);

struct Inner<T, M: Memory> {
    /// The number of owners, not counting the first.
    others: M::Word,
    value: T,
}

// SAFETY: owners hand out shared references, and the last owner drops the value, in any thread.
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
    ///
    /// # Panics
    ///
    /// If there are 2^31 owners. Owners that are forgotten take no memory, so there may be that
    /// many.
    pub fn share(&self) -> Self {
        // Relaxed: the caller is an owner, so no thread frees the value meanwhile.
        if self.inner().others.fetch_add(1, Relaxed) >= MOST {
            self.refuse();
        }
        Self(self.0)
    }

    /// Takes the increment back and panics, so that the count never wraps around.
    #[cold]
    fn refuse(&self) -> ! {
        // Relaxed: the caller is still an owner.
        self.inner().others.fetch_sub(1, Relaxed);
        panic!("a channel has too many ends: {} at most", MOST + 1);
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

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::memory::Native;

    #[test]
    fn owners_that_cannot_be_counted_are_refused() {
        let counted = Counted::<_, Native>::new(7);
        counted.inner().others.store(MOST - 1, Relaxed);
        let last = counted.share();
        assert!(catch_unwind(|| counted.share()).is_err());
        assert_eq!(counted.inner().others.load(Relaxed), MOST);
        drop(last);
        counted.inner().others.store(0, Relaxed);
    }
}
