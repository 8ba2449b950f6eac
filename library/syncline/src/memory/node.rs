//! Where a caller keeps its node: on the caller's own stack, or in the memory's pool, to which the
//! node is given back on drop.

use core::fmt;
use core::marker::PhantomData;
use core::mem::forget;
use core::ops::Deref;
use core::ptr::NonNull;

use super::interface::Memory;

/// A node on its caller's stack, or wherever else the caller keeps this value.
///
/// The node's address is stable only while this value is not moved.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct OnStack<T>(T);

impl<T> Deref for OnStack<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A node at a stable address, for as long as this value lives.
///
/// Dropping this value gives the node back, even if others still refer to the node: the thread that
/// has enqueued the node must keep this value until the node is out of the queue. Forgetting it
/// leaks the node and is safe. A node without a size gets no memory.
pub struct Pooled<T: Default, M: Memory> {
    /// `None` for a node without a size.
    node: Option<M::Ref<T>>,
    owned: PhantomData<T>,
}

impl<T: Default, M: Memory> Pooled<T, M> {
    /// A new node.
    #[inline]
    pub fn new() -> Self {
        let node = if size_of::<T>() == 0 {
            forget(T::default());
            None
        } else {
            Some(M::allocate())
        };
        Self { node, owned: PhantomData }
    }
}

impl<T: Default, M: Memory> Default for Pooled<T, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default, M: Memory> Deref for Pooled<T, M> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self.node {
            // SAFETY: the node lives until `drop`.
            Some(node) => unsafe { M::follow(node) },
            // SAFETY: any aligned address is valid for a value without a size; `new` has made this
            // one.
            None => unsafe { NonNull::dangling().as_ref() },
        }
    }
}

impl<T: Default, M: Memory> Drop for Pooled<T, M> {
    #[inline]
    fn drop(&mut self) {
        match self.node {
            // SAFETY: it was allocated in `new`, and our owner promises that it is out of use.
            Some(node) => unsafe { M::free(node) },
            // SAFETY: `new` has made a value, which is dropped once, here.
            None => unsafe { NonNull::<T>::dangling().drop_in_place() },
        }
    }
}

impl<T: Default, M: Memory> fmt::Debug for Pooled<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::cell::Cell;
    use std::panic::catch_unwind;

    use super::*;
    use crate::memory::{Lazy, Native};

    enum Nothing {}

    impl Default for Nothing {
        fn default() -> Self {
            panic!("there is no value")
        }
    }

    #[test]
    fn there_is_no_node_without_a_value() {
        assert!(catch_unwind(Pooled::<Nothing, Native>::new).is_err());
        let lazy = Lazy::<Nothing, Native>::default();
        // SAFETY: this thread has the only turn.
        assert!(catch_unwind(|| unsafe { lazy.get() as *const _ }).is_err());
    }

    std::thread_local!(static ALIVE: Cell<i32> = const { Cell::new(0) });

    struct Token;

    impl Default for Token {
        fn default() -> Self {
            ALIVE.set(ALIVE.get() + 1);
            Self
        }
    }

    impl Drop for Token {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }

    #[test]
    fn a_value_without_a_size_is_made_and_dropped() {
        let node = Pooled::<Token, Native>::new();
        assert_eq!((ALIVE.get(), size_of_val(&*node)), (1, 0));
        drop(node);
        assert_eq!(ALIVE.get(), 0);
    }
}
