//! The CLH lock: waiters form a queue, and each watches the node before its own.
//!
//! The lock is a link to the queue's tail. A newcomer swaps its node in, and waits until the node
//! that was the tail before says that it is released. So an acquisition is one swap and a release
//! is one write, the fewest of all queue locks. Unlike a release in MCS, a release never waits for
//! a neighbour that is not linked yet. The last released node stays in the lock; the thread that
//! acquires the lock next takes the node over for later use. A waiter watches a line that another
//! thread has allocated. This is slow on machines where the line stays in that thread's memory;
//! there MCS is better.
//!
//! A lock that was ever used keeps one node, of one line, until the lock is dropped. The lock has
//! no try: only the thread that has swapped a node in knows that the node before still exists. A
//! try could read the tail's node first, and exchange the tail if that node is released. That would
//! be wrong: meanwhile the node may have been taken over, freed, or swapped in again, so the lock
//! may be held with a node at the same address. The timed form ([`TimedClh`](super::TimedClh)) has
//! neither limitation, but a slower release.
//!
//! Source: Craig, "Building FIFO and Priority-Queuing Spin Locks from Atomic Swap" (1993);
//! Magnusson, Landin and Hagersten, "Queue Locks on Cache Coherent Multiprocessors" (1994);
//! SSYNC (SOSP'13), section 4.1.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::handle::Handle;
use super::raw::{Contended, RawLock};
use crate::memory::{Link, Memory, Native, Word};
use crate::wait::{Park, Wait};

const HELD: u32 = 0;
const RELEASED: u32 = 2;

/// The CLH queue lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Clh<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<QueueNode<M>>,
    wait: PhantomData<W>,
}

/// A node in the queue.
#[derive(Debug, Default)]
pub struct QueueNode<M: Memory> {
    /// `HELD` if the node's owner holds the lock or waits for it, `RELEASED` if it has released the
    /// lock.
    state: M::Word,
}

// SAFETY: the lock is a link and nothing else, so it may be zero if links may.
unsafe impl<W: Wait, M: Memory> Zeroable for Clh<W, M> where M::Link<QueueNode<M>>: Zeroable {}

// SAFETY: the swaps of `tail` put acquisitions in an order; each but the first waits until the
// one before it is released. Holders are ordered by the states: Release in `hand_over`, Acquire
// in `wait`.
unsafe impl<W: Wait, M: Memory> RawLock for Clh<W, M> {
    type Memory = M;
    type Node = Handle<QueueNode<M>, M>;

    #[inline]
    unsafe fn acquire(&self, node: &Self::Node) {
        // SAFETY: the handle `node` is our caller's, and the queue node that it hands out is ours
        // until it is swapped in.
        let (mine, queue_node) = unsafe {
            let mine = node.take();
            (mine, M::follow::<QueueNode<M>>(mine))
        };
        // Relaxed: the swap publishes it.
        queue_node.state.store(HELD, Relaxed);
        // AcqRel: publishes our queue node to the swap of the thread behind us, and pairs with the
        // swap of the thread before us, which published that thread's node.
        if let Some(previous) = self.tail.swap(Some(mine), AcqRel) {
            // SAFETY: a queue node that was in the queue stays until the thread behind it, which is
            // this one, has seen it released. Then the node is ours, since writing that state is
            // its owner's last use of it.
            unsafe {
                let before = M::follow::<QueueNode<M>>(previous);
                W::wait::<M>(&before.state, 0, None, |state| state == RELEASED);
                node.keep(previous);
            }
        }
    }

    #[inline]
    unsafe fn release(&self, node: &Self::Node) {
        // SAFETY: the node is our caller's, and its queue node stays until it is released.
        let queue_node = unsafe { M::follow::<QueueNode<M>>(node.enqueued()) };
        W::hand_over::<M>(&queue_node.state, RELEASED);
    }
}

// SAFETY: the thread that has swapped a queue node in behind the holder's waits until the release.
unsafe impl<W: Wait, M: Memory> Contended for Clh<W, M> {
    #[inline]
    unsafe fn is_contended(&self, node: &Self::Node) -> bool {
        // SAFETY: the node is our caller's.
        let mine = unsafe { node.enqueued() };
        // Relaxed: a hint. If another queue node is the tail, ours can't become the tail again
        // while we hold the lock.
        self.tail.load(Relaxed) != Some(mine)
    }
}

impl<W: Wait, M: Memory> Drop for Clh<W, M> {
    fn drop(&mut self) {
        // Relaxed: the thread that drops the lock is ordered after all threads that used it.
        if let Some(last) = self.tail.load(Relaxed) {
            // SAFETY: the tail is the queue's own, and no thread uses the lock any more.
            unsafe { M::free(last) }
        }
    }
}

impl<W: Wait, M: Memory> Described for Clh<W, M> {
    const ABOUT: About = About {
        idea: "waiters form a queue, each watching the node before its own",
        algorithm: Algorithm::Clh,
        order: Order::Fifo,
        numa: false,
        advice: "many waiters for one lock; the quickest release of the queue locks",
        source: "Craig 1993; Magnusson, Landin and Hagersten 1994; SSYNC 4.1",
    };
}
