//! Window locks that serve ranks in the order of a queue, and that survive their holders' deaths.
//!
//! The counters of [`Robust`] provide the mutual exclusion. In front of each part stands a queue
//! lock of the catalogue, which determines the order. A rank acquires the queue lock, and then the
//! counters, which are free by then unless a rank that did not queue holds them. Later it releases
//! both. A rank that dies in a queue leaves the queue broken. No rank repairs a queue, since no
//! rank can know between which two steps the dead one was. But the queues only determine the order,
//! so the living ranks leave them:
//!
//! ```text
//!   broken    0 -> 1    a waiter has found a dead rank in a queue; all leave the queues of the window,
//!                       wherever they wait in them, and go to the counters
//!             1 -> 0    no living rank is in a queue any more, and all queues are made new
//!   lined     of each rank: in how many queues it is
//! ```
//!
//! 1. A rank touches a queue only while its `lined` counts it, and only once it has seen, after a
//!    barrier, that the queues are not broken.
//! 2. Only the rank that repairs (one at a time) makes queues new, while they are broken, and only
//!    once it has seen, after a barrier, that no living rank's `lined` is above 0.
//!
//! If one rank follows rule 1 and another one rule 2 at the same time, at least one of them sees
//! the other's store. So each rank that arrives at a queue after a renewal finds it new, and no
//! rank returns to an old one. While the queues are broken there is no order, as with the counters
//! alone.
//!
//! A writer passes the global word before it joins the queue. So readers don't queue behind a
//! writer that waits for a reader of all parts.
//!
//! A rank that only tries, or waits until a deadline, does not join the queue, since it could not
//! leave the queue. It gets the part when it finds the counters free.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::robust::{ASK_AFTER, Robust, Table};
use crate::lock::RawSharedLock;
use crate::memory::{Memory, Word};
use crate::wait::Wait;

/// The queues in front of a window's parts, all new at first, and the counts of the queues that
/// each rank is in.
pub trait Queues<W: Wait, L: RawSharedLock> {
    /// The table that has the counters.
    type Counters: Table<false, W, L::Memory>;

    /// The counters.
    fn counters(&self) -> &Self::Counters;
    /// A part's queue.
    fn queue(&self, target: usize) -> &L;
    /// Not zero while the queues are broken.
    fn broken(&self) -> &<L::Memory as Memory>::Word;
    /// The number of queues that a rank is in.
    fn lined(&self, rank: usize) -> &<L::Memory as Memory>::Word;

    /// Makes all queues new.
    ///
    /// # Safety
    ///
    /// No living rank uses a queue, and none will before this has returned.
    unsafe fn renew(&self);

    /// Calls `f`, which acquires or releases a queue. If `leave` returns true while `f` waits, `f`
    /// may be abandoned for good. Returns whether `f` has returned.
    fn unless(&self, leave: &dyn Fn() -> bool, f: impl FnOnce()) -> bool;
}

/// The locks of a window, as one rank uses them.
///
/// Acquiring has Acquire ordering and releasing Release ordering, between a part and the whole
/// window as well.
#[derive(Debug)]
pub struct Ordered<'a, W: Wait, L: RawSharedLock, T> {
    table: &'a T,
    rank: usize,
    policy: PhantomData<fn() -> (W, L)>,
}

impl<'a, W: Wait, L: RawSharedLock, T: Queues<W, L>> Ordered<'a, W, L, T> {
    /// The locks of this table, as this rank uses them.
    pub fn new(table: &'a T, rank: usize) -> Self {
        Ordered { table, rank, policy: PhantomData }
    }

    /// The counters, by which a part can be tried and all parts can be shared. A lock that was
    /// acquired by the counters is released by them.
    #[inline]
    pub fn counters(&self) -> Robust<'a, false, W, L::Memory, T::Counters> {
        Robust::new(self.table.counters(), self.rank)
    }

    /// Waits until no rank holds or shares the part and no rank shares all parts, and takes the
    /// part. Returns whether the rank is in the part's queue, with the node that `node` returns.
    /// `node` is called if the rank comes to the queue. By then no rank still uses this rank's node
    /// in a queue from before the last renewal.
    ///
    /// # Safety
    ///
    /// The rank neither holds nor waits for this part. The node is a new one. It stays until the
    /// queues are made new, or else as long as the window: ranks that are about to leave a broken
    /// queue may use it.
    #[inline]
    pub unsafe fn acquire<'n>(&self, target: usize, node: impl FnOnce() -> &'n L::Node) -> bool
    where
        L::Node: 'n,
    {
        self.counters().enter_as_writer(target);
        // SAFETY: our caller's promise.
        let lined = self.line_up(|| unsafe { self.table.queue(target).acquire(node()) });
        // SAFETY: as above.
        unsafe { self.counters().acquire(target, None) };
        lined
    }

    /// Releases the part, which this rank holds alone.
    ///
    /// # Safety
    ///
    /// The rank holds the part, and `acquire` has returned `lined`, with this node.
    #[inline]
    pub unsafe fn release(&self, target: usize, node: &L::Node, lined: bool) {
        // SAFETY: our caller's promise.
        unsafe {
            self.counters().release(target);
            if lined {
                self.step_out(|| self.table.queue(target).release(node));
            }
        }
    }

    /// Waits until no rank holds the part alone, and shares it. The result and `node` have the same
    /// meanings as in [`acquire`](Self::acquire).
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire`](Self::acquire).
    #[inline]
    pub unsafe fn acquire_shared<'n>(
        &self,
        target: usize,
        node: impl FnOnce() -> &'n L::SharedNode,
    ) -> bool
    where
        L::SharedNode: 'n,
    {
        // SAFETY: our caller's promise.
        let lined = self.line_up(|| unsafe { self.table.queue(target).acquire_shared(node()) });
        // SAFETY: as above.
        unsafe { self.counters().acquire_shared(target, None) };
        lined
    }

    /// Gives up this rank's share of the part.
    ///
    /// # Safety
    ///
    /// The rank shares the part, and `acquire_shared` has returned `lined`, with this node.
    #[inline]
    pub unsafe fn release_shared(&self, target: usize, node: &L::SharedNode, lined: bool) {
        // SAFETY: our caller's promise.
        unsafe {
            self.counters().release_shared(target);
            if lined {
                self.step_out(|| self.table.queue(target).release_shared(node));
            }
        }
    }

    /// Waits in a queue until it is this rank's turn, or until the queues are broken. Returns
    /// whether this rank has its turn.
    #[inline]
    fn line_up(&self, acquire: impl FnOnce()) -> bool {
        // Relaxed: the barrier pairs with the one in `Robust::as_repairer`, which `renew` calls,
        // either way round (rules 1 and 2).
        self.table.lined(self.rank).fetch_add(1, Relaxed);
        L::Memory::light_barrier();
        // Acquire: pairs with the Release at the end of `renew`, so this rank sees the new queues.
        let lined = self.table.broken().load(Acquire) == 0 && self.stay(acquire);
        if !lined {
            self.leave();
        }
        lined
    }

    #[inline]
    fn step_out(&self, release: impl FnOnce()) {
        // Relaxed: if the queues are broken now, they stay broken while this rank is counted.
        if self.table.broken().load(Relaxed) == 0 {
            self.stay(release);
        }
        self.leave();
    }

    /// Counts this rank as out of the queue, and makes broken queues new if no other living rank is
    /// in one.
    #[inline]
    fn leave(&self) {
        // Release: pairs with the Acquire in `renew`: this rank's use of the queue is over.
        self.table.lined(self.rank).fetch_sub(1, Release);
        // Relaxed: a hint.
        if self.table.broken().load(Relaxed) != 0 {
            self.renew();
        }
    }

    #[inline]
    fn stay(&self, f: impl FnOnce()) -> bool {
        let since = Cell::new(None);
        let leave = || {
            // Relaxed: only the flag itself matters.
            if self.table.broken().load(Relaxed) != 0 {
                return true;
            }
            let now = L::Memory::now();
            let began = since.get().unwrap_or(now);
            let asks = now.saturating_sub(began) >= ASK_AFTER;
            since.set(Some(if asks { now } else { began }));
            asks && self.break_after_deaths()
        };
        self.table.unless(&leave, f)
    }

    /// Breaks the queues if a rank that is in one is dead. Returns whether there is such a rank.
    pub fn break_after_deaths(&self) -> bool {
        // Relaxed: a hint of which ranks to ask about.
        let is_in = |rank: &usize| self.table.lined(*rank).load(Relaxed) != 0;
        let dead = self.ranks().filter(is_in).any(|rank| !self.lives(rank));
        if dead {
            // Relaxed: the flag publishes nothing else. If the queues were made new since, all
            // ranks leave them once more.
            self.table.broken().store(1, Relaxed);
        }
        dead
    }

    /// Makes the queues new if they are broken and no living rank is in one.
    #[cold]
    fn renew(&self) {
        let table = self.table;
        // Acquire: pairs with the Release in `leave`.
        let lined = |rank: usize| table.lined(rank).load(Acquire) != 0 && self.lives(rank);
        if self.ranks().any(lined) {
            return;
        }
        self.counters().as_repairer(0, || {
            // Relaxed: only this closure changes the flag from 1.
            if table.broken().load(Relaxed) == 0 || self.ranks().any(lined) {
                return;
            }
            // The counts of the living ranks are all 0. From now on the dead ranks count as being
            // in no queue.
            // Relaxed: the store of `broken` publishes it.
            let dead = |rank: &usize| table.lined(*rank).load(Relaxed) != 0 && !self.lives(*rank);
            self.ranks().filter(dead).for_each(|rank| table.lined(rank).store(0, Relaxed));
            // SAFETY: rules 1 and 2.
            unsafe { table.renew() };
            // Release: pairs with the Acquire in `line_up`.
            table.broken().store(0, Release);
        });
    }

    fn ranks(&self) -> Range<usize> {
        0..self.table.counters().ranks()
    }

    fn lives(&self, rank: usize) -> bool {
        self.table.counters().lives(rank)
    }
}
