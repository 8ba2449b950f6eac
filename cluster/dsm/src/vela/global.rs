//! A lock of all ranks that looks like a lock of this process. Acquisitions and releases include
//! Carina's fences.
//!
//! The lock itself is the library's MCS lock, with its words in the ranks' parts of the fabric. The
//! process uses it like a lock in its own memory: as the global lock of a cohort lock or of a
//! delegation lock.

use std::cell::UnsafeCell;
use std::fmt;

use syncline::lock::cohort::ThreadOblivious;
use syncline::lock::{Mcs, RawLock};
use syncline::memory::{Native, Own};
use syncline::wait::Spin;
use syncline_fabric::{Here, Position, Region, Window};

/// The lock that all ranks share.
type Shared<F> = Mcs<Spin, Window<F>>;
type SharedNode<F> = Own<<Shared<F> as RawLock>::Node, Window<F>>;

/// What a rank does before and after it holds a global lock.
pub trait Fences: Send + Sync + 'static {
    /// The fabric in whose memory the lock is.
    type Fabric: Here;
    /// Makes the calling thread's rank known. Each thread calls this before it acquires or releases
    /// the lock with this number.
    fn enter(number: usize);
    /// Called after the lock is acquired.
    fn acquired();
    /// Called before the lock is released.
    fn releasing();
}

/// A lock that all ranks share.
pub struct Global<X: Fences> {
    /// The lock's number and position. With `None` the lock can't be used.
    place: Option<(usize, Position)>,
    fences: std::marker::PhantomData<X>,
}

impl<X: Fences> Global<X> {
    /// The lock with this number, at this position.
    ///
    /// # Safety
    ///
    /// The position has at least as many bytes as a lock needs. These bytes are zero before any
    /// rank first uses them, and no other object uses them.
    pub unsafe fn at(number: usize, place: Position) -> Global<X> {
        Global { place: Some((number, place)), fences: std::marker::PhantomData }
    }

    fn enter(&self) -> &'static Shared<X::Fabric> {
        const { assert!(size_of::<Shared<X::Fabric>>() <= crate::shape::LOCK / 2) };
        let (number, place) = self.place.expect("a global lock that is used has a place");
        X::enter(number);
        // SAFETY: the caller of `at` has promised what this needs.
        unsafe { Region::lock::<X::Fabric, Shared<X::Fabric>>(place) }
    }
}

impl<X: Fences> Default for Global<X> {
    fn default() -> Self {
        Global { place: None, fences: std::marker::PhantomData }
    }
}

impl<X: Fences> fmt::Debug for Global<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Global").field(&self.place).finish()
    }
}

/// What an acquisition needs: the queue node of the shared lock, in the fabric's memory, or `None`
/// before the first use.
pub struct Node<X: Fences>(UnsafeCell<Option<SharedNode<X::Fabric>>>);

impl<X: Fences> Default for Node<X> {
    fn default() -> Self {
        Node(UnsafeCell::new(None))
    }
}

impl<X: Fences> fmt::Debug for Node<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

// SAFETY: the shared lock provides mutual exclusion; the fences only add ordering.
unsafe impl<X: Fences> RawLock for Global<X> {
    type Memory = Native;
    type Node = Node<X>;

    unsafe fn acquire(&self, node: &Node<X>) {
        let lock = self.enter();
        // SAFETY: only our caller uses the node, which stays until the release.
        unsafe { lock.acquire((*node.0.get()).get_or_insert_default()) };
        X::acquired();
    }

    unsafe fn release(&self, node: &Node<X>) {
        let lock = self.enter();
        X::releasing();
        // SAFETY: acquired with this node.
        unsafe { lock.release((*node.0.get()).get_or_insert_default()) };
    }
}

// SAFETY: a node holds only the position of a queue node in the rank's part, and any thread of the
// rank may use and free that one.
unsafe impl<X: Fences> ThreadOblivious for Global<X> {}
