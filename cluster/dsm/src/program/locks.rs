//! Locks and counters that all ranks share, identified by numbers.
//!
//! A lock can be used in two ways: a thread holds it, or threads delegate sections to it. The two
//! ways also exclude each other, because both take the same global lock.

use std::cell::Cell;
use std::fmt;
use std::ptr::null_mut;
use std::sync::OnceLock;

use syncline::Mutex;
use syncline::delegation::{Delegated, Hqd, Pending};
use syncline::lock::{Cohort, Mcs, RawLock};
use syncline::memory::Native;
use syncline::wait::Park;
use syncline_fabric::{Fabric, Machines, Position};

use super::rank::{Rank, reached};
use crate::shape::{ASKED_LOCK, Control};
use crate::vela::{Fences, Global, wait};

/// The fences and the fabric of this process's rank, as the global locks (Vela) need them.
pub struct OfRank;

impl Fences for OfRank {
    type Fabric = Machines;

    fn enter(number: usize) {
        let rank = Rank::get().expect("a lock is made by a rank");
        rank.enter();
        let asked = rank.layout.control(rank.number(), Control::Asked);
        reached(rank.fabric.store(asked, ASKED_LOCK | number as u64));
    }

    fn acquired() {
        Rank::get().expect("as above").acquire();
    }

    fn releasing() {
        Rank::get().expect("as above").release();
    }
}

/// A lock as threads hold it: a cohort lock in which all threads of a node are one group.
type Held = Cohort<Global<OfRank>, Mcs<Park, Native>, 1>;
type HeldNode = <Held as RawLock>::Node;
/// A lock as threads delegate sections to it. Sections are queued within a node.
type Queued = Hqd<Park, Native, Global<OfRank>, 1>;

/// A delegated section, which may not have run yet.
pub type Section = Pending<(), Queued>;

/// This process's state of a lock.
struct Local {
    held: Held,
    queued: Delegated<(), Queued>,
    /// The queue node with which the holder acquired the lock. Only the holder uses this field.
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

/// Unused queue nodes. Unused nodes belong to the process and not to a thread: nodes are allocated
/// in this rank's part of the memory, and a thread that has ended could not return its nodes.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "a node stays at its address while it is in use")]
struct Spare(Mutex<Vec<Box<HeldNode>>>);

// SAFETY: any thread may use an unused node, since all locks that it is made of are
// thread-oblivious.
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

/// Locks with numbers below this one exist from the beginning. [`Locks::new_lock`] returns this
/// number and higher ones.
pub const LOCKS_BY_NUMBER: usize = 1024;

/// The locks and counters that all ranks share, identified by numbers.
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

    /// Returns the number of a lock that is not in use yet.
    ///
    /// # Panics
    ///
    /// If this has returned all 3,072 locks that there are for this purpose.
    pub fn new_lock(&self) -> usize {
        let given = reached(self.rank.fabric.add(self.rank.layout.control(0, Control::Locks), 1));
        let number = LOCKS_BY_NUMBER + given as usize;
        let all = self.local.len();
        assert!(number < all, "there are no more than {all} locks");
        number
    }

    fn local(&self, number: usize) -> &Local {
        let all = self.local.len();
        assert!(number < all, "there is no lock {number}: the number of locks is {all}");
        self.local[number].get_or_init(|| {
            let place = self.rank.layout.lock(&self.rank.shape, number);
            // SAFETY: only this lock uses the position, and its memory is zero at first.
            let global = || unsafe { Global::at(number, place) };
            Box::new(Local {
                held: Held::under(global()),
                queued: Delegated::from_raw(Queued::under(global()), ()),
                node: Cell::new(null_mut()),
            })
        })
    }

    /// Acquires a lock. Everything that any rank did under this lock before becomes visible. When
    /// the lock passes between threads of one rank, no fences are needed.
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
    /// This thread holds the lock.
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

    /// Delegates a section and returns at once, unless this thread becomes the one that runs the
    /// sections. Sections of one thread run in the order of its calls. The effects of a section are
    /// visible to this rank once a thread has waited for the section, and to other ranks when they
    /// hold the lock.
    ///
    /// # Panics
    ///
    /// If there is no such lock.
    #[must_use = "to let the section run on, drop this explicitly"]
    pub fn delegate(&self, number: usize, section: impl FnOnce() + Send + 'static) -> Section {
        self.local(number).queued.delegate(|()| section())
    }

    /// Adds to the counter that has the same number as a lock, and returns its old value. This is
    /// an atomic operation without fences.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn count(&self, number: usize, add: u64) -> u64 {
        reached(self.rank.fabric.add(self.counter(number), add))
    }

    /// Adds to a counter. Everything that this rank's threads have written before becomes visible
    /// to threads that wait for the counter.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn signal(&self, number: usize, add: u64) {
        self.rank.release();
        self.count(number, add);
    }

    /// Waits until a counter is at least `least`. Then everything is visible that the signalling
    /// threads wrote before they signalled.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    pub fn wait(&self, number: usize, least: u64) {
        reached(wait(&self.rank.fabric, self.counter(number), least));
        self.rank.acquire();
    }

    fn counter(&self, number: usize) -> Position {
        assert!(number < self.local.len(), "there is no counter {number}");
        self.rank.layout.counter(&self.rank.shape, number)
    }
}
