//! The MCS lock: waiters form a queue, and each waits on its own node.
//!
//! The lock is a link to the queue's tail. A newcomer swaps its node in and, if another node was
//! the tail, links its own behind that one. The holder hands over to the node that is linked behind
//! its own. A hand-over moves one line, however many threads wait, and waiters are served in order
//! of arrival.
//!
//! Source: Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors" (1991), Algorithm 5.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::linked::linked;
use super::raw::{Contended, RawLock, TryLock};
use crate::memory::{Link, Memory, Native, Word};
use crate::wait::{Park, Wait};

const WAITING: u32 = 0;
const GRANTED: u32 = 2;

/// The MCS queue lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Mcs<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<Node<M>>,
    wait: PhantomData<W>,
}

/// The node of a waiter or of the holder.
#[derive(Debug, Default)]
pub struct Node<M: Memory> {
    next: M::Link<Self>,
    state: M::Word,
}

// SAFETY: the lock is a link and nothing else, so it may be zero if links may.
unsafe impl<W: Wait, M: Memory> Zeroable for Mcs<W, M> where M::Link<Node<M>>: Zeroable {}

// SAFETY: the swaps of `tail` put acquisitions in an order; each but the first of a queue waits
// until the one before it hands over. Without waiters the order is carried by `tail` (Release in
// `successor`, Acquire here), with waiters by `state`.
unsafe impl<W: Wait, M: Memory> RawLock for Mcs<W, M> {
    type Memory = M;
    type Node = Node<M>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<M>) {
        // Relaxed: the swap publishes them.
        node.next.store(None, Relaxed);
        node.state.store(WAITING, Relaxed);
        // AcqRel: pairs with the Release of the last holder's exchange, and publishes our node to
        // the swap of the thread behind us.
        if let Some(previous) = self.tail.swap(Some(M::refer(node)), AcqRel) {
            // SAFETY: the node before ours stays until its release has seen our link.
            let previous = unsafe { M::follow(previous) };
            // Release: pairs with the Acquire in `successor` and `linked`: our node is initialised.
            previous.next.store(Some(M::refer(node)), Release);
            W::wait::<M>(&node.state, 0, None, |state| state == GRANTED);
        }
    }

    #[inline]
    unsafe fn release(&self, node: &Node<M>) {
        if let Some(next) = self.successor(node) {
            // SAFETY: the successor's node stays until we have handed over to it.
            W::hand_over::<M>(&unsafe { M::follow(next) }.state, GRANTED);
        }
    }
}

impl<W: Wait, M: Memory> Mcs<W, M> {
    /// The node behind the holder's; if there is none, frees the lock and returns `None`.
    #[inline]
    fn successor(&self, node: &Node<M>) -> Option<M::Ref<Node<M>>> {
        // Acquire: pairs with the Release of the successor's link.
        let next = node.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap.
        if next.is_some() || self.tail.exchange(Some(M::refer(node)), None, Release) {
            return next;
        }
        Some(linked::<W, M, _>(&node.next))
    }
}

// SAFETY: as above; an empty queue means that no thread holds the lock.
unsafe impl<W: Wait, M: Memory> TryLock for Mcs<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Node<M>) -> bool {
        // Relaxed: the exchange publishes it.
        node.next.store(None, Relaxed);
        // AcqRel: as the swap in `acquire`.
        self.tail.exchange(None, Some(M::refer(node)), AcqRel)
    }
}

// SAFETY: a linked successor waits until we hand over.
unsafe impl<W: Wait, M: Memory> Contended for Mcs<W, M> {
    #[inline]
    unsafe fn is_contended(&self, node: &Node<M>) -> bool {
        // Relaxed: a hint. A link that is set stays set while we hold the lock.
        node.next.load(Relaxed).is_some()
    }
}

impl<W: Wait, M: Memory> Described for Mcs<W, M> {
    const ABOUT: About = About {
        idea: "waiters form a queue, each watching its own node",
        algorithm: Algorithm::Mcs,
        order: Order::Fifo,
        numa: false,
        advice: "many waiters for one lock; a hand-over moves one line",
        source: "Mellor-Crummey and Scott 1991; SSYNC 4.1",
    };
}
