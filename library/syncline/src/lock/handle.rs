//! The node that a caller brings to a queue lock whose places in the queue outlive the call.
//!
//! If the next waiter in the queue reads a node after its owner has left, the node can't be on the
//! owner's stack. Such a place is a line of the memory's, and changes owners: what is in the queue
//! belongs to the queue. The handle remembers which one its acquisition has put there, and keeps
//! one to spare, so that acquiring again with the same handle allocates nothing.

use core::fmt;

use crate::memory::{Data, Memory};

/// A caller's handle on places `P` in a queue.
pub struct Handle<P: Default, M: Memory>(M::Data<Places<P, M>>);

struct Places<P: Default, M: Memory> {
    /// What this acquisition has put into the queue. It belongs to the queue.
    enqueued: Option<M::Ref<P>>,
    /// A place that is in no queue. It belongs to the handle.
    spare: Option<M::Ref<P>>,
}

impl<P: Default, M: Memory> Handle<P, M> {
    /// A place to be put into the queue, either fresh or as its last user has left it.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile.
    #[inline]
    pub unsafe fn take(&self) -> M::Ref<P> {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        unsafe {
            self.0.with(|places| {
                let place = (*places).spare.take().unwrap_or_else(M::allocate);
                (*places).enqueued = Some(place);
                place
            })
        }
    }

    /// The place that this acquisition has put into the queue.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile, and a place was taken.
    #[inline]
    pub unsafe fn enqueued(&self) -> M::Ref<P> {
        // SAFETY: the handle is the caller's alone, and `take` has left a place.
        unsafe { self.0.with(|places| (*places).enqueued.unwrap_unchecked()) }
    }

    /// Moves the acquisition to another place, which then belongs to the handle.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile; the place that it had enqueued is no more its
    /// own.
    #[inline]
    pub unsafe fn stay_at(&self, place: M::Ref<P>) {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        unsafe { self.0.with(|places| (*places).enqueued = Some(place)) }
    }

    /// Keeps a place that is out of the queue, to be used again, or frees it.
    ///
    /// # Safety
    ///
    /// No other thread uses the handle meanwhile, nor the place any more; it was allocated.
    #[inline]
    pub unsafe fn keep(&self, place: M::Ref<P>) {
        // SAFETY: the handle is the caller's alone, and no reference to its data escapes.
        let other = unsafe { self.0.with(|places| (*places).spare.replace(place)) };
        if let Some(other) = other {
            // SAFETY: a spare place was allocated, and no other thread has it.
            unsafe { M::free(other) }
        }
    }
}

impl<P: Default, M: Memory> Default for Handle<P, M> {
    fn default() -> Self {
        Self(M::Data::new(Places { enqueued: None, spare: None }))
    }
}

impl<P: Default, M: Memory> Drop for Handle<P, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: no other thread has the handle or its spare place.
        unsafe {
            if let Some(spare) = self.0.with(|places| (*places).spare.take()) {
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
