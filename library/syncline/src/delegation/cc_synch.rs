//! CC-Synch: waiters form a queue, and the first one runs the sections of those behind it.
//!
//! The lock is a link to the queue's tail, a node without a request. A newcomer swaps in a fresh
//! node as the new tail, and writes its request into the old tail, which is then its *place*. The
//! helper walks along the queue, runs each request and marks its place as done. After a bounded
//! number of requests it makes the owner of the next place the helper. At the queue's end, the next
//! thread that arrives becomes the helper. The lock runs all sections in order of arrival, and is
//! the baseline for combining.
//!
//! The paper's threads always wait. Here a section may be detached, and the owner of a detached
//! section can't be made the helper. So a helper that leaves and an owner that detaches both
//! exchange the place's state, and the second of them finds the other's mark. A helper that has
//! reached its limit can't hand over to a detached place. So it continues, and marks the lock as
//! tired. From then on threads that delegate wait in their places too, until one of them has become
//! the helper.
//!
//! ```text
//!   state   WAITING -> DONE         run; the owner gives the place back
//!           WAITING -> TURN         the owner is the helper, now or when the place gets an owner
//!           WAITING -> DETACHED     the owner is gone; the helper gives the place back
//! ```
//!
//! Source: Fatourou and Kallimanis, "Revisiting the Combining Synchronization Technique", PPoPP
//! 2012, Algorithm 1. In the paper each thread keeps a node between calls, and the lock is created
//! with a node.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::raw::RawDelegation;
use super::request::Request;
use crate::lock::{About, Algorithm, Described, Order};
use crate::memory::{Data, Link, Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

const WAITING: u32 = 0;
const DONE: u32 = 2;
const TURN: u32 = 4;
const DETACHED: u32 = 6;

/// The CC-Synch combining lock.
#[derive(Default)]
#[repr(C)]
pub struct CcSynch<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<Node<M>>,
    /// Not 0 if the helper has reached its limit, and looks for a thread to hand over to.
    tired: M::Word,
    wait: PhantomData<W>,
}

/// A place in the queue.
struct Node<M: Memory> {
    next: M::Link<Self>,
    state: M::Word,
    request: M::Data<Option<M::Ref<Request<M>>>>,
}

impl<M: Memory> Default for Node<M> {
    fn default() -> Self {
        Self { next: M::Link::default(), state: M::Word::default(), request: Data::new(None) }
    }
}

// SAFETY: a link and a word and nothing else; without a tail no thread has come yet.
unsafe impl<W: Wait, M: Memory> Zeroable for CcSynch<W, M>
where
    M::Link<Node<M>>: Zeroable,
    M::Word: Zeroable,
{
}

/// A place in the queue, and the node behind it.
struct Entered<M: Memory> {
    /// `None` for the very first thread to come, which is the helper.
    place: Option<M::Ref<Node<M>>>,
    next: M::Ref<Node<M>>,
}

impl<W: Wait, M: Memory> CcSynch<W, M> {
    /// Enters a request at the queue's end.
    #[inline]
    unsafe fn enter(&self, request: &Request<M>) -> Entered<M> {
        let next = M::allocate::<Node<M>>();
        // AcqRel: publishes the node to the swap of the thread behind us, and pairs with the swap
        // of the thread before us.
        let place = self.tail.swap(Some(next), AcqRel);
        if let Some(place) = place {
            // SAFETY: a place stays until its owner, which is us, or the helper gives it back.
            // Its request is ours to write until it is linked.
            unsafe {
                let place = M::follow(place);
                place.request.with(|place| *place = Some(M::refer(request)));
                // Release: pairs with the Acquire in `serve`: the request.
                place.next.store(Some(next), Release);
            }
        }
        Entered { place, next }
    }

    /// Waits until the request has run, and becomes the helper if it is this thread's turn.
    #[inline]
    unsafe fn finish(&self, request: &Request<M>, entered: Entered<M>) {
        if let Some(place) = entered.place {
            // SAFETY: the place is ours until we give it back. The helper doesn't use the place
            // after writing the state.
            unsafe {
                let state = &M::follow(place).state;
                W::wait::<M>(state, 0, None, |state| state != WAITING);
                // Relaxed: the wait has seen the state already, and the state stays.
                let done = state.load(Relaxed) & !PARKED == DONE;
                M::free(place);
                if done {
                    return;
                }
            }
        }
        // SAFETY: we are the helper, so the lock is ours, and we are first in the queue.
        unsafe {
            request.run();
            self.serve(entered.next);
        }
    }

    /// Runs the requests from a node on, as the helper, until another thread becomes the helper.
    unsafe fn serve(&self, mut first: M::Ref<Node<M>>) {
        // Relaxed: only the helper writes it, and to arriving threads it is a hint.
        if self.tired.load(Relaxed) != 0 {
            self.tired.store(0, Relaxed);
        }
        let mut left = M::BATCH;
        loop {
            // SAFETY: a node stays until its request has run, or we have left it.
            let node = unsafe { M::follow(first) };
            // Acquire: pairs with the Release in `enter`.
            let mut next = node.next.load(Acquire);
            let mut detached = false;
            if left == 0 || next.is_none() {
                // Release (in `replace`): publishes what the sections did to the next helper's
                // wait.
                // Acquire: pairs with the Release of the owner that has detached.
                if W::replace::<M>(&node.state, TURN) == WAITING {
                    return;
                }
                // No thread can take over here, but there is a request.
                detached = true;
                next = node.next.load(Relaxed);
                if left == 0 {
                    self.tired.store(1, Relaxed);
                }
            }
            let Some(next) = next else { unreachable!("a place is linked before it is detached") };
            // SAFETY: the lock is ours, and the node's request complete and not run yet.
            unsafe { self.run_at(first, detached) };
            left = left.saturating_sub(1);
            first = next;
        }
    }

    /// Runs a place's request; `detached` says that its owner is known to be gone.
    #[inline]
    unsafe fn run_at(&self, place: M::Ref<Node<M>>, detached: bool) {
        // SAFETY: our caller has seen the place linked, so its request is there, and stays until
        // we complete it or write the state. A place whose owner is gone is ours to give back.
        unsafe {
            let node = M::follow(place);
            let Some(request) = node.request.with(|request| *request) else {
                unreachable!("a place has a request before it is linked")
            };
            M::follow(request).run();
            if !M::follow(request).is_detached() {
                W::hand_over::<M>(&node.state, DONE);
            } else if detached || W::replace::<M>(&node.state, DONE) == DETACHED {
                M::free(place);
                Request::<M>::complete::<W>(request);
            }
        }
    }
}

// SAFETY: one thread is the helper: the very first one to come, and then the thread that finds TURN
// in its place. A helper that has written TURN does nothing more, unless it finds that the owner has
// detached, and so never looks. It runs the requests of a queue, each of which is in one place. The
// link makes visible what the caller did before.
unsafe impl<W: Wait, M: Memory> RawDelegation for CcSynch<W, M> {
    type Memory = M;
    type Wait = W;

    #[inline]
    unsafe fn run(&self, request: &Request<M>) {
        // SAFETY: the request stays until we return.
        unsafe { self.finish(request, self.enter(request)) };
    }

    #[inline]
    unsafe fn submit(&self, request: &Request<M>) {
        // SAFETY: the request stays until it is completed, by the helper or by us.
        unsafe {
            let entered = self.enter(request);
            // Relaxed: a hint; the helper runs the sections of threads that don't see it yet.
            if self.tired.load(Relaxed) == 0
                && let Some(place) = entered.place
                // Release: pairs with the Acquire of `replace`, which sees the link, and that we
                // are done with the place.
                && M::follow(place).state.exchange(WAITING, DETACHED, Release).is_ok()
            {
                return;
            }
            self.finish(request, entered);
            Request::<M>::complete::<W>(M::refer(request));
        }
    }
}

impl<W: Wait, M: Memory> Drop for CcSynch<W, M> {
    fn drop(&mut self) {
        // Relaxed: the thread that drops the lock has it alone.
        if let Some(tail) = self.tail.load(Relaxed) {
            // SAFETY: the last helper has left it, and no thread will come.
            unsafe { M::free(tail) };
        }
    }
}

impl<W: Wait, M: Memory> Described for CcSynch<W, M> {
    const ABOUT: About = About {
        idea: "waiters form a queue; the first runs the sections of those behind it",
        algorithm: Algorithm::Delegation,
        order: Order::Fifo,
        numa: false,
        advice: "a baseline to compare with; strict order of arrival among sections",
        source: "Fatourou and Kallimanis 2012",
    };
}

impl<W: Wait, M: Memory> fmt::Debug for CcSynch<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CcSynch").finish_non_exhaustive()
    }
}
