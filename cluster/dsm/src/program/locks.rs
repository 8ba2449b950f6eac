//! Locks and counters of all ranks, known by their numbers.
//!
//! A lock is held by a thread, or runs sections that are handed to it; both at the same time exclude
//! each other as well, by the global lock that is under either.

use std::cell::Cell;
use std::fmt;
use std::ptr::null_mut;
use std::sync::OnceLock;

use syncline::Mutex;
use syncline::delegation::{Delegated, Hqd, Pending};
use syncline::lock::{Cohort, Mcs, RawLock};
use syncline::memory::Native;
use syncline::wait::Park;
use syncline_fabric::{Fabric, Host, Position};

use super::rank::{Rank, reached};
use crate::shape::{ASKED_LOCK, Control};
use crate::vela::{Fences, Global, wait};

/// What Vela does on this process's node.
pub struct OfRank;

impl Fences for OfRank {
    type Fabric = Host;

    fn enter(number: usize) {
        let rank = Rank::get().expect("a lock is made by a rank");
        rank.enter();
        let asked = rank.layout.control(rank.number(), Control::Asked);
        reached(rank.host.store(asked, ASKED_LOCK | number as u64));
    }

    fn acquired() {
        Rank::get().expect("as above").acquire();
    }

    fn releasing() {
        Rank::get().expect("as above").release();
    }
}

/// A node is the only group of its own locks.
type Held = Cohort<Global<OfRank>, Mcs<Park, Native>, 1>;
type HeldNode = <Held as RawLock>::Node;
/// Sections are queued within a node.
type Queued = Hqd<Park, Native, Global<OfRank>, 1>;

/// A section that may not have run yet.
pub type Section = Pending<(), Queued>;

/// This process's side of a lock.
struct Local {
    held: Held,
    queued: Delegated<(), Queued>,
    /// The node that the lock is held with; its holder's.
    node: Cell<*mut HeldNode>,
}

// SAFETY: the cell is used by the lock's holder alone.
unsafe impl Sync for Local {}
// SAFETY: as above.
unsafe impl Send for Local {}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").finish_non_exhaustive()
    }
}

/// Nodes to be used again. They are the process's and not a thread's, as they lie in the rank's part,
/// and a thread that ends can't give them back any more.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "a node stays at its address while it is in use")]
struct Spare(Mutex<Vec<Box<HeldNode>>>);

// SAFETY: an unused node may go to any thread: all its parts' locks are thread-oblivious.
unsafe impl Sync for Spare {}
// SAFETY: as above.
unsafe impl Send for Spare {}

impl Spare {
    fn take(&self) -> Box<HeldNode> {
        self.0.lock().pop().unwrap_or_default()
    }

    fn give(&self, node: Box<HeldNode>) {
        self.0.lock().push(node);
    }
}

/// Locks that need not be made: numbers below this. [`Locks::new_lock`] returns numbers from here
/// on.
pub const LOCKS_BY_NUMBER: usize = 1024;

/// Locks and counters of all ranks, known by their numbers.
pub struct Locks {
    rank: &'static Rank,
    local: Box<[OnceLock<Box<Local>>]>,
    spare: Spare,
}

impl Locks {
    pub(super) fn new(rank: &'static Rank) -> Locks {
        let local = (0..rank.shape.locks).map(|_| OnceLock::new()).collect();
        Locks { rank, local, spare: Spare::default() }
    }

    /// A lock that is not in use yet.
    ///
    /// # Panics
    ///
    /// If all are given out: 3,072.
    pub fn new_lock(&self) -> usize {
        let given = reached(self.rank.host.add(self.rank.layout.control(0, Control::Locks), 1));
        let number = LOCKS_BY_NUMBER + given as usize;
        let all = self.local.len();
        assert!(number < all, "there are no more than {all} locks");
        number
    }

    fn local(&self, number: usize) -> &Local {
        let all = self.local.len();
        assert!(number < all, "there is no lock {number}: {all} are");
        self.local[number].get_or_init(|| {
            let place = self.rank.layout.lock(&self.rank.shape, number);
            // SAFETY: such a place is for this lock alone, and zero at first.
            let global = || unsafe { Global::at(number, place) };
            Box::new(Local {
                held: Held::under(global()),
                queued: Delegated::from_raw(Queued::under(global()), ()),
                node: Cell::new(null_mut()),
            })
        })
    }

    /// Takes a lock: what was done under it before, by any rank, is visible. Within a rank it is
    /// handed on without fences.
    ///
    /// # Panics
    ///
    /// If there is no such lock.
    pub fn lock(&self, number: usize) {
        let local = self.local(number);
        let node = self.spare.take();
        // SAFETY: the node stays in its box until the release.
        unsafe { local.held.acquire(&node) };
        local.node.set(Box::into_raw(node));
    }

    /// Gives a lock back.
    ///
    /// # Safety
    ///
    /// This thread holds it.
    ///
    /// # Panics
    ///
    /// If there is no such lock, or nobody of this rank holds it.
    pub unsafe fn unlock(&self, number: usize) {
        let local = self.local(number);
        let node = local.node.replace(null_mut());
        assert!(!node.is_null(), "lock {number} is not held");
        // SAFETY: from `lock`, and taken out once.
        let node = unsafe { Box::from_raw(node) };
        // SAFETY: acquired with this node, as our caller says.
        unsafe { local.held.release(&node) };
        self.spare.give(node);
    }

    /// Runs a section under a lock, in this thread or in another one of this rank that is inside a
    /// call to it, and waits for it.
    ///
    /// # Panics
    ///
    /// Panics if the section does, or if there is no such lock.
    pub fn with<R: Send>(&self, number: usize, section: impl FnOnce() -> R + Send) -> R {
        self.local(number).queued.with(|()| section())
    }

    /// Hands a section in, and returns at once, unless this thread becomes the one that runs sections.
    /// Sections of one thread run in the order of its calls. What a section does is visible to this
    /// rank once it was waited for, and to others under the same lock.
    ///
    /// # Panics
    ///
    /// If there is no such lock.
    #[must_use = "to let the section run on, drop this explicitly"]
    pub fn delegate(&self, number: usize, section: impl FnOnce() + Send + 'static) -> Section {
        self.local(number).queued.delegate(|()| section())
    }

    /// Adds to the counter that goes with a lock's number, and returns what it was: an atomic operation
    /// without fences.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn count(&self, number: usize, add: u64) -> u64 {
        reached(self.rank.host.add(self.counter(number), add))
    }

    /// What this rank's threads have written is seen by the threads that wait for the counter, to
    /// which this adds.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn signal(&self, number: usize, add: u64) {
        self.rank.release();
        self.count(number, add);
    }

    /// Waits until a counter is at least `value`, and sees what the threads that signalled have
    /// written.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn wait(&self, number: usize, least: u64) {
        reached(wait(&self.rank.host, self.counter(number), least));
        self.rank.acquire();
    }

    fn counter(&self, number: usize) -> Position {
        assert!(number < self.local.len(), "there is no counter {number}");
        self.rank.layout.counter(&self.rank.shape, number)
    }
}
