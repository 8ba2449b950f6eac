//! Notices a transaction within a transaction.
//!
//! Threads of memories other than the native one are not the system's, so thread-local storage
//! can't distinguish them; and without `std` there is no thread-local storage. In these two cases
//! nesting goes unnoticed.

use core::any::TypeId;
use core::marker::PhantomData;

use crate::memory::{Memory, Native};

/// Marks this thread as being in a transaction, until dropped.
pub(super) struct Inside<M: Memory>(PhantomData<M>);

impl<M: Memory> Inside<M> {
    /// Panics if this thread is in a transaction already.
    #[inline]
    #[track_caller]
    pub(super) fn enter() -> Self {
        assert!(
            !note::<M>(true),
            "this thread is in a transaction already: hand its `tx` on instead of beginning another"
        );
        Self(PhantomData)
    }
}

impl<M: Memory> Drop for Inside<M> {
    #[inline]
    fn drop(&mut self) {
        note::<M>(false);
    }
}

/// Notes whether this thread is in a transaction, and returns whether it was in one before.
#[inline]
fn note<M: Memory>(inside: bool) -> bool {
    TypeId::of::<M>() == TypeId::of::<Native>() && replace(inside)
}

#[cfg(feature = "std")]
#[inline]
fn replace(inside: bool) -> bool {
    std::thread_local! {
        static INSIDE: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }
    INSIDE.replace(inside)
}

#[cfg(not(feature = "std"))]
fn replace(_: bool) -> bool {
    false
}
