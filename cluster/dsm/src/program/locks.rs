//! Locks and counters of all ranks, identified by numbers.
//!
//! A lock is either held by a thread, or runs sections that are delegated to it. These two uses
//! exclude each other as well, because both go through the same global lock.

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

/// The fences and the fabric of this process's rank, for Vela.
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

/// A lock that a thread holds. All threads of a node are one group of the cohort.
type Held = Cohort<Global<OfRank>, Mcs<Park, Native>, 1>;
type HeldNode = <Held as RawLock>::Node;
/// A lock that runs sections. They are queued within a node.
type Queued = Hqd<Park, Native, Global<OfRank>, 1>;

/// A section that may not have run yet.
pub type Section = Pending<(), Queued>;

/// This process's side of a lock.
struct Local {
    held: Held,
    queued: Delegated<(), Queued>,
    /// The queue node with which the lock is held. Only the holder uses this field.
    node: Cell<*mut HeldNode>,
}

// SAFETY: only the lock's holder uses the cell.
unsafe impl Sync for Local {}
// SAFETY: as above.
unsafe impl Send for Local {}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").finish_non_exhaustive()
    }
}

/// Queue nodes for reuse. They belong to the process, not to a thread: they lie in the rank's part,
/// and a thread that has ended can't give them back.
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

/// Locks with numbers below this need not be created. [`Locks::new_lock`] returns this number and
/// higher ones.
pub const LOCKS_BY_NUMBER: usize = 1024;

/// Locks and counters of all ranks, identified by numbers.
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

    /// Returns a lock that is not in use yet.
    ///
    /// # Panics
    ///
    /// If all 3,072 such locks are given out.
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
            // SAFETY: the position is for this lock alone, and zero at first.
            let global = || unsafe { Global::at(number, place) };
            Box::new(Local {
                held: Held::under(global()),
                queued: Delegated::from_raw(Queued::under(global()), ()),
                node: Cell::new(null_mut()),
            })
        })
    }

    /// Acquires a lock. Everything done under it before, by any rank, becomes visible. Within a
    /// rank, the lock is handed over without fences.
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

    /// Releases a lock.
    ///
    /// # Safety
    ///
    /// This thread holds it.
    ///
    /// # Panics
    ///
    /// If there is no such lock, or if no thread of this rank holds it.
    pub unsafe fn unlock(&self, number: usize) {
        let local = self.local(number);
        let node = local.node.replace(null_mut());
        assert!(!node.is_null(), "lock {number} is not held");
        // SAFETY: the node is from `lock`, and is taken out once.
        let node = unsafe { Box::from_raw(node) };
        // SAFETY: acquired with this node, as our caller says.
        unsafe { local.held.release(&node) };
        self.spare.give(node);
    }

    /// Runs a section under a lock and waits for it. The section runs in this thread, or in another
    /// thread of this rank that is in a call of the same lock.
    ///
    /// # Panics
    ///
    /// Panics if the section does, or if there is no such lock.
    pub fn with<R: Send>(&self, number: usize, section: impl FnOnce() -> R + Send) -> R {
        self.local(number).queued.with(|()| section())
    }

    /// Hands in a section and returns at once, unless this thread becomes the one that runs
    /// sections. Sections of one thread run in the order of its calls. What a section does is
    /// visible to this rank once a thread has waited for it, and to other ranks under the same
    /// lock.
    ///
    /// # Panics
    ///
    /// If there is no such lock.
    #[must_use = "to let the section run on, drop this explicitly"]
    pub fn delegate(&self, number: usize, section: impl FnOnce() + Send + 'static) -> Section {
        self.local(number).queued.delegate(|()| section())
    }

    /// Adds to the counter with a lock's number, and returns the counter's old value. This is an
    /// atomic operation without fences.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn count(&self, number: usize, add: u64) -> u64 {
        reached(self.rank.host.add(self.counter(number), add))
    }

    /// Adds to a counter. What this rank's threads have written before becomes visible to threads
    /// that wait for the counter.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn signal(&self, number: usize, add: u64) {
        self.rank.release();
        self.count(number, add);
    }

    /// Waits until a counter is at least `least`. What the threads that signalled wrote before is
    /// visible then.
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
