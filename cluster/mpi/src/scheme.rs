//! The locks of a window under each scheme.
//!
//! A scheme is a lock of the library for each rank's part, and one word for the whole window in
//! front ([`syncline::window`]). Those without queues are in [`robust`]. Of the queue locks, in the
//! segment:
//!
//! ```text
//!   0    the segment's token
//!   128  Global
//!   256  a lock for each rank, 128 bytes apart
//!   ...  queue nodes: a row for each rank, with one for each target
//! ```
//!
//! A rank uses the nodes of its own row only. It holds or waits for a target once at a time, so that
//! one node for each target is enough, however many targets it holds at once.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use syncline::lock::{FairRw, RawLock, RawSharedLock, ReadersFirst, WritersFirst};
use syncline::wait::Yield;
use syncline::window::{Global, Part, Scheme};
use syncline_fabric::Process;

use crate::robust;
use crate::segment::{Area, Segment};

/// The name that leaves a window to the MPI library.
pub const LIBRARY: &str = "library";

/// The most ranks that a window's locks are made for: the nodes of more would take gigabytes.
pub const MOST_RANKS: usize = 2048;

/// Lines that processors fetch in pairs.
pub const LINE: usize = 128;
/// Where the window's word is.
pub const GLOBAL: usize = LINE;
/// Where the parts' locks begin.
pub const LOCKS: usize = 2 * LINE;
/// In a part's line, behind its lock: whether an owner of it has died.
pub const ORPHANED: usize = 64;
/// The room for a queue node.
const NODE: usize = 64;

/// The bytes of a segment for this many ranks.
pub fn size(scheme: Scheme, ranks: usize) -> usize {
    match scheme {
        Scheme::FullSupport | Scheme::BestEffort => robust::size(ranks),
        Scheme::Hierarchical => local_at(ranks) + table_size(ranks) + ranks * LINE,
        _ => table_size(ranks),
    }
}

/// Where a host's own locks begin under `hierarchical`: behind those between hosts. Behind these it is
/// what the host has of each part's lock, a line each.
pub fn local_at(ranks: usize) -> usize {
    table_size(ranks).next_multiple_of(LINE)
}

fn table_size(ranks: usize) -> usize {
    (nodes(ranks) + ranks * ranks * NODE).next_multiple_of(LINE)
}

/// Whether all requests go to the part's own rank by messages, those of its host as well.
pub fn goes_by_messages(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::MessageDeferred | Scheme::MessageImmediate)
}

/// The locks in a segment of that size, as this rank uses them, or a stand-in for it; `process` is the
/// rank's, or none that can be judged.
pub fn locks(
    scheme: Scheme,
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
    process: Process,
) -> Arc<dyn Locks> {
    let make = match scheme {
        Scheme::FullSupport => return robust::table::<true>(area, rank, ranks, process),
        Scheme::BestEffort => return robust::table::<false>(area, rank, ranks, process),
        Scheme::WriterPrecedence => table::<WritersFirst<Yield, Segment>>,
        Scheme::ReaderPrecedence => table::<ReadersFirst<Yield, Segment>>,
        Scheme::Fair
        | Scheme::Hierarchical
        | Scheme::MessageDeferred
        | Scheme::MessageImmediate => table::<FairRw<Yield, Segment>>,
    };
    make(area, rank, ranks)
}

/// Where the nodes begin.
fn nodes(ranks: usize) -> usize {
    LOCKS + ranks * LINE
}

/// Why a part was not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme knows no deadlines.
    Unsupported,
    /// The part's rank has died, or can't be reached any more.
    Gone,
}

/// The locks of a window, as one rank uses them.
pub trait Locks: Send + Sync {
    /// Waits for a rank's part, and takes or shares it. Has Acquire ordering.
    ///
    /// # Safety
    ///
    /// The rank neither holds nor waits for this part, and there is a rank of this number.
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal>;

    /// Like [`acquire`](Self::acquire), but waits at most until the deadline on the segment's
    /// clock. Returns whether the lock was taken.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire`](Self::acquire).
    unsafe fn acquire_until(
        &self,
        _target: usize,
        _exclusive: bool,
        _deadline: Duration,
    ) -> Result<bool, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Gives a rank's part back. Has Release ordering.
    ///
    /// # Safety
    ///
    /// The rank holds this part in this way.
    unsafe fn release(&self, target: usize, exclusive: bool);

    /// Waits until nobody holds a part alone, and shares all. Has Acquire ordering.
    fn acquire_all(&self);

    /// [`acquire_all`](Self::acquire_all) if that is possible at once. Whether it was.
    fn try_acquire_all(&self) -> Result<bool, Refusal>;

    /// Gives up the share of all parts. Has Release ordering. If it is not held, the locks keep
    /// nobody apart any more.
    fn release_all(&self);

    /// Whether an owner of the part has died, and nobody has made it consistent since.
    fn is_orphaned(&self, target: usize) -> bool;

    /// Notes that an owner of the part has died. The part is held in its name.
    fn orphan(&self, target: usize);

    /// Says that what the part protects is as it should be. The rank holds the part.
    fn make_consistent(&self, target: usize);
}

/// Queue locks in a segment, one for each part, and the window's word.
pub struct Table<L> {
    area: Arc<Area>,
    /// Where they begin.
    at: usize,
    rank: usize,
    ranks: usize,
    lock: PhantomData<fn() -> L>,
}

fn table<L: RawSharedLock<Memory = Segment> + 'static>(
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
) -> Arc<dyn Locks> {
    Arc::new(Table::<L>::new(area, 0, rank, ranks))
}

impl<L: RawSharedLock<Memory = Segment>> Table<L> {
    /// The locks from this place of a segment on, as this rank uses them.
    pub fn new(area: Arc<Area>, at: usize, rank: usize, ranks: usize) -> Self {
        const {
            assert!(size_of::<L>() <= ORPHANED && align_of::<L>() <= LINE);
            assert!(size_of::<L::Node>() <= NODE && align_of::<L::Node>() <= NODE);
            assert!(size_of::<L::SharedNode>() <= NODE && align_of::<L::SharedNode>() <= NODE);
        };
        Table { area, at, rank, ranks, lock: PhantomData }
    }

    /// The bytes of this many ranks' locks.
    pub fn size(ranks: usize) -> usize {
        table_size(ranks)
    }

    fn global(&self) -> &Global<Yield, Segment> {
        // SAFETY: the segment has it at this place, made of zeros, which is its initial state, and
        // all processes change it by atomics only.
        unsafe { &*self.area.at(self.at + GLOBAL) }
    }

    fn part(&self, target: usize) -> Part<'_, Yield, L> {
        Part { global: self.global(), lock: self.lock(target) }
    }

    /// A part's lock.
    pub fn lock(&self, target: usize) -> &L {
        assert!(target < self.ranks);
        // SAFETY: the segment has a lock for each rank, made of zeros, as above.
        unsafe { &*self.area.at(self.at + LOCKS + target * LINE) }
    }

    fn orphaned(&self, target: usize) -> &AtomicU32 {
        assert!(target < self.ranks);
        // SAFETY: the segment has a word there, made of zeros, changed by atomics only.
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

impl<L: RawSharedLock<Memory = Segment>> Locks for Table<L> {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        let part = self.part(target);
        // SAFETY: the rank has no other use for its node of this target, so it may be written; it
        // stays in the segment until the release, and longer.
        unsafe {
            if exclusive {
                let node = self.node::<L::Node>(target);
                node.write(L::Node::default());
                part.acquire(&*node);
            } else {
                let node = self.node::<L::SharedNode>(target);
                node.write(L::SharedNode::default());
                part.acquire_shared(&*node);
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

    fn acquire_all(&self) {
        self.global().acquire_all();
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        Ok(self.global().try_acquire_all())
    }

    fn release_all(&self) {
        self.global().release_all();
    }

    fn is_orphaned(&self, target: usize) -> bool {
        // Relaxed: marked before the lock was released that let this rank in.
        self.orphaned(target).load(Relaxed) != 0
    }

    fn orphan(&self, target: usize) {
        // Relaxed: the release of the part carries it on.
        self.orphaned(target).store(1, Relaxed);
    }

    fn make_consistent(&self, target: usize) {
        // Relaxed: as above.
        self.orphaned(target).store(0, Relaxed);
    }
}
