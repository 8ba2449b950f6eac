//! HMCS whose waiters can give up: a tree of MCS queues that waiters can leave.
//!
//! As in [`Hmcs`](super::Hmcs), a thread queues in the smallest group that it is in, and the first
//! of a queue queues for the group in the next larger one. The thread that releases hands over to
//! the nearest waiter, at most [`Memory::BATCH`] times in a row at each level. With the lock, the
//! waiter gets the positions that its groups have in the queues above. The queues are those of
//! [`TimedMcs`](super::TimedMcs) (`timed_queue.rs`), in which each grant shows at once whether a
//! waiter got it. So a group's positions only ever go to a waiter that accepts them. A waiter whose
//! deadline has just passed may accept them as well.
//!
//! A thread that gives up in its own group's queue marks its queue node and leaves. A thread that
//! gives up in a queue further up was the first of the queues below. It marks the group's queue
//! node further up, and then makes the group's next thread the first of the group's queue. That
//! thread does not have the lock. It queues for the lock again, behind the threads of other groups.
//! So giving up takes a few steps at each level, and an exchange for each abandoned queue node
//! behind the thread in its group's queue.
//!
//! As in `Hmcs`, a thread that hands over further up first leaves the queues below, and takes the
//! group's node from the group. So a release ends with the hand-over. The lock may be freed after
//! that.
//!
//! Without contention this lock costs more than [`Hmcs`](super::Hmcs), since its queue nodes are
//! allocated rather than on the caller's stack. A lock that is dropped while it is held leaks the
//! nodes in its queues.
//!
//! Source: Chabbi, Amer, Wen and Liu, "An Efficient Abortable-Locking Protocol for Multi-level NUMA
//! Systems" (PPoPP 2017), HMCS-T: if a thread gives up at a level, the group's next thread climbs
//! again. In that lock a thread keeps the node that it has left, and reuses the node if the thread
//! comes again before another one has freed the node. Here the queue node belongs to the queue, as
//! in He, Scherer and Scott, "Preemption Adaptivity in Time-Published Queue-Based Spin Locks" (HiPC
//! 2005), and a thread that comes back queues again.

use core::array;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::handle::Handle;
use super::private::Private;
use super::raw::{RawLock, TimedLock, TryLock};
use super::timed_queue::{FIRST, Queue, QueueNode};
use super::tree::{above, smallest_group};
use crate::memory::{Lazy, Memory, Native, Padded, Word};
use crate::wait::{Park, Wait};

/// The grant for the first of the queue of a group that has the lock. It grows by [`STEP`] each
/// time that the lock is passed on within the group. The grant [`FIRST`] says that the group does
/// not have the lock.
const HELD: u32 = FIRST + STEP;
const STEP: u32 = 2;

/// The hierarchical MCS lock with timeout; `QUEUES` is as in [`Hmcs`](super::Hmcs).
#[derive(Debug)]
pub struct TimedHmcs<W: Wait = Park, M: Memory = Native, const QUEUES: usize = 21> {
    /// The groups, in the order of `tree.rs`.
    groups: [Padded<Group<M>>; QUEUES],
    wait: PhantomData<W>,
}

/// A group of near processors.
#[derive(Debug, Default)]
struct Group<M: Memory> {
    queue: Queue<M>,
    /// The group's stand in the queue above. Only the first of `queue` uses that stand.
    above: Lazy<Stand<M>, M>,
}

/// A thread's or a group's position in a queue.
#[derive(Default)]
struct Stand<M: Memory> {
    handle: Handle<QueueNode<M>, M>,
    /// A stand for the queue above. Before the group queues there, this is a spare, which the group
    /// then gets. For a hand-over there, this is the group's stand, taken from the group.
    above: Lazy<Self, M>,
}

/// What an acquisition carries until its release.
pub struct Node<M: Memory> {
    stand: Stand<M>,
    /// The group whose queue the stand is in. When the thread releases the lock, it may have moved
    /// to another group.
    group: Private<M>,
}

// SAFETY: only the queue's first uses the handles of `above`, so one thread after another uses
// them. They may go from thread to thread, as the handles of `TimedMcs` may.
unsafe impl<M: Memory> Sync for Group<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Group<M> {}

// SAFETY: queues and links to stands and nothing else, so it may be zero when they may.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> Zeroable for TimedHmcs<W, M, QUEUES>
where
    Queue<M>: Zeroable,
    Lazy<Stand<M>, M>: Zeroable,
{
}

impl<W: Wait, M: Memory, const QUEUES: usize> Default for TimedHmcs<W, M, QUEUES> {
    fn default() -> Self {
        Self { groups: array::from_fn(|_| Padded::default()), wait: PhantomData }
    }
}

impl<M: Memory> Default for Node<M> {
    fn default() -> Self {
        Self { stand: Stand::default(), group: Private::default() }
    }
}

impl<M: Memory> fmt::Debug for Node<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("group", &self.group).finish_non_exhaustive()
    }
}

/// A way to join a queue and to wait for the grant: with a deadline, or without one. Because the
/// way is a type parameter, no level has to check whether there is a deadline.
trait Join<M: Memory>: Fn(&Queue<M>, &Handle<QueueNode<M>, M>) -> Option<u32> + Copy {}

impl<M: Memory, F: Fn(&Queue<M>, &Handle<QueueNode<M>, M>) -> Option<u32> + Copy> Join<M> for F {}

impl<W: Wait, M: Memory, const QUEUES: usize> TimedHmcs<W, M, QUEUES> {
    /// Joins a group's queue with `join`, and acquires the lock for the group if the group doesn't
    /// have it. Returns `false` if the deadline passed.
    ///
    /// # Safety
    ///
    /// The stand is the caller's alone, until it has left the queue. `join` calls [`Queue::join`].
    unsafe fn acquire_at(&self, group: usize, mine: &Stand<M>, join: impl Join<M>) -> bool {
        let queue = &self.groups[group].queue;
        // SAFETY: our caller's promise; if we are the queue's first, the stand above is ours.
        unsafe {
            let Some(mut granted) = join(queue, &mine.handle) else { return false };
            if granted == FIRST {
                let climbs = || self.acquire_at(above(group), self.enter(group, mine), join);
                if group > 0 && !climbs() {
                    queue.leave::<W>(&mine.handle, FIRST);
                    return false;
                }
                granted = HELD;
            }
            // Relaxed: from now on only threads that hold the lock through this queue node use the
            // word, one after another.
            Queue::<M>::note(&mine.handle).store(granted, Relaxed);
        }
        true
    }

    /// Joins all queues up to the machine's if they are empty, and returns whether they were.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire_at`](Self::acquire_at).
    unsafe fn try_acquire_at(&self, group: usize, mine: &Stand<M>) -> bool {
        let queue = &self.groups[group].queue;
        // SAFETY: as in `acquire_at`.
        unsafe {
            if !queue.try_join(&mine.handle) {
                return false;
            }
            if group > 0 && !self.try_acquire_at(above(group), self.enter(group, mine)) {
                queue.leave::<W>(&mine.handle, FIRST);
                return false;
            }
            // Relaxed: as in `acquire_at`.
            Queue::<M>::note(&mine.handle).store(HELD, Relaxed);
        }
        true
    }

    /// Gives the group the spare stand of `mine` for the queue above, and returns that spare.
    ///
    /// # Safety
    ///
    /// The caller is the first of the group's queue, with the stand `mine`.
    unsafe fn enter(&self, group: usize, mine: &Stand<M>) -> &Stand<M> {
        let group = &self.groups[group];
        // SAFETY: one thread after another is the first.
        unsafe {
            group.above.exchange(&mine.above);
            group.above.get()
        }
    }

    /// Releases the lock, to the nearest waiter.
    ///
    /// # Safety
    ///
    /// The caller is the first of the group's queue, with this stand, and the group has the lock.
    unsafe fn release_at(&self, group: usize, mine: &Stand<M>) {
        let Group { queue, above: stand } = &*self.groups[group];
        // SAFETY: our caller's promise; the stand above is ours as long as we are first.
        unsafe {
            if group == 0 {
                return queue.leave::<W>(&mine.handle, HELD);
            }
            // Relaxed: the word was written by us, or before we got the lock.
            let granted = Queue::<M>::note(&mine.handle).load(Relaxed);
            if granted < HELD + M::BATCH * STEP && queue.pass::<W>(&mine.handle, granted + STEP) {
                return;
            }
            stand.exchange(&mine.above);
            queue.leave::<W>(&mine.handle, FIRST);
            // The lock may be freed after this.
            self.release_at(above(group), mine.above.get());
        }
    }
}

// SAFETY: only one thread at a time is first in the machine's queue, or was handed its group's
// position there: each queue has one first, and only the first queues for the group or passes on
// the group's position. Without waiters the order of holders is carried by the tails, with waiters
// by the states of their queue nodes.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> RawLock for TimedHmcs<W, M, QUEUES> {
    type Memory = M;
    type Node = Node<M>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<M>) {
        let group = smallest_group::<M, QUEUES>();
        node.group.set(group);
        // SAFETY: our caller's promise.
        unsafe { self.acquire_at(group, &node.stand, |queue, mine| queue.join::<W>(mine, None)) };
    }

    #[inline]
    unsafe fn release(&self, node: &Node<M>) {
        // SAFETY: our caller's promise.
        unsafe { self.release_at(node.group.get(), &node.stand) }
    }
}

// SAFETY: as above; the thread that finds all queues from its own to the machine's empty is first
// in each.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> TryLock for TimedHmcs<W, M, QUEUES> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Node<M>) -> bool {
        let group = smallest_group::<M, QUEUES>();
        node.group.set(group);
        // SAFETY: our caller's promise.
        unsafe { self.try_acquire_at(group, &node.stand) }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> TimedLock for TimedHmcs<W, M, QUEUES> {
    #[inline]
    unsafe fn acquire_until(&self, node: &Node<M>, deadline: Duration) -> bool {
        let group = smallest_group::<M, QUEUES>();
        node.group.set(group);
        // SAFETY: our caller's promise.
        let join = |queue: &Queue<M>, mine: &_| unsafe { queue.join::<W>(mine, Some(deadline)) };
        // SAFETY: our caller's promise.
        unsafe { self.acquire_at(group, &node.stand, join) }
    }
}

impl<W: Wait, M: Memory> Described for TimedHmcs<W, M> {
    const ABOUT: About = About {
        idea: "as HMCS; a waiter that gives up marks its node, and the next one climbs in its place",
        algorithm: Algorithm::Cohort,
        order: Order::FifoInGroup,
        numa: true,
        advice: "as hmcs, when some waiters give up",
        source: "Chabbi, Amer, Wen and Liu 2017",
    };
}
