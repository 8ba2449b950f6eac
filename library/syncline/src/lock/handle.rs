//! The node that a caller keeps for a queue lock whose queue nodes outlive the acquisition.
//!
//! In such a queue, the next waiter may read a node after the node's owner has left, so the node
//! can't be on the owner's stack. The memory allocates the node, on a line of its own. A node in
//! the queue belongs to the queue, so nodes change owners. The handle remembers which node its
//! acquisition has put into the queue, and keeps a spare node, so that acquiring again with the
//! same handle allocates nothing.

use core::fmt;

use crate::memory::{Data, Memory};

/// A caller's handle on its queue nodes, which are of type `P`.
pub struct Handle<P: Default, M: Memory>(M::Data<QueueNodes<P, M>>);

struct QueueNodes<P: Default, M: Memory> {
    /// The queue node that this acquisition has put into the queue. It belongs to the queue.
    enqueued: Option<M::Ref<P>>,
    /// A queue node that is in no queue. It belongs to the handle.
    spare: Option<M::Ref<P>>,
}

impl<P: Default, M: Memory> Handle<P, M> {
    /// Returns a queue node for the queue: the spare one, in the state in which its last user left
    /// it, or a new one.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile.
    #[inline]
    pub unsafe fn take(&self) -> M::Ref<P> {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        unsafe {
            self.0.with(|queue_nodes| {
                let queue_node = (*queue_nodes).spare.take().unwrap_or_else(M::allocate);
                (*queue_nodes).enqueued = Some(queue_node);
                queue_node
            })
        }
    }

    /// The queue node that this acquisition has put into the queue.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile, and a queue node was taken.
    #[inline]
    pub unsafe fn enqueued(&self) -> M::Ref<P> {
        // SAFETY: the handle is the caller's alone, and `take` has left a queue node.
        unsafe { self.0.with(|queue_nodes| (*queue_nodes).enqueued.unwrap_unchecked()) }
    }

    /// Moves the acquisition to another queue node, one that its owner has abandoned.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile, and the acquisition is done with the queue node
    /// that it had enqueued.
    #[inline]
    pub unsafe fn stay_at(&self, queue_node: M::Ref<P>) {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        unsafe { self.0.with(|queue_nodes| (*queue_nodes).enqueued = Some(queue_node)) }
    }

    /// Keeps a queue node that is out of the queue as the spare, and frees the previous spare.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile. The queue node was allocated, and no other thread
    /// uses it any more.
    #[inline]
    pub unsafe fn keep(&self, queue_node: M::Ref<P>) {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        let other = unsafe { self.0.with(|queue_nodes| (*queue_nodes).spare.replace(queue_node)) };
        if let Some(other) = other {
            // SAFETY: a spare queue node was allocated, and no other thread has it.
            unsafe { M::free(other) }
        }
    }
}

impl<P: Default, M: Memory> Default for Handle<P, M> {
    fn default() -> Self {
        Self(M::Data::new(QueueNodes { enqueued: None, spare: None }))
    }
}

impl<P: Default, M: Memory> Drop for Handle<P, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: no other thread has the handle or its spare queue node.
        unsafe {
            if let Some(spare) = self.0.with(|queue_nodes| (*queue_nodes).spare.take()) {
                M::free(spare);
            }
        }
    }
}

impl<P: Default, M: Memory> fmt::Debug for Handle<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
