//! Locks of windows. A window is memory that is divided among ranks, the processes of an MPI
//! program. Each rank's part has its own lock. A rank can also share all parts at once.
//!
//! This is MPI's passive target synchronization: `MPI_Win_lock` takes one rank's part, exclusively
//! or shared, and `MPI_Win_lock_all` shares all parts. A window has
//!
//! ```text
//!   Global           one word: holders of all parts against writers of any part
//!   a lock per part  any lock that can be shared: BestEffort, or a queue lock of the catalogue
//! ```
//!
//! A writer passes the global word, then takes its part's lock. A reader of one part needs only
//! that part's lock. A reader of all parts needs only the global word, so its cost does not grow
//! with the number of ranks. With [`BestEffort`] this is the scheme of Gerstenberger, Besta and
//! Hoefler, "Enabling Highly-Scalable Remote Memory Access Programming with MPI-3 One Sided"
//! (SC'13), as Christgau and Schnor describe it. Queue locks, too, have the global word in front
//! here; Christgau and Schnor leave it out for them.
//!
//! [`Hierarchical`] is the lock of a part whose users are on several hosts.
//!
//! [`Robust`] has the same words and a record of each rank's additions to them, so that a rank's
//! death leaves no rank waiting. [`Ordered`] puts a queue lock in front of each part's word; there
//! a death affects only the order.
//!
//! Unlike in the published scheme, a writer stays counted in the global word while it waits for its
//! part. So a rank that shares the part must not request all parts meanwhile. MPI's rules forbid
//! that as well.

mod best_effort;
mod global;
mod hierarchical;
mod ordered;
mod robust;
#[cfg(all(test, feature = "std"))]
mod robust_tests;
mod scheme;
#[cfg(all(test, feature = "std"))]
mod tests;

pub use best_effort::BestEffort;
pub use global::Global;
pub use hierarchical::{Between, Hierarchical, Hold};
pub use ordered::{Ordered, Queues};
pub use robust::{Robust, Table};
pub use scheme::Scheme;

use crate::lock::RawSharedLock;
use crate::wait::Wait;

/// The locks of one rank's part of a window.
///
/// Acquiring has Acquire ordering and releasing Release ordering, between a part and the whole
/// window as well.
#[derive(Debug)]
pub struct Part<'a, W: Wait, L: RawSharedLock> {
    /// The window's word.
    pub global: &'a Global<W, L::Memory>,
    /// The part's own lock.
    pub lock: &'a L,
}

impl<W: Wait, L: RawSharedLock> Part<'_, W, L> {
    /// Waits until no rank holds or shares the part and no rank shares all parts, and takes the
    /// part.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`](crate::lock::RawLock::acquire), with
    /// [`release`](Self::release) as the release.
    pub unsafe fn acquire(&self, node: &L::Node) {
        self.global.enter_as_writer();
        // SAFETY: our caller's promise.
        unsafe { self.lock.acquire(node) }
    }

    /// Releases the part, which this rank holds alone.
    ///
    /// # Safety
    ///
    /// The part is held, and was acquired with this node.
    pub unsafe fn release(&self, node: &L::Node) {
        // SAFETY: our caller's promise.
        unsafe { self.lock.release(node) };
        self.global.leave_as_writer();
    }

    /// Waits until no rank holds the part alone, and shares it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], with
    /// [`release_shared`](Self::release_shared) as the release.
    pub unsafe fn acquire_shared(&self, node: &L::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe { self.lock.acquire_shared(node) }
    }

    /// Gives up this rank's share of the part.
    ///
    /// # Safety
    ///
    /// The share is held, and was acquired with this node.
    pub unsafe fn release_shared(&self, node: &L::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe { self.lock.release_shared(node) }
    }
}
