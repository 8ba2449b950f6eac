//! The queue locks in a segment, for windows whose server notices the deaths of ranks, and (behind
//! other words) for those of [`ordered`](crate::ordered) and [`Cohort`](crate::hosts::Cohort):
//!
//! ```text
//!   0    the segment's token
//!   128  Global
//!   256  a lock for each rank, 128 bytes apart, and whether its owner has died
//!   ...  queue nodes: a row for each rank, with one for each target
//! ```
//!
//! A rank uses only the nodes of its own row. It holds or waits for a target once at a time, so one
//! node for each target is enough, however many targets it holds at once.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncline::lock::{RawLock, RawSharedLock};
use syncline::wait::Yield;
use syncline::window::{Global, Part};

use crate::locks::{GLOBAL, LINE, LOCKS, Locks, ORPHANED, Refusal};
use crate::segment::{Area, Segment};

/// Size reserved for a queue node, in bytes.
const NODE: usize = 64;

/// Size in bytes of the locks for this many ranks.
pub fn table_size(ranks: usize) -> usize {
    (nodes(ranks) + ranks * ranks * NODE).next_multiple_of(LINE)
}

/// Offset of the nodes.
fn nodes(ranks: usize) -> usize {
    LOCKS + ranks * LINE
}

/// Queue locks in a segment, one for each part, and the window's word.
pub struct Table<L> {
    area: Arc<Area>,
    /// Offset of the locks in the segment.
    at: usize,
    rank: usize,
    ranks: usize,
    lock: PhantomData<fn() -> L>,
}

/// Makes the locks at the start of a segment, as this rank uses them.
pub fn table<L: RawSharedLock<Memory = Segment> + 'static>(
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
) -> Arc<dyn Locks> {
    Arc::new(Table::<L>::new(area, 0, rank, ranks))
}

impl<L: RawSharedLock<Memory = Segment>> Table<L> {
    /// Makes the locks at offset `at` of a segment, as this rank uses them.
    pub fn new(area: Arc<Area>, at: usize, rank: usize, ranks: usize) -> Self {
        const {
            assert!(size_of::<L>() <= ORPHANED && align_of::<L>() <= LINE);
            assert!(size_of::<L::Node>() <= NODE && align_of::<L::Node>() <= NODE);
            assert!(size_of::<L::SharedNode>() <= NODE && align_of::<L::SharedNode>() <= NODE);
        };
        Table { area, at, rank, ranks, lock: PhantomData }
    }

    /// Size in bytes of the locks for this many ranks.
    pub fn size(ranks: usize) -> usize {
        table_size(ranks)
    }

    fn global(&self) -> &Global<Yield, Segment> {
        // SAFETY: the segment has the word at this position. Zeros are its initial state, and all
        // processes change it only by atomics.
        unsafe { &*self.area.at(self.at + GLOBAL) }
    }

    fn part(&self, target: usize) -> Part<'_, Yield, L> {
        Part { global: self.global(), lock: self.lock(target) }
    }

    /// A part's lock.
    pub fn lock(&self, target: usize) -> &L {
        // SAFETY: the segment has a lock for each rank, initially zeros, as above.
        unsafe { &*self.place(target) }
    }

    fn place(&self, target: usize) -> *mut L {
        assert!(target < self.ranks);
        self.area.at(self.at + LOCKS + target * LINE)
    }

    /// Resets all locks to their initial state, whatever state they are in.
    ///
    /// # Safety
    ///
    /// No living rank uses one of the locks, and none will before this returns.
    pub unsafe fn renew(&self) {
        for target in 0..self.ranks {
            // SAFETY: our caller's promise; zeros are a lock's initial state.
            unsafe { self.place(target).write_bytes(0, 1) };
        }
    }

    fn orphaned(&self, target: usize) -> &AtomicU32 {
        assert!(target < self.ranks);
        // SAFETY: the segment has a word there, initially zero and changed only by atomics.
        unsafe { &*self.area.at(self.at + LOCKS + target * LINE + ORPHANED) }
    }

    /// This rank's node for a target.
    pub fn node<T>(&self, target: usize) -> *mut T {
        if size_of::<T>() == 0 {
            return std::ptr::dangling_mut();
        }
        self.area.at(self.at + nodes(self.ranks) + (self.rank * self.ranks + target) * NODE)
    }
}

impl<L: RawSharedLock<Memory = Segment>> Table<L> {
    /// This rank's node for a target, reset.
    ///
    /// # Safety
    ///
    /// The node is not in use, and is of this type until the next call.
    pub unsafe fn new_node<T: Default>(&self, target: usize) -> &T {
        let node = self.node::<T>(target);
        // SAFETY: the segment has room for the node, which nothing else uses, and stays mapped.
        unsafe {
            node.write(T::default());
            &*node
        }
    }
}

impl<L: RawSharedLock<Memory = Segment>> Locks for Table<L> {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        let part = self.part(target);
        // SAFETY: the rank has no other use for its node of this target, so the node may be
        // written. It stays in the segment at least until the release.
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
        // SAFETY: the caller holds the part, with the node that `acquire` has used.
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
        // Relaxed: marked before the release of the lock that let this rank in.
        self.orphaned(target).load(Relaxed) != 0
    }

    fn orphan(&self, target: usize) {
        // Relaxed: the release of the part publishes it.
        self.orphaned(target).store(1, Relaxed);
    }

    fn make_consistent(&self, target: usize) {
        // Relaxed: as above.
        self.orphaned(target).store(0, Relaxed);
    }
}
