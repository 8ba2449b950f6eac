//! An MCS lock whose waiters can give up.
//!
//! As in [`Mcs`](super::Mcs), waiters are linked and each watches its own queue node. A thread that
//! gives up marks its queue node. The holder that reaches the marked node removes it and continues
//! with the next node (`timed_queue.rs`).
//!
//! So giving up costs an addition to a count and an exchange, and needs no wait for another thread.
//! But the marked node stays in the queue until a holder reaches it. While there are 64 or more
//! marked nodes, a thread that arrives with a deadline waits outside the queue. If many threads
//! wait with short timeouts for a lock that is held for long, use [`TimedClh`](super::TimedClh),
//! whose waiters remove each other's queue nodes and keep their order. A lock that is dropped while
//! it is held leaks the nodes in its queue.
//!
//! Source: He, Scherer and Scott, "Preemption Adaptivity in Time-Published Queue-Based Spin Locks"
//! (HiPC 2005), the MCS time-published lock without the published time: waiters that are off their
//! processors are not passed over, and a thread that comes again does not reuse its old queue node.
//! In that lock, as in Chabbi et al.'s HMCS-T (PPoPP 2017), a thread keeps its node for the lock,
//! so that each thread has at most one node in a queue. Here a thread does not remember the locks
//! for which it gave up waiting, since it has no room for a node of each. So each queue bounds its
//! number of abandoned nodes instead.

use core::marker::PhantomData;
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::handle::Handle;
use super::raw::{Contended, RawLock, TimedLock, TryLock};
use super::timed_queue::{FIRST, Queue, QueueNode};
use crate::memory::{Memory, Native};
use crate::wait::{Park, Wait};

/// The MCS queue lock with timeout: the first thread of the queue holds the lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct TimedMcs<W: Wait = Park, M: Memory = Native> {
    queue: Queue<M>,
    wait: PhantomData<W>,
}

// SAFETY: the lock is a queue and nothing else.
unsafe impl<W: Wait, M: Memory> Zeroable for TimedMcs<W, M> where Queue<M>: Zeroable {}

// SAFETY: the swaps of the tail put acquisitions in an order; each thread but the first of a queue
// waits until a holder hands the lock over to it, and a holder hands over to one thread only.
// Without waiters the order is carried by the tail (Release in `behind`, Acquire in `join` and
// `try_join`), with waiters by the states of their queue nodes.
unsafe impl<W: Wait, M: Memory> RawLock for TimedMcs<W, M> {
    type Memory = M;
    type Node = Handle<QueueNode<M>, M>;

    #[inline]
    unsafe fn acquire(&self, node: &Self::Node) {
        // SAFETY: our caller's promise.
        unsafe { self.queue.join::<W>(node, None) };
    }

    #[inline(always)]
    unsafe fn release(&self, node: &Self::Node) {
        // SAFETY: a thread that holds the lock is first.
        unsafe { self.queue.leave::<W>(node, FIRST) }
    }
}

// SAFETY: as above; an empty queue means that no thread holds the lock.
unsafe impl<W: Wait, M: Memory> TryLock for TimedMcs<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Self::Node) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.queue.try_join(node) }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for TimedMcs<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, node: &Self::Node, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.queue.join::<W>(node, Some(deadline)) }.is_some()
    }
}

// SAFETY: a thread that was granted the lock has the lock, even if its deadline has passed.
unsafe impl<W: Wait, M: Memory> Contended for TimedMcs<W, M> {
    #[inline]
    unsafe fn is_contended(&self, node: &Self::Node) -> bool {
        // SAFETY: a thread that holds the lock is first.
        unsafe { Queue::<M>::is_followed(node) }
    }

    #[inline]
    unsafe fn release_to_waiter(&self, node: &Self::Node) -> bool {
        // SAFETY: a thread that holds the lock is first.
        unsafe { self.queue.pass::<W>(node, FIRST) }
    }
}

impl<W: Wait, M: Memory> Described for TimedMcs<W, M> {
    const ABOUT: About = About {
        idea: "as MCS; a waiter that gives up marks its node, and the holder skips it",
        algorithm: Algorithm::Mcs,
        order: Order::Fifo,
        numa: false,
        advice: "many waiters for one lock, few of which give up",
        source: "He, Scherer and Scott 2005",
    };
}
