//! A node that a lock keeps for itself, allocated when it is first needed.
//!
//! Queues refer to nodes by their addresses. A lock may be moved while it is held, if its guard was
//! forgotten; so a node that is in a queue can't be a part of the lock itself.

use core::fmt;
use core::marker::PhantomData;
use core::mem::forget;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use bytemuck::Zeroable;

use super::interface::{Link, Memory};

/// A node at a stable address. Dropping the `Lazy` frees the node. A node without a size gets no
/// memory: each use makes a value, which is never dropped.
pub struct Lazy<T: Default, M: Memory> {
    node: M::Link<T>,
    owned: PhantomData<T>,
}

impl<T: Default, M: Memory> Lazy<T, M> {
    /// The node.
    ///
    /// # Safety
    ///
    /// Callers take turns, and each turn happens before the next one.
    #[inline]
    pub unsafe fn get(&self) -> &T {
        if size_of::<T>() == 0 {
            forget(T::default());
            // SAFETY: a value without a size may be at any aligned address; one was just made.
            return unsafe { NonNull::dangling().as_ref() };
        }
        // Relaxed: a thread that had an earlier turn wrote the link, and that turn happened before
        // ours.
        let node = self.node.load(Relaxed).unwrap_or_else(|| {
            let node = M::allocate();
            self.node.store(Some(node), Relaxed);
            node
        });
        // SAFETY: the node lives until its `Lazy` is dropped: this one, or the one that has got the
        // node by `exchange`.
        unsafe { M::follow(node) }
    }

    /// Swaps the nodes of two `Lazy`s, each of which may have none yet. The nodes keep their
    /// addresses.
    ///
    /// # Safety
    ///
    /// Same requirements as [`get`](Self::get), for both.
    #[inline]
    pub unsafe fn exchange(&self, other: &Self) {
        if size_of::<T>() != 0 {
            // Relaxed: as in `get`.
            let node = self.node.load(Relaxed);
            self.node.store(other.node.load(Relaxed), Relaxed);
            other.node.store(node, Relaxed);
        }
    }
}

impl<T: Default, M: Memory> Default for Lazy<T, M> {
    fn default() -> Self {
        Self { node: M::Link::default(), owned: PhantomData }
    }
}

impl<T: Default, M: Memory> Drop for Lazy<T, M> {
    fn drop(&mut self) {
        // Relaxed: no other thread uses it any more.
        if let Some(node) = self.node.load(Relaxed) {
            // SAFETY: the node was allocated in `get`, and its owner is dropped here.
            unsafe { M::free(node) }
        }
    }
}

// SAFETY: there is only a link, which may be zero.
unsafe impl<T: Default, M: Memory> Zeroable for Lazy<T, M> where M::Link<T>: Zeroable {}

impl<T: Default, M: Memory> fmt::Debug for Lazy<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
