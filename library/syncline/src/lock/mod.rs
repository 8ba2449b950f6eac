//! The locks, and the catalogue of them.
//!
//! A lock is a type over a waiting policy and a memory, `Ticket<W, M>`, with the traits below for
//! what it can do. Each file opens with the idea, the source, and when not to use it. To use a
//! lock, put a value under it: [`Mutex<T, Ticket>`](crate::Mutex).
//!
//! ```
//! use syncline::Mutex;
//! use syncline::lock::Mcs;
//! use syncline::wait::Spin;
//!
//! let parked = Mutex::<_, Mcs>::with_lock(5); // waiters sleep after a while
//! let spinning = Mutex::<_, Mcs<Spin>>::with_lock(5); // each thread has a processor of its own
//! assert_eq!(*parked.lock(), *spinning.lock());
//! ```
//!
//! The catalogue, [`for_each_lock`](crate::for_each_lock), is the only list: tests, checkers,
//! benchmarks, the C interface, the command line and the table in `docs/locks.md` are made from
//! it. To add a lock, write its file, and add its line there.

mod about;
pub mod anderson;
pub mod clh;
pub mod clh_timed;
pub mod cohort;
mod forms;
pub mod futex;
pub mod gate;
#[doc(hidden)]
pub mod handle;
pub mod hclh;
pub mod hmcs;
pub mod hmcs_timed;
#[doc(hidden)]
pub mod linked;
pub mod mcs;
pub mod mcs_timed;
#[cfg(all(test, feature = "std"))]
mod near;
#[doc(hidden)]
pub mod private;
pub mod rw_compact;
pub mod rw_fair;
pub mod rw_flag;
pub mod rw_gate;
#[doc(hidden)]
pub mod rw_queues;
pub mod rw_readers;
pub mod rw_writers;
pub mod tas;
pub mod ticket;
#[doc(hidden)]
pub mod timed_queue;
#[doc(hidden)]
pub mod tree;
pub mod ttas;
pub mod upgradable;

pub use about::{About, Algorithm, Described, Order};
pub use anderson::Anderson;
pub use clh::Clh;
pub use clh_timed::TimedClh;
pub use cohort::{Cohort, CohortMcs, CohortTtasMcs, HierarchicalTicket, TimedCohort};
pub use forms::{Entry, Form, Waiting, catalogue, forms};
pub use futex::Futex;
pub use gate::{Gate, GatedClh};
pub use hclh::Hclh;
pub use hmcs::Hmcs;
pub use hmcs_timed::TimedHmcs;
pub use mcs::Mcs;
pub use mcs_timed::TimedMcs;
pub use rw_compact::CompactRw;
pub use rw_fair::FairRw;
pub use rw_flag::FlagRw;
pub use rw_gate::RwGate;
pub use rw_readers::ReadersFirst;
pub use rw_writers::WritersFirst;
pub use tas::Tas;
pub use ticket::{PrefetchingTicket, Ticket};
pub use ttas::Ttas;
pub use upgradable::Upgradable;

use core::time::Duration;

use crate::memory::Memory;

/// A lock that one thread holds at a time.
///
/// Acquiring has Acquire ordering and releasing Release: what a holder did is visible to all
/// later ones.
///
/// # Safety
///
/// From an acquisition to its release, no other acquisition of the same lock succeeds, and the
/// orderings above hold. A lock that is all zero bits, in a memory in which that is possible, is
/// a fresh one. A lock whose holder has forgotten it can be moved and dropped.
pub unsafe trait RawLock: Default + Send + Sync {
    /// The memory that the lock is in.
    type Memory: Memory;
    /// What an acquisition carries until its release: a queue node, or nothing.
    type Node: Default;

    /// Waits until the lock is free, and takes it.
    ///
    /// # Safety
    ///
    /// `node` is in no other use, and stays where it is, alive, until `release` with it has
    /// returned; also when the release never comes.
    unsafe fn acquire(&self, node: &Self::Node);

    /// Releases the lock, which the next one may then acquire.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn release(&self, node: &Self::Node);
}

/// A lock that can be taken if it is free.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait TryLock: RawLock {
    /// Takes the lock if it is free, and says whether it did. May be refused while others wait,
    /// but never while the lock is free and nobody else uses it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], if it succeeds; otherwise the node is free again.
    unsafe fn try_acquire(&self, node: &Self::Node) -> bool;
}

/// A lock whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait TimedLock: TryLock {
    /// Waits for the lock until the deadline on the memory's clock, and says whether it got it.
    /// A free lock is taken even after the deadline.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], if it succeeds; otherwise the node is free again.
    unsafe fn acquire_until(&self, node: &Self::Node, deadline: Duration) -> bool;
}

/// A lock whose holder can tell whether others wait.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait Contended: RawLock {
    /// Whether a thread waits for the lock, as far as the holder knows: `false` may be outdated;
    /// `true` stays true while the lock is held, unless waiters can give up.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn is_contended(&self, node: &Self::Node) -> bool;

    /// Releases the lock if the holder knows of a waiter that then gets it, and says whether it
    /// did. Otherwise the lock is still held, with the same node.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    #[inline]
    unsafe fn release_to_waiter(&self, node: &Self::Node) -> bool {
        // SAFETY: our caller's promise.
        unsafe {
            let contended = self.is_contended(node);
            if contended {
                self.release(node);
            }
            contended
        }
    }
}

/// A lock that one thread holds alone, or several threads share.
///
/// # Safety
///
/// Same requirements as [`RawLock`]; while it is shared, no exclusive acquisition succeeds.
pub unsafe trait RawSharedLock: RawLock {
    /// What a shared acquisition carries until its release.
    type SharedNode: Default;

    /// Waits until no thread holds the lock alone, and shares it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], with [`release_shared`](Self::release_shared).
    unsafe fn acquire_shared(&self, node: &Self::SharedNode);

    /// Gives up this share.
    ///
    /// # Safety
    ///
    /// This node's share is held.
    unsafe fn release_shared(&self, node: &Self::SharedNode);
}

/// A shared lock that can be taken if it is free.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait TrySharedLock: RawSharedLock + TryLock {
    /// Shares the lock if that needs no waiting, and says whether it did.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    unsafe fn try_acquire_shared(&self, node: &Self::SharedNode) -> bool;

    /// Like [`RawSharedLock::acquire_shared`], but returns `false` at once where that panics since
    /// more readers share the lock than it can count. A lock that counts to 2^28 or more may panic
    /// here as well.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    #[inline]
    unsafe fn acquire_shared_if_counted(&self, node: &Self::SharedNode) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.acquire_shared(node) };
        true
    }
}

/// A shared lock whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait TimedSharedLock: TrySharedLock + TimedLock {
    /// Waits for a share until the deadline on the memory's clock, and says whether it got it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    unsafe fn acquire_shared_until(&self, node: &Self::SharedNode, deadline: Duration) -> bool;
}

/// A shared lock whose writer can become a reader.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait Downgrade: RawSharedLock {
    /// Turns the exclusive acquisition into a share, with Release ordering. No writer gets the lock
    /// in between, and this never waits.
    ///
    /// # Safety
    ///
    /// The lock is held with `node`, which is free afterwards. For `share` the same holds as for
    /// [`acquire_shared`](RawSharedLock::acquire_shared).
    unsafe fn downgrade(&self, node: &Self::Node, share: &Self::SharedNode);
}

/// A shared lock with a reader that can become the writer.
///
/// One thread at a time has the *upgradable* share. Others share the lock beside it.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`]; no other thread has the lock exclusively, or an
/// upgradable share of it, from an upgradable acquisition to its release, also while it is
/// upgraded.
pub unsafe trait Upgrade: TrySharedLock {
    /// Waits until no thread holds the lock alone or has the upgradable share, and takes the share.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], with
    /// [`release_upgradable`](Self::release_upgradable).
    unsafe fn acquire_upgradable(&self, share: &Self::SharedNode);

    /// Takes the upgradable share if that needs no waiting, and says whether it did.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire_upgradable`](Self::acquire_upgradable), if it succeeds;
    /// otherwise the node is free.
    unsafe fn try_acquire_upgradable(&self, share: &Self::SharedNode) -> bool;

    /// Gives up the upgradable share.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with this node.
    unsafe fn release_upgradable(&self, share: &Self::SharedNode);

    /// Waits until all other readers have left, and holds the lock alone.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with `share`, which is free afterwards. For `node` the same
    /// holds as for [`RawLock::acquire`].
    unsafe fn upgrade(&self, share: &Self::SharedNode, node: &Self::Node);

    /// Holds the lock alone if there is no other reader, and says whether it does.
    ///
    /// # Safety
    ///
    /// Same requirements as [`upgrade`](Self::upgrade), if it succeeds; otherwise the share is held
    /// as before, and `node` is free.
    unsafe fn try_upgrade(&self, share: &Self::SharedNode, node: &Self::Node) -> bool;

    /// Turns the upgradable share into an ordinary one, held with the same node.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with this node.
    unsafe fn downgrade_upgradable(&self, share: &Self::SharedNode);

    /// Turns the exclusive acquisition into the upgradable share, with Release ordering. No
    /// writer gets the lock in between.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Downgrade::downgrade`].
    unsafe fn downgrade_to_upgradable(&self, node: &Self::Node, share: &Self::SharedNode);
}

/// A lock with an upgradable share whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`Upgrade`].
pub unsafe trait TimedUpgrade: Upgrade + TimedSharedLock {
    /// Waits for the upgradable share until the deadline on the memory's clock, and says whether
    /// it got it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Upgrade::try_acquire_upgradable`].
    unsafe fn acquire_upgradable_until(&self, share: &Self::SharedNode, deadline: Duration)
    -> bool;

    /// Waits until all other readers have left, or until the deadline on the memory's clock, and
    /// says whether it holds the lock alone.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Upgrade::try_upgrade`].
    unsafe fn upgrade_until(
        &self,
        share: &Self::SharedNode,
        node: &Self::Node,
        deadline: Duration,
    ) -> bool;
}

/// Calls a macro with each lock of the catalogue: `$each! { name, Type, features }`.
///
/// The features are bare words in this order:
///
/// 1. How many threads can hold it: one at a time, `exclusive` ([`RawLock`]), or several, `shared`
///    ([`RawSharedLock`]).
/// 2. How its waiters wait, which decides in which [forms](crate::for_each_form) it comes. It
///    `waits` as its policy says, or it `queues`: waiters follow each other in a queue, so that
///    the parking form has a gate before it. It `parks` always, in a way of its own, or it only
///    `spins`, or yields.
/// 3. What else it can do or promises: `try` ([`TryLock`]), `timed` ([`TimedLock`]), `fifo` if
///    waiters are served in the order in which they came, `near` if they are so within a group of
///    near processors.
///
/// What follows the macro's name, if anything, is passed on before the name: with
/// `for_each_lock!(each, what)` the calls are `each! { what name, Type, features }`.
#[macro_export]
macro_rules! for_each_lock {
    ($each:path $(, $what:tt)?) => {
        $each! { $($what)? tas, Tas, exclusive waits try timed }
        $each! { $($what)? ttas, Ttas, exclusive waits try timed }
        $each! { $($what)? ticket, Ticket, exclusive queues try fifo }
        $each! { $($what)? ticket_prefetch, PrefetchingTicket, exclusive queues try fifo }
        $each! { $($what)? anderson, Anderson, exclusive queues try fifo }
        $each! { $($what)? mcs, Mcs, exclusive queues try fifo }
        $each! { $($what)? mcs_timed, TimedMcs, exclusive queues try timed fifo }
        $each! { $($what)? clh, Clh, exclusive queues fifo }
        $each! { $($what)? clh_timed, TimedClh, exclusive queues try timed fifo }
        $each! { $($what)? futex, Futex, exclusive parks try timed }
        $each! { $($what)? gate, GatedClh, exclusive parks try timed }
        $each! { $($what)? hticket, HierarchicalTicket, exclusive queues try near }
        $each! { $($what)? cohort_mcs, CohortMcs, exclusive queues try near }
        $each! { $($what)? cohort_ttas_mcs, CohortTtasMcs, exclusive queues try near }
        $each! { $($what)? cohort_timed, TimedCohort, exclusive queues try timed near }
        $each! { $($what)? hmcs, Hmcs, exclusive queues try near }
        $each! { $($what)? hmcs_timed, TimedHmcs, exclusive queues try timed near }
        $each! { $($what)? hclh, Hclh, exclusive queues near }
        $each! { $($what)? rw_fair, FairRw, shared queues fifo }
        $each! { $($what)? rw_readers, ReadersFirst, shared queues try }
        $each! { $($what)? rw_writers, WritersFirst, shared queues try }
        $each! { $($what)? rw_flag, FlagRw, shared spins try timed }
        $each! { $($what)? rw_compact, CompactRw, shared parks try timed }
    };
}
