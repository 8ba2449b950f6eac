//! A CLH lock whose waiters can give up.
//!
//! As in [`Clh`](super::Clh), each waiter watches the node before its own. If a thread that gives
//! up is the last in the queue, it removes its node by setting the tail back to the node before.
//! Otherwise it abandons its node in the queue, with a link to the node before. The thread behind
//! follows the link, and frees the abandoned node. No thread waits for a neighbour, not even to
//! leave the queue.
//!
//! A release also removes the holder's node if it is the last. So a free lock usually has no node.
//! A release costs an exchange: in place of the write of [`Clh`](super::Clh) if no thread waits,
//! and in addition to it otherwise. Only if the last waiter gives up during the release do nodes
//! stay in the queue: the released one, and perhaps some abandoned ones. The next acquisition
//! removes them. A try enters the queue, and leaves it at once if the lock is held.
//!
//! ```text
//!   state  previous
//!   HELD   none      the owner holds the lock, or waits for it
//!   DONE   none      released: the thread behind holds the lock
//!   DONE   a node    abandoned: the thread behind now waits for that node
//! ```
//!
//! Source: Scott, "Non-Blocking Timeout in Scalable Queue-Based Spin Locks" (PODC 2002), the
//! CLH-NB try lock; the form with handshakes is in Scott and Scherer, "Scalable Queue-Based Spin
//! Locks with Timeout" (PPoPP 2001).

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::handle::Handle;
use super::raw::{RawLock, TimedLock, TryLock};
use crate::memory::{Link, Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

const HELD: u32 = 0;
const DONE: u32 = 2;

/// The CLH queue lock with timeout.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct TimedClh<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<QueueNode<M>>,
    wait: PhantomData<W>,
}

/// A node in the queue. It belongs to the thread that put it there while its state is `HELD`, and
/// afterwards to the thread behind it.
#[derive(Debug, Default)]
pub struct QueueNode<M: Memory> {
    previous: M::Link<Self>,
    state: M::Word,
}

// SAFETY: the lock is a link and nothing else, so it may be zero if links may.
unsafe impl<W: Wait, M: Memory> Zeroable for TimedClh<W, M> where M::Link<QueueNode<M>>: Zeroable {}

impl<W: Wait, M: Memory> TimedClh<W, M> {
    /// Joins the queue and waits for this thread's turn. `wait` gets the state of the node before,
    /// waits until the state is `DONE`, and returns whether it is. If the state is not `DONE`,
    /// `join` leaves the queue and returns `false`.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`].
    #[inline]
    unsafe fn join(&self, node: &Handle<QueueNode<M>, M>, wait: impl Fn(&M::Word) -> bool) -> bool {
        // SAFETY: the handle `node` is our caller's, and the queue node that it hands out is ours
        // until it is swapped in.
        let (mine, queue_node) = unsafe {
            let mine = node.take();
            (mine, M::follow::<QueueNode<M>>(mine))
        };
        // Relaxed: the swap publishes them.
        queue_node.previous.store(None, Relaxed);
        queue_node.state.store(HELD, Relaxed);
        // AcqRel: publishes our queue node to the swap of the thread behind us, and pairs with the
        // swap of the thread before us, or with the last holder's exchange in `release`.
        let Some(mut previous) = self.tail.swap(Some(mine), AcqRel) else { return true };
        loop {
            // SAFETY: the queue node before ours stays until this thread, the only one behind it,
            // has finished with it.
            let before = unsafe { M::follow::<QueueNode<M>>(previous) };
            if !wait(&before.state) {
                // SAFETY: our queue node is in the queue behind this one, and it is not our turn.
                unsafe { self.leave(node, mine, previous) };
                return false;
            }
            // Relaxed: the link was written before the state, which `wait` has seen.
            let Some(beyond) = before.previous.load(Relaxed) else { break };
            // SAFETY: its owner has abandoned it to us, and it was allocated.
            unsafe { M::free(previous) };
            previous = beyond;
        }
        // SAFETY: its owner has released it to us, and it was allocated.
        unsafe { node.keep(previous) };
        true
    }

    /// Leaves the queue without the lock.
    ///
    /// # Safety
    ///
    /// The queue node `mine` is that of the handle `node`, and waits in the queue behind
    /// `previous`.
    #[cold]
    unsafe fn leave(
        &self,
        node: &Handle<QueueNode<M>, M>,
        mine: M::Ref<QueueNode<M>>,
        previous: M::Ref<QueueNode<M>>,
    ) {
        // Acquire: pairs with the Release of this exchange by threads that were behind us and have
        // left. So they are done with our queue node before it is used again. Release: we are done
        // with the queue node before ours, and the thread of the next swap sees that node
        // initialised.
        if self.tail.exchange(Some(mine), Some(previous), AcqRel) {
            // SAFETY: our queue node was the last one, so it is out of the queue now.
            return unsafe { node.keep(mine) };
        }
        // SAFETY: our queue node stays until the thread behind it sees the state `DONE`.
        let queue_node = unsafe { M::follow::<QueueNode<M>>(mine) };
        // Relaxed: the state publishes it.
        queue_node.previous.store(Some(previous), Relaxed);
        W::hand_over::<M>(&queue_node.state, DONE);
    }
}

// SAFETY: the swaps of `tail` put acquisitions in an order, and each waits until the last one
// before it that didn't give up has released. Holders are ordered by the states (Release in
// `hand_over`, Acquire in the waits), or by `tail` (Release in `release`, Acquire in `join`).
unsafe impl<W: Wait, M: Memory> RawLock for TimedClh<W, M> {
    type Memory = M;
    type Node = Handle<QueueNode<M>, M>;

    #[inline]
    unsafe fn acquire(&self, node: &Self::Node) {
        let wait = |state: &M::Word| W::wait::<M>(state, 0, None, |state| state == DONE).is_some();
        // SAFETY: our caller's promise.
        unsafe { self.join(node, wait) };
    }

    #[inline]
    unsafe fn release(&self, node: &Self::Node) {
        // SAFETY: the handle `node` is our caller's, and its queue node stays until its state is
        // `DONE`.
        unsafe {
            let mine = node.enqueued();
            // Acquire: pairs with the Release in `leave` of the threads that were behind us.
            // Release: pairs with the Acquire of the next swap.
            if self.tail.exchange(Some(mine), None, AcqRel) {
                node.keep(mine);
            } else {
                W::hand_over::<M>(&M::follow::<QueueNode<M>>(mine).state, DONE);
            }
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for TimedClh<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Self::Node) -> bool {
        // Acquire: pairs with the Release of `hand_over`.
        let look = |state: &M::Word| state.load(Acquire) & !PARKED == DONE;
        // SAFETY: our caller's promise.
        unsafe { self.join(node, look) }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for TimedClh<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, node: &Self::Node, deadline: Duration) -> bool {
        let wait = |state: &M::Word| {
            W::wait::<M>(state, 0, Some(deadline), |state| state == DONE).is_some()
        };
        // SAFETY: our caller's promise.
        unsafe { self.join(node, wait) }
    }
}

impl<W: Wait, M: Memory> Drop for TimedClh<W, M> {
    fn drop(&mut self) {
        // Relaxed, here and below: the thread that drops the lock is ordered after all threads that
        // used it.
        let mut last = self.tail.load(Relaxed);
        while let Some(queue_node) = last {
            // SAFETY: the nodes in the queue belong to the queue, and no thread uses the lock any
            // more.
            unsafe {
                last = M::follow::<QueueNode<M>>(queue_node).previous.load(Relaxed);
                M::free(queue_node);
            }
        }
    }
}

impl<W: Wait, M: Memory> Described for TimedClh<W, M> {
    const ABOUT: About = About {
        idea: "as CLH; a waiter that gives up leaves a link to the node before its own",
        algorithm: Algorithm::Clh,
        order: Order::Fifo,
        numa: false,
        advice: "many waiters for one lock, some of which give up",
        source: "Scott 2002; Scott and Scherer 2001",
    };
}
