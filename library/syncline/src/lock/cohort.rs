//! Lock cohorting: a local lock for each group of near processors, and a global lock between the
//! groups.
//!
//! A thread that wants the lock takes its group's lock first. It then takes the global lock, unless
//! the thread before it in its group has left the global lock to the group. A holder leaves the
//! global lock to its group if others of the group wait, at most [`Memory::BATCH`] times in a row.
//! So the lock and the data that it protects stay in nearby caches. The global lock can be any lock
//! that is [`ThreadOblivious`], the local one any lock that is [`Contended`]. If both locks of a
//! cohort have both traits, the cohort has both traits too, so cohorts can be nested into trees. On
//! a machine that has one group, a cohort costs two locks and gains nothing.
//!
//! Waiters of a cohort can give up if the waiters of both its locks can. In such a cohort, a holder
//! must not leave the global lock to a group whose waiters are all about to give up, or no thread
//! would release the global lock. So a holder leaves the global lock to the group together with the
//! local lock, by [`Contended::release_to_waiter`], which returns whether a waiter got the local
//! lock. A thread that gives up waiting for the global lock releases the local one, and the next of
//! its group waits for the global lock again.
//!
//! Source: Dice, Marathe and Shavit, "Lock Cohorting: A General Technique for Designing NUMA Locks"
//! (PPoPP 2012), section 3.6 for the abortable ones; the hierarchical ticket lock of SSYNC
//! (SOSP'13), section 4.1. The paper's abortable cohorts (A-C-BO-BO, A-C-BO-CLH) have a spinlock or
//! Scott's CLH lock as the local lock, and a flag with which a waiter that gives up withdraws its
//! announcement that it waits. Here the local lock is the MCS lock of He, Scherer and Scott. It
//! needs no flag: a waiter that gives up and the thread that hands over to it exchange the same
//! word.

use core::array;
use core::fmt;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::clh::Clh;
use super::mcs::Mcs;
use super::mcs_timed::TimedMcs;
use super::private::Private;
use super::raw::{Contended, RawLock};
use super::raw::{TimedLock, TryLock};
use super::tas::Tas;
use super::ticket::Approach;
use super::ticket::Ticket;
use super::ttas::Ttas;
use crate::memory::{Lazy, Memory, Native, Padded, Word};
use crate::wait::{Park, Wait};

/// A lock `G` among the groups of a level, and a lock `L` in each group.
///
/// If the machine has more groups than `GROUPS`, several groups share a local lock.
pub struct Cohort<G, L, const GROUPS: usize = 4, const LEVEL: usize = 0>
where
    G: ThreadOblivious,
    L: RawLock,
{
    global: Padded<G>,
    groups: [Padded<Group<G, L>>; GROUPS],
}

/// A lock that any thread can release, not just the one that acquired it.
///
/// # Safety
///
/// A node may go from thread to thread, while the lock is held with it and between its uses.
pub unsafe trait ThreadOblivious: RawLock {}

// SAFETY: there is no node.
unsafe impl<W: Wait, M: Memory> ThreadOblivious for Tas<W, M> {}
// SAFETY: there is no node.
unsafe impl<W: Wait, M: Memory> ThreadOblivious for Ttas<W, M> {}
// SAFETY: there is no node.
unsafe impl<W: Wait, M: Memory, A: Approach> ThreadOblivious for Ticket<W, M, A> {}
// SAFETY: a node is words and links, and it is found by its address.
unsafe impl<W: Wait, M: Memory> ThreadOblivious for Mcs<W, M> {}
// SAFETY: a node is references to queue nodes, which any thread may use and free.
unsafe impl<W: Wait, M: Memory> ThreadOblivious for Clh<W, M> {}
// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> ThreadOblivious for TimedMcs<W, M> {}
// SAFETY: a node is a local lock's and a number.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> ThreadOblivious
    for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: Contended<Memory = G::Memory> + ThreadOblivious,
{
}

/// The hierarchical ticket lock: a ticket lock among ticket locks.
pub type HierarchicalTicket<W = Park, M = Native> = Cohort<Ticket<W, M>, Ticket<W, M>>;

/// An MCS lock among MCS locks.
pub type CohortMcs<W = Park, M = Native> = Cohort<Mcs<W, M>, Mcs<W, M>>;

/// A spinlock with back-off among MCS locks. Few threads compete for the spinlock, so it is quick.
pub type CohortTtasMcs<W = Park, M = Native> = Cohort<Ttas<W, M>, Mcs<W, M>>;

/// A spinlock with back-off among MCS locks; waiters of all of them can give up.
pub type TimedCohort<W = Park, M = Native> = Cohort<Ttas<W, M>, TimedMcs<W, M>>;

/// The part of the lock that belongs to one group.
struct Group<G: ThreadOblivious, L> {
    local: L,
    /// How many times in a row the global lock was left to the group. If 0, the next holder of
    /// `local` has to acquire the global lock. Only the holder of `local` uses this word.
    passes: <G::Memory as Memory>::Word,
    /// The node of the group's acquisition of the global lock. Only the holder of `local` uses this
    /// node.
    node: Lazy<G::Node, G::Memory>,
}

/// What an acquisition carries until its release.
pub struct Node<G: ThreadOblivious, L: RawLock> {
    local: L::Node,
    /// A node for the global lock. Before the group acquires that lock, this is a spare, which the
    /// group then gets. For the release of that lock, this is the group's node, taken from the
    /// group.
    global: Lazy<G::Node, G::Memory>,
    /// The group in which the lock was acquired. When the thread releases the lock, it may have
    /// moved to another group.
    group: Private<G::Memory>,
}

// SAFETY: locks may be shared; the global lock's node is used by one holder of `local` after the
// other, and may go from thread to thread.
unsafe impl<G: ThreadOblivious, L: RawLock> Sync for Group<G, L> {}
// SAFETY: as above.
unsafe impl<G: ThreadOblivious, L: RawLock> Send for Group<G, L> {}

impl<G, L, const GROUPS: usize, const LEVEL: usize> Default for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: RawLock,
{
    fn default() -> Self {
        let group = |_| {
            let (local, passes, node) = Default::default();
            Padded(Group { local, passes, node })
        };
        Self { global: Padded::default(), groups: array::from_fn(group) }
    }
}

impl<G: ThreadOblivious, L: RawLock> Default for Node<G, L> {
    fn default() -> Self {
        Self { local: L::Node::default(), global: Lazy::default(), group: Private::default() }
    }
}

impl<G, L, const GROUPS: usize, const LEVEL: usize> fmt::Debug for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: RawLock,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cohort").field("groups", &GROUPS).finish_non_exhaustive()
    }
}

impl<G: ThreadOblivious, L: RawLock> fmt::Debug for Node<G, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("group", &self.group).finish_non_exhaustive()
    }
}

// SAFETY: locks, words and nodes and nothing else, so it may be zero when they may.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> Zeroable for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious<Memory: Memory<Word: Zeroable>> + Zeroable,
    L: RawLock + Zeroable,
    <G::Memory as Memory>::Link<G::Node>: Zeroable,
{
}

impl<G, L, const GROUPS: usize, const LEVEL: usize> Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: RawLock,
{
    /// A lock under this global lock, which may be a handle of a lock that other cohorts share.
    pub fn under(global: G) -> Self {
        Self { global: Padded(global), ..Self::default() }
    }

    #[inline]
    fn group(&self, node: &Node<G, L>) -> &Group<G, L> {
        &self.groups[node.group.get()]
    }

    #[inline]
    fn enter(&self, node: &Node<G, L>) -> &Group<G, L> {
        const { assert!(GROUPS > 0) };
        node.group.set(G::Memory::group(LEVEL) % GROUPS);
        self.group(node)
    }
}

impl<G: ThreadOblivious, L: Contended<Memory = G::Memory>> Group<G, L> {
    /// Leaves both locks to a waiter of the group, if there is one and the group's turns are not
    /// used up. Returns whether a waiter got them.
    ///
    /// # Safety
    ///
    /// Both locks are held, the local one with this node.
    #[inline]
    unsafe fn pass(&self, node: &L::Node) -> bool {
        // Relaxed, here and below: the local lock orders it.
        let passes = self.passes.load(Relaxed);
        // SAFETY: our caller holds the local lock.
        if passes >= G::Memory::BATCH || !unsafe { self.local.is_contended(node) } {
            return false;
        }
        self.passes.store(passes + 1, Relaxed);
        // SAFETY: as above.
        unsafe { self.local.release_to_waiter(node) }
    }
}

impl<G, L, const GROUPS: usize, const LEVEL: usize> Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: Contended<Memory = G::Memory>,
{
    /// Acquires the global lock for the group by `take`, unless the group already has it. Returns
    /// whether the group has the global lock now. If not, releases the local lock.
    ///
    /// # Safety
    ///
    /// The local lock is held with this node.
    #[inline]
    unsafe fn climb(&self, node: &Node<G, L>, take: impl FnOnce(&G, &G::Node) -> bool) -> bool {
        let group = self.group(node);
        // Relaxed: the local lock orders it.
        if group.passes.load(Relaxed) != 0 {
            return true;
        }
        // SAFETY: we hold the local lock, so the global one's node is ours.
        unsafe {
            group.node.exchange(&node.global);
            let taken = take(&self.global, group.node.get());
            if !taken {
                group.local.release(&node.local);
            }
            taken
        }
    }
}

// SAFETY: a thread that holds a local lock holds the global lock, or is about to acquire it. The
// order of holders is carried by the local lock within a group, and by the global lock between
// groups. A thread that leaves the global lock to the group has handed the local lock to a waiter
// that acquires it.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> RawLock for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious,
    L: Contended<Memory = G::Memory>,
{
    type Memory = G::Memory;
    type Node = Node<G, L>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<G, L>) {
        let group = self.enter(node);
        // SAFETY: the node is our caller's.
        unsafe { group.local.acquire(&node.local) };
        // Relaxed: the local lock orders it.
        if group.passes.load(Relaxed) == 0 {
            // SAFETY: we hold the local lock, so the group's node is free.
            unsafe {
                group.node.exchange(&node.global);
                self.global.acquire(group.node.get());
            }
        }
    }

    #[inline]
    unsafe fn release(&self, node: &Node<G, L>) {
        let group = self.group(node);
        // SAFETY: our caller holds both locks, the global one with the group's node.
        unsafe {
            if group.pass(&node.local) {
                return;
            }
            group.passes.store(0, Relaxed);
            group.node.exchange(&node.global);
            group.local.release(&node.local);
            // The lock may be freed after this.
            self.global.release(node.global.get());
        }
    }
}

// SAFETY: as above.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> TryLock for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious + TryLock,
    L: Contended<Memory = G::Memory> + TryLock,
{
    #[inline]
    unsafe fn try_acquire(&self, node: &Node<G, L>) -> bool {
        let group = self.enter(node);
        // SAFETY: the nodes are our caller's, and those of a lock that we hold.
        unsafe {
            group.local.try_acquire(&node.local)
                && self.climb(node, |global, node| global.try_acquire(node))
        }
    }
}

// SAFETY: as above.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> TimedLock for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious + TimedLock,
    L: Contended<Memory = G::Memory> + TimedLock,
{
    #[inline]
    unsafe fn acquire_until(&self, node: &Node<G, L>, deadline: Duration) -> bool {
        let group = self.enter(node);
        // SAFETY: as in `try_acquire`.
        unsafe {
            group.local.acquire_until(&node.local, deadline)
                && self.climb(node, |global, node| global.acquire_until(node, deadline))
        }
    }
}

// SAFETY: both locks can be left to a waiter of the same group. A waiter for the global lock has
// its own group's local lock already.
unsafe impl<G, L, const GROUPS: usize, const LEVEL: usize> Contended for Cohort<G, L, GROUPS, LEVEL>
where
    G: ThreadOblivious + Contended,
    L: Contended<Memory = G::Memory>,
{
    #[inline]
    unsafe fn is_contended(&self, node: &Node<G, L>) -> bool {
        let group = self.group(node);
        // SAFETY: our caller holds both, with these nodes.
        unsafe {
            group.local.is_contended(&node.local) || self.global.is_contended(group.node.get())
        }
    }

    /// Releases this cohort, which is a group's lock in a cohort of cohorts, if a waiter gets it.
    /// The cohort must outlive this call: only the hand-over shows whether another group got the
    /// global lock, and if one did, the local lock is released after that.
    unsafe fn release_to_waiter(&self, node: &Node<G, L>) -> bool {
        let group = self.group(node);
        // SAFETY: our caller holds both, with these nodes.
        unsafe {
            if group.pass(&node.local) {
                return true;
            }
            group.passes.store(0, Relaxed);
            if self.global.release_to_waiter(group.node.get()) {
                group.local.release(&node.local);
                return true;
            }
            // No other group waits for a turn, so this group may have more turns.
            group.passes.store(1, Relaxed);
            group.local.release_to_waiter(&node.local)
        }
    }
}

impl<W: Wait, M: Memory> Described for HierarchicalTicket<W, M> {
    const ABOUT: About = About {
        idea: "a ticket lock for each socket, and one among the sockets",
        algorithm: Algorithm::Cohort,
        order: Order::FifoInGroup,
        numa: true,
        advice: "many waiters on several sockets; small for its kind",
        source: "SSYNC 4.1; Dice, Marathe and Shavit 2012",
    };
}

impl<W: Wait, M: Memory> Described for CohortMcs<W, M> {
    const ABOUT: About = About {
        idea: "an MCS lock for each socket, and one among the sockets",
        algorithm: Algorithm::Cohort,
        order: Order::FifoInGroup,
        numa: true,
        advice: "very many waiters on several sockets",
        source: "Dice, Marathe and Shavit 2012",
    };
}

impl<W: Wait, M: Memory> Described for CohortTtasMcs<W, M> {
    const ABOUT: About = About {
        idea: "an MCS lock for each socket, and a spinlock among the sockets",
        algorithm: Algorithm::Cohort,
        order: Order::Any,
        numa: true,
        advice: "very many waiters on few sockets, when those need not take turns",
        source: "Dice, Marathe and Shavit 2012",
    };
}

impl<W: Wait, M: Memory> Described for TimedCohort<W, M> {
    const ABOUT: About = About {
        idea: "as cohort_ttas_mcs; a waiter that gives up marks its node, and the holder skips it",
        algorithm: Algorithm::Cohort,
        order: Order::Any,
        numa: true,
        advice: "very many waiters on few sockets, some of which give up",
        source: "Dice, Marathe and Shavit 2012, 3.6; He, Scherer and Scott 2005",
    };
}
