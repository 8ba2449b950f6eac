//! The locks of the schemes with queues, in a segment: the words of [`robust`](crate::robust), and
//! after them a queue for each part ([`Table`]).
//!
//! A death can break a queue. A rank that waits in a broken queue leaves it: the rank's stack is
//! unwound ([`unless`]) from the point at which the queue's code waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use syncline::lock::{RawLock, RawSharedLock};
use syncline::wait::Yield;
use syncline::window::{Ordered, Queues};
use syncline_fabric::Process;

use crate::locks::{LINE, Locks, Refusal};
use crate::queues::{Table, table_size};
use crate::robust::{self, Words};
use crate::segment::{Area, Segment, unless};

/// The size in bytes of a segment for this many ranks.
pub fn size(ranks: usize) -> usize {
    queues_at(ranks) + table_size(ranks)
}

fn queues_at(ranks: usize) -> usize {
    robust::size(ranks).next_multiple_of(LINE)
}

struct Orders<L> {
    words: Words<false>,
    queues: Table<L>,
    /// For each part that this rank holds, whether it acquired the part through the queue. If so,
    /// the release must leave the queue.
    lined: Box<[AtomicBool]>,
}

/// Makes the locks in a segment of [`size`] bytes, for this rank or its stand-in. `process` is the
/// rank's process.
pub fn table<L: RawSharedLock<Memory = Segment> + 'static>(
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
    process: Process,
) -> Arc<dyn Locks> {
    Arc::new(Orders::<L> {
        words: Words::new(Arc::clone(&area), rank, ranks, process),
        queues: Table::new(area, queues_at(ranks), rank, ranks),
        lined: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
    })
}

impl<L: RawSharedLock<Memory = Segment>> Queues<Yield, L> for Orders<L> {
    type Counters = Words<false>;

    fn counters(&self) -> &Words<false> {
        &self.words
    }

    fn queue(&self, target: usize) -> &L {
        self.queues.lock(target)
    }

    fn broken(&self) -> &AtomicU32 {
        self.words.broken()
    }

    fn lined(&self, rank: usize) -> &AtomicU32 {
        self.words.lined(rank)
    }

    unsafe fn renew(&self) {
        // SAFETY: our caller's promise.
        unsafe { self.queues.renew() };
    }

    #[inline]
    fn unless(&self, leave: &dyn Fn() -> bool, f: impl FnOnce()) -> bool {
        unless(leave, f)
    }
}

impl<L: RawSharedLock<Memory = Segment>> Orders<L> {
    #[inline]
    fn locks(&self) -> Ordered<'_, Yield, L, Self> {
        Ordered::new(self, self.words.rank())
    }
}

impl<L: RawSharedLock<Memory = Segment>> Locks for Orders<L> {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        // SAFETY: the segment is not used after the window has ended. Only this call uses the
        // rank's node for this target now, so it may write the node.
        let lined = unsafe {
            if exclusive {
                self.locks().acquire(target, || self.queues.new_node::<L::Node>(target))
            } else {
                self.locks()
                    .acquire_shared(target, || self.queues.new_node::<L::SharedNode>(target))
            }
        };
        // Relaxed, here and below: only this rank's own release reads it.
        self.lined[target].store(lined, Relaxed);
        Ok(())
    }

    unsafe fn acquire_until(
        &self,
        target: usize,
        exclusive: bool,
        deadline: Duration,
    ) -> Result<bool, Refusal> {
        self.lined[target].store(false, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { self.words.acquire_until(target, exclusive, deadline) }
    }

    unsafe fn release(&self, target: usize, exclusive: bool) {
        let lined = self.lined[target].load(Relaxed);
        // SAFETY: the caller holds the part, and the node is the one that `acquire` has used.
        unsafe {
            if exclusive {
                let node = self.queues.node::<<L as RawLock>::Node>(target);
                self.locks().release(target, &*node, lined);
            } else {
                let node = self.queues.node::<L::SharedNode>(target);
                self.locks().release_shared(target, &*node, lined);
            }
        }
    }

    fn acquire_all(&self) -> Result<(), Refusal> {
        self.words.acquire_all()
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        self.words.try_acquire_all()
    }

    fn release_all(&self) {
        self.words.release_all();
    }

    fn is_orphaned(&self, target: usize) -> bool {
        self.words.is_orphaned(target)
    }

    fn orphan(&self, target: usize) {
        self.words.orphan(target);
    }

    fn make_consistent(&self, target: usize) {
        self.words.make_consistent(target);
    }
}
