//! Queue delegation (QD): a lock, and a queue for the sections of the threads that don't get it.
//!
//! A thread that finds the lock free takes it, opens the queue, runs its own section and then those
//! in the queue: it is the helper for one turn. The other threads enter their sections in the
//! queue, and then continue or wait for them. The size of the queue bounds a turn. A thread that
//! finds the queue closed and the lock held tries again for a while, and then lines up at the lock;
//! so no thread starves.
//!
//! If a thread is in line at the lock when the helper leaves, the helper opens the queue on behalf
//! of that thread, which might be off its processor. Otherwise all threads that arrive before that
//! thread runs again would have to line up behind it, and could not delegate. If waiters sleep, the
//! lock is not handed over to one of them: it is released, and the next running thread that asks
//! takes it. The queue then opens with that thread's turn.
//!
//! When not to use it: for long sections, which other threads could run at the same time on their
//! own data, or for sections that depend on the thread that runs them.
//!
//! Source: Klaftenegger, Sagonas and Winblad, "Delegation Locking Libraries for Improved
//! Performance of Multithreaded Programs", Euro-Par 2014; "Queue Delegation Locking", IEEE TPDS 29
//! (2018), section 3. In these papers the queue opens with the turn of its helper, never before.

use core::fmt;

use bytemuck::Zeroable;

use super::line::{Line, NodeOf};
use super::queue::Queue;
use super::raw::RawDelegation;
use super::request::Request;
use crate::lock::{About, Algorithm, Described, Order, RawLock, TryLock};
use crate::memory::{Memory, Native, Own};
use crate::wait::Park;

/// The queue delegation lock. A turn is its helper's section and up to `SLOTS` others, or up to
/// [`Memory::BATCH`] if that is less.
#[repr(C)]
pub struct Qd<W: Line = Park, M: Memory = Native, const SLOTS: usize = 64> {
    lock: W::Lock<M>,
    queue: Queue<M, SLOTS>,
}

impl<W: Line, M: Memory, const SLOTS: usize> Default for Qd<W, M, SLOTS> {
    fn default() -> Self {
        Self { lock: Default::default(), queue: Queue::default() }
    }
}

// SAFETY: a lock and a queue and nothing else.
unsafe impl<W: Line, M: Memory, const SLOTS: usize> Zeroable for Qd<W, M, SLOTS>
where
    W::Lock<M>: Zeroable,
    Queue<M, SLOTS>: Zeroable,
{
}

impl<W: Line, M: Memory, const SLOTS: usize> Qd<W, M, SLOTS> {
    /// Enters a request in the queue and returns true; or takes the lock, calls `lead` to serve
    /// this request and the queue's, and returns false.
    ///
    /// # Safety
    ///
    /// The request is handed in for the first time, and stays valid, at its address, until it has
    /// been run.
    #[inline]
    pub(super) unsafe fn enter(
        &self,
        request: &Request<M>,
        lead: impl FnOnce(Turn<'_, W, M, SLOTS>),
    ) -> bool {
        let node = Own::<NodeOf<W, M>, M>::default();
        let mut looks = 0;
        loop {
            // SAFETY: our caller's promise for the request. The node stays until the lock is
            // released, and nothing unwinds before.
            unsafe {
                if self.queue.enter(request) {
                    return true;
                }
                if self.lock.try_acquire(&node) {
                    break;
                }
                looks += 1;
                if looks >= M::PATIENCE {
                    self.lock.acquire(&node);
                    break;
                }
            }
            W::pause::<M>(looks);
        }
        if !self.queue.is_open() {
            self.queue.open();
        }
        lead(Turn { lock: self, request });
        // SAFETY: we hold the lock, with this node.
        unsafe {
            if W::is_promised(&self.lock, &node) {
                self.queue.open();
            }
            self.lock.release(&node);
        }
        false
    }
}

/// The right and the duty to serve a request and the queue.
pub(super) struct Turn<'a, W: Line, M: Memory, const SLOTS: usize> {
    lock: &'a Qd<W, M, SLOTS>,
    request: &'a Request<M>,
}

impl<W: Line, M: Memory, const SLOTS: usize> Turn<'_, W, M, SLOTS> {
    /// Runs the request, and runs and completes the requests in the queue. Does not complete the
    /// first one.
    #[inline]
    pub(super) fn serve(self) {
        // SAFETY: we hold the lock, and each request is out of the queue when it runs.
        unsafe {
            self.request.run();
            self.lock.queue.serve::<W>(|request| {
                M::follow(request).run();
                Request::<M>::complete::<W>(request);
            });
        }
    }
}

// SAFETY: the holder of the lock runs all requests, so they run one at a time. A request is either
// the lock holder's own, or in one slot of the queue. The slot is emptied once for each request in
// it, so a request runs once. The slot's Release and Acquire make visible to the holder what the
// caller did before.
unsafe impl<W: Line, M: Memory, const SLOTS: usize> RawDelegation for Qd<W, M, SLOTS> {
    type Memory = M;
    type Wait = W;

    #[inline]
    unsafe fn run(&self, request: &Request<M>) {
        // SAFETY: the request stays until we return.
        if unsafe { self.enter(request, |turn| turn.serve()) } {
            request.wait::<W>();
        }
    }

    #[inline]
    unsafe fn submit(&self, request: &Request<M>) {
        // SAFETY: the request stays until it is completed; if it is not in the queue, it has run.
        unsafe {
            if !self.enter(request, |turn| turn.serve()) {
                Request::<M>::complete::<W>(M::refer(request));
            }
        }
    }
}

impl<W: Line, M: Memory, const SLOTS: usize> Described for Qd<W, M, SLOTS> {
    const ABOUT: About = About {
        idea: "the thread that gets the lock also runs the sections that others put in its queue",
        algorithm: Algorithm::Delegation,
        order: Order::Bounded,
        numa: false,
        advice: "short sections on contended data, above all those that no thread waits for",
        source: "Klaftenegger, Sagonas and Winblad 2014, 2018; Argo 4.2",
    };
}

impl<W: Line, M: Memory, const SLOTS: usize> fmt::Debug for Qd<W, M, SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qd").field("slots", &SLOTS).finish_non_exhaustive()
    }
}
