//! An MCS lock whose waiters can give up.
//!
//! As in [`Mcs`](super::Mcs), waiters are linked and each watches its own node. Both a waiter that
//! gives up and a holder that hands over exchange the node's state, and whoever comes second finds
//! what the other has done: the waiter finds that it was granted the lock after all, or the holder
//! that the waiter has left. Then the holder frees the node and goes on to the next.
//!
//! So giving up is one exchange, and nobody waits for anybody. But the node stays in the queue
//! until a holder comes by. Where many waits with short timeouts meet a lock that is held for
//! long, nodes pile up and the release has to walk over all of them; use
//! [`TimedClh`](super::TimedClh) there, whose waiters remove each other's. A lock that is dropped
//! while it is held leaks what is in its queue.
//!
//! Source: He, Scherer and Scott, "Preemption Adaptivity in Time-Published Queue-Based Spin
//! Locks" (HiPC 2005), the MCS time-published lock without the published time: waiters are not
//! passed over for being off their processors, and one who comes again does not take up its old
//! place.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::handle::Handle;
use super::{About, Described, Order, RawLock, TimedLock, TryLock};
use crate::memory::{Link, Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

const WAITING: u32 = 0;
const GRANTED: u32 = 2;
const LEFT: u32 = 4;

/// The MCS queue lock with timeout.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct TimedMcs<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<Place<M>>,
    wait: PhantomData<W>,
}

/// A place in the queue. Once left it belongs to the holder that finds it.
#[derive(Debug, Default)]
pub struct Place<M: Memory> {
    next: M::Link<Self>,
    state: M::Word,
}

// SAFETY: a link and nothing else, so it may be zero when its links may.
unsafe impl<W: Wait, M: Memory> Zeroable for TimedMcs<W, M> where M::Link<Place<M>>: Zeroable {}

impl<W: Wait, M: Memory> TimedMcs<W, M> {
    /// A place that may be put into the queue.
    ///
    /// # Safety
    ///
    /// As for [`RawLock::acquire`].
    #[inline]
    unsafe fn place(node: &Handle<Place<M>, M>) -> M::Ref<Place<M>> {
        // SAFETY: the node is our caller's, and what it hands out is ours until it is enqueued.
        unsafe {
            let mine = node.take();
            let place = M::follow::<Place<M>>(mine);
            // Relaxed: the swap or exchange that enqueues it publishes them.
            place.next.store(None, Relaxed);
            place.state.store(WAITING, Relaxed);
            mine
        }
    }

    /// # Safety
    ///
    /// As for [`RawLock::acquire`].
    #[inline]
    unsafe fn join(&self, node: &Handle<Place<M>, M>, deadline: Option<Duration>) -> bool {
        // SAFETY: our caller's promise.
        let mine = unsafe { Self::place(node) };
        // AcqRel: pairs with the Release of the last holder's exchange, and publishes our place
        // to the swap of the one behind us.
        let Some(previous) = self.tail.swap(Some(mine), AcqRel) else { return true };
        // SAFETY: ours stays until we have left it or released, the one before ours until a
        // holder has seen our link, whether its owner has left or not.
        let (place, before) =
            unsafe { (M::follow::<Place<M>>(mine), M::follow::<Place<M>>(previous)) };
        // Release: pairs with the Acquire in `successor`: our place is initialised.
        before.next.store(Some(mine), Release);
        W::wait::<M>(&place.state, 0, deadline, |state| state == GRANTED).is_some()
            // Acquire: pairs with the Release of `replace`, if we have the lock after all.
            // Release: pairs with its Acquire, since the place is then the holder's to free.
            || place.state.swap(LEFT, AcqRel) & !PARKED == GRANTED
    }

    /// The place behind one that belongs to the holder, or none once the lock is free.
    #[inline]
    fn successor(&self, mine: M::Ref<Place<M>>, place: &Place<M>) -> Option<M::Ref<Place<M>>> {
        // Acquire: pairs with the Release of the successor's link.
        let next = place.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap or exchange.
        if next.is_some() || self.tail.exchange(Some(mine), None, Release) {
            return next;
        }
        // Somebody has swapped its place in, and is about to link it.
        let mut looks = 1;
        loop {
            W::pause::<M>(looks);
            // Acquire: as above.
            let next = place.next.load(Acquire);
            if next.is_some() {
                return next;
            }
            looks += 1;
        }
    }
}

// SAFETY: the swaps of `tail` put acquisitions in an order; each but the first of a queue waits
// until a holder hands over to it, which it does to one. Without waiters the order is carried by
// `tail` (Release in `successor`, Acquire in `join`), with waiters by `state`.
unsafe impl<W: Wait, M: Memory> RawLock for TimedMcs<W, M> {
    type Memory = M;
    type Node = Handle<Place<M>, M>;

    #[inline]
    unsafe fn acquire(&self, node: &Self::Node) {
        // SAFETY: our caller's promise.
        unsafe { self.join(node, None) };
    }

    #[inline]
    unsafe fn release(&self, node: &Self::Node) {
        // SAFETY: the node is our caller's. Its place is ours, and so is each that we find left;
        // it stays until we give it away, and nobody else uses it once its successor is linked
        // or known not to exist. A successor stays until we have handed over to it.
        unsafe {
            let mut mine = node.enqueued();
            while let Some(next) = self.successor(mine, M::follow(mine)) {
                let next_place = M::follow::<Place<M>>(next);
                let left = W::replace::<M>(&next_place.state, GRANTED) == LEFT;
                node.keep(mine);
                if !left {
                    return;
                }
                mine = next;
            }
            node.keep(mine);
        }
    }
}

// SAFETY: as above; an empty queue means that nobody holds the lock.
unsafe impl<W: Wait, M: Memory> TryLock for TimedMcs<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Self::Node) -> bool {
        // SAFETY: our caller's promise, and a place that is not enqueued is ours.
        unsafe {
            let mine = Self::place(node);
            // AcqRel: as the swap in `join`.
            let taken = self.tail.exchange(None, Some(mine), AcqRel);
            if !taken {
                node.keep(mine);
            }
            taken
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for TimedMcs<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, node: &Self::Node, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.join(node, Some(deadline)) }
    }
}

impl<W: Wait, M: Memory> Described for TimedMcs<W, M> {
    const ABOUT: About = About {
        idea: "as MCS; who gives up marks its node, and the holder skips it",
        order: Order::Fifo,
        numa: false,
        advice: "many waiters for one lock, few of which give up",
        source: "He, Scherer and Scott 2005",
    };
}
