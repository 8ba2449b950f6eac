//! The queue locks in a segment. Windows whose servers notice the deaths of ranks use them alone;
//! [`ordered`](crate::ordered) and [`Cohort`](crate::hosts::Cohort) use them after other words:
//!
//! ```text
//!   0    the segment's token
//!   128  Global
//!   256  for each rank a lock, 128 bytes apart, with a word that says whether an owner has died
//!   ...  queue nodes: a row for each rank, with one node for each target
//! ```
//!
//! A rank uses only the nodes of its own row. A rank holds or waits for a target only once at a
//! time, so one node for each target is enough, even if the rank holds several targets at once.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncline::lock::{RawLock, RawSharedLock};
use syncline::wait::Yield;
use syncline::window::{Global, Part};

use crate::locks::{GLOBAL, LINE, LOCKS, Locks, ORPHANED, Refusal};
use crate::segment::{Area, Segment};

/// The size that is reserved for a queue node, in bytes.
const NODE: usize = 64;

/// The size of the locks for this many ranks, in bytes.
pub fn table_size(ranks: usize) -> usize {
    (nodes(ranks) + ranks * ranks * NODE).next_multiple_of(LINE)
}

/// The offset of the queue nodes.
fn nodes(ranks: usize) -> usize {
    LOCKS + ranks * LINE
}

/// Queue locks in a segment, one for each part, and the window's word.
pub struct Table<L> {
    area: Arc<Area>,
    /// The offset of the locks in the segment.
    at: usize,
    rank: usize,
    ranks: usize,
    lock: PhantomData<fn() -> L>,
}

/// Makes the locks at the start of a segment, for this rank.
pub fn table<L: RawSharedLock<Memory = Segment> + 'static>(
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
) -> Arc<dyn Locks> {
    Arc::new(Table::<L>::new(area, 0, rank, ranks))
}

impl<L: RawSharedLock<Memory = Segment>> Table<L> {
    /// Makes the locks at offset `at` of a segment, for this rank.
    pub fn new(area: Arc<Area>, at: usize, rank: usize, ranks: usize) -> Self {
        const {
            assert!(size_of::<L>() <= ORPHANED && align_of::<L>() <= LINE);
            assert!(size_of::<L::Node>() <= NODE && align_of::<L::Node>() <= NODE);
            assert!(size_of::<L::SharedNode>() <= NODE && align_of::<L::SharedNode>() <= NODE);
        };
        Table { area, at, rank, ranks, lock: PhantomData }
    }

    /// The size of the locks for this many ranks, in bytes.
    pub fn size(ranks: usize) -> usize {
        table_size(ranks)
    }

    fn global(&self) -> &Global<Yield, Segment> {
        // SAFETY: the segment has the word at this position. Its initial state is zero, and all
        // processes change it only by atomic operations.
        unsafe { &*self.area.at(self.at + GLOBAL) }
    }

    fn part(&self, target: usize) -> Part<'_, Yield, L> {
        Part { global: self.global(), lock: self.lock(target) }
    }

    /// The lock of a part.
    pub fn lock(&self, target: usize) -> &L {
        // SAFETY: the segment has a lock for each rank, zero at first, as above.
        unsafe { &*self.place(target) }
    }

    fn place(&self, target: usize) -> *mut L {
        assert!(target < self.ranks);
        self.area.at(self.at + LOCKS + target * LINE)
    }

    /// Resets all locks to their initial state. The locks may be in any state before.
    ///
    /// # Safety
    ///
    /// No living rank uses one of the locks, and none will use one before this returns.
    pub unsafe fn renew(&self) {
        for target in 0..self.ranks {
            // SAFETY: our caller's promise; a lock's initial state is zero.
            unsafe { self.place(target).write_bytes(0, 1) };
        }
    }

    fn orphaned(&self, target: usize) -> &AtomicU32 {
        assert!(target < self.ranks);
        // SAFETY: the segment has a word there, which is zero at first and changed only by atomic
        // operations.
        unsafe { &*self.area.at(self.at + LOCKS + target * LINE + ORPHANED) }
    }

    /// This rank's queue node for a target.
    pub fn node<T>(&self, target: usize) -> *mut T {
        if size_of::<T>() == 0 {
            return std::ptr::dangling_mut();
        }
        self.area.at(self.at + nodes(self.ranks) + (self.rank * self.ranks + target) * NODE)
    }
}

impl<L: RawSharedLock<Memory = Segment>> Table<L> {
    /// This rank's queue node for a target, with its initial value.
    ///
    /// # Safety
    ///
    /// The node is not in use, and is used as this type until the next call.
    pub unsafe fn new_node<T: Default>(&self, target: usize) -> &T {
        let node = self.node::<T>(target);
        // SAFETY: the segment has room for the node and stays mapped, and nothing else uses the
        // node.
        unsafe {
            node.write(T::default());
            &*node
        }
    }
}

impl<L: RawSharedLock<Memory = Segment>> Locks for Table<L> {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        let part = self.part(target);
        // SAFETY: the rank uses its node for this target only here, so the node may be written. It
        // stays in the segment at least until the release.
        unsafe {
            if exclusive {
                part.acquire(self.new_node(target));
            } else {
                part.acquire_shared(self.new_node(target));
            }
        }
        Ok(())
    }

    unsafe fn release(&self, target: usize, exclusive: bool) {
        let part = self.part(target);
        // SAFETY: the caller holds the part, and the node is the one that `acquire` has used.
        unsafe {
            if exclusive {
                part.release(&*self.node::<<L as RawLock>::Node>(target));
            } else {
                part.release_shared(&*self.node::<L::SharedNode>(target));
            }
        }
    }

    fn acquire_all(&self) -> Result<(), Refusal> {
        self.global().acquire_all();
        Ok(())
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        Ok(self.global().try_acquire_all())
    }

    fn release_all(&self) {
        self.global().release_all();
    }

    fn is_orphaned(&self, target: usize) -> bool {
        // Relaxed: the mark was set before the release of the lock that let this rank acquire it.
        self.orphaned(target).load(Relaxed) != 0
    }

    fn orphan(&self, target: usize) {
        // Relaxed: the release of the part publishes the mark.
        self.orphaned(target).store(1, Relaxed);
    }

    fn make_consistent(&self, target: usize) {
        // Relaxed: the release of the part publishes it.
        self.orphaned(target).store(0, Relaxed);
    }
}
