//! The scheme `hierarchical` over several hosts. For each part it combines a lock in each host's
//! segment with the part's own lock between hosts ([`Hierarchical`]).
//!
//! Between hosts, a writer acts in the name of the first rank of its host, whichever rank of the
//! host sends the message.

use std::sync::Arc;

use syncline::lock::{FairRw, RawLock, RawSharedLock};
use syncline::wait::Yield;
use syncline::window::{Between, Hierarchical, Hold};

use super::spread::Spread;
use crate::locks::{LINE, Locks, Refusal};
use crate::queues::Table;
use crate::scheme::local_at;
use crate::segment::{Area, Segment};

type Queue = FairRw<Yield, Segment>;

/// The locks of a window over several hosts, for one rank.
pub struct Cohort {
    /// The locks between hosts for writers, which act in the name of the host's first rank.
    host: Spread,
    /// The locks between hosts for readers, which act in this rank's own name.
    own: Spread,
    local: Table<Queue>,
    area: Arc<Area>,
    ranks: usize,
}

impl Cohort {
    /// Combines the locks in this segment with the locks between hosts: `host` acts in the name of
    /// the host's first rank, and `own` in this rank's name.
    pub fn new(host: Spread, own: Spread, area: Arc<Area>, rank: usize, ranks: usize) -> Cohort {
        let local = Table::new(Arc::clone(&area), local_at(ranks), rank, ranks);
        Cohort { host, own, local, area, ranks }
    }

    fn of(&self, target: usize) -> Hierarchical<'_, Yield, Queue, OfPart<'_>> {
        assert!(target < self.ranks);
        let at = local_at(self.ranks) + Table::<Queue>::size(self.ranks) + target * LINE;
        // SAFETY: the segment has the lock at this position. Its initial state is zero, and all
        // processes change it only by atomic operations.
        let hold: &Hold<Yield, Segment> = unsafe { &*self.area.at(at) };
        let between = OfPart { locks: self, target };
        Hierarchical { local: self.local.lock(target), hold, between }
    }
}

/// A part's lock between hosts.
struct OfPart<'a> {
    locks: &'a Cohort,
    target: usize,
}

impl OfPart<'_> {
    fn of(&self, exclusive: bool) -> &Spread {
        if exclusive { &self.locks.host } else { &self.locks.own }
    }
}

impl Between for OfPart<'_> {
    type Refusal = Refusal;

    fn acquire(&self, exclusive: bool) -> Result<(), Refusal> {
        // SAFETY: at most one rank of a host acquires the part exclusively at a time, and a rank
        // has at most one share of the part at a time.
        unsafe { self.of(exclusive).acquire(self.target, exclusive) }
    }

    fn release(&self, exclusive: bool) {
        // SAFETY: the host or the rank holds it in this mode.
        unsafe { self.of(exclusive).release(self.target, exclusive) };
    }
}

impl Locks for Cohort {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        let lock = self.of(target);
        // SAFETY: the rank uses its node for this target only here. The node stays in the segment.
        unsafe {
            if exclusive {
                let node = self.local.node::<<Queue as RawLock>::Node>(target);
                node.write(Default::default());
                lock.acquire(&*node)
            } else {
                let node = self.local.node::<<Queue as RawSharedLock>::SharedNode>(target);
                node.write(Default::default());
                lock.acquire_shared(&*node)
            }
        }
    }

    unsafe fn release(&self, target: usize, exclusive: bool) {
        let lock = self.of(target);
        // SAFETY: our caller's promise, and the node is the one that `acquire` has used.
        unsafe {
            if exclusive {
                lock.release(&*self.local.node(target));
            } else {
                lock.release_shared(&*self.local.node(target));
            }
        }
    }

    fn acquire_all(&self) -> Result<(), Refusal> {
        self.own.acquire_all()
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        self.own.try_acquire_all()
    }

    fn release_all(&self) {
        self.own.release_all();
    }

    fn is_orphaned(&self, target: usize) -> bool {
        self.own.is_orphaned(target)
    }

    fn orphan(&self, target: usize) {
        self.own.orphan(target);
    }

    fn make_consistent(&self, target: usize) {
        self.own.make_consistent(target);
    }
}
