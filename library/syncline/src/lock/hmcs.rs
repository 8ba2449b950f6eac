//! HMCS: a tree of MCS queues, one for each group of near processors at each level.
//!
//! A thread queues in the smallest group that it belongs to. The first thread of a queue then
//! queues on behalf of its group in the next larger group, with the group's own node, and so on up
//! to the whole machine. A thread that releases the lock looks for a thread behind it, from its
//! smallest group up, and hands over to the first that it finds. With the lock, that thread gets
//! the positions that its groups have in the queues above. So the lock goes to the nearest waiter,
//! at most [`Memory::BATCH`] times in a row at each level. The word that a waiter watches also
//! counts how often the lock was passed on, so a hand-over within a group moves one line.
//!
//! A thread that hands over in a larger group first leaves the queues below. It takes the group's
//! node from the group, since it needs that node for the hand-over. The group's next thread queues
//! again, behind the threads that wait in the larger group. (In the paper, the thread hands over
//! first. Then it still works on the group's queue while another thread has the lock, and that
//! thread may free the lock.)
//!
//! Without contention an acquisition costs one queue lock for each level that divides the machine,
//! and one for the whole machine. Use this lock with very many waiters on a machine with several
//! sockets.
//!
//! Source: Chabbi, Fagan and Mellor-Crummey, "High Performance Locks for Multi-level NUMA
//! Systems" (PPoPP 2015), Listing 2.

use core::array;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::linked::linked;
use super::private::Private;
use super::raw::{RawLock, TryLock};
use super::tree::{above, smallest_group};
use crate::memory::{Lazy, Link, Memory, Native, Padded, Word};
use crate::wait::{Park, Wait};

const WAITING: u32 = 0;
/// This thread has the lock, as the first of its group's queue. The value grows by [`STEP`] each
/// time that the lock is passed on within the group.
const GRANTED: u32 = 2;
const STEP: u32 = 2;
/// This thread is the first of its group's queue. The group does not have the lock, so the thread
/// must queue for it above.
const CLIMB: u32 = u32::MAX - 1;

/// The hierarchical MCS lock.
///
/// `QUEUES` is 1 for the machine, plus 4 sockets, plus 4 groups in each of these, and so on. It is
/// 5 for the machine and one level below it, 21 for two levels below.
#[derive(Debug)]
pub struct Hmcs<W: Wait = Park, M: Memory = Native, const QUEUES: usize = 21> {
    /// A queue for each group, in the order of `tree.rs`.
    queues: [Padded<Queue<M>>; QUEUES],
    wait: PhantomData<W>,
}

/// A group of near processors.
#[derive(Debug, Default)]
struct Queue<M: Memory> {
    tail: M::Link<Entry<M>>,
    /// The group's entry in the queue above. Only the first of this queue uses that entry.
    entry: Lazy<Entry<M>, M>,
}

/// A thread's or group's node in a queue.
#[derive(Debug, Default)]
struct Entry<M: Memory> {
    next: M::Link<Self>,
    status: M::Word,
    /// An entry for the queue above. Before the group queues there, this is a spare, which the
    /// group then gets. For a hand-over there, this is the group's entry, taken from the group.
    above: Lazy<Self, M>,
}

/// What an acquisition carries until its release.
#[derive(Debug, Default)]
pub struct Node<M: Memory> {
    entry: Entry<M>,
    /// The index of the queue that the entry is in. When the thread releases the lock, it may have
    /// moved to another group.
    index: Private<M>,
}

impl<W: Wait, M: Memory, const QUEUES: usize> Default for Hmcs<W, M, QUEUES> {
    fn default() -> Self {
        Self { queues: array::from_fn(|_| Padded::default()), wait: PhantomData }
    }
}

// SAFETY: links and words and nothing else, so it may be zero when they may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>, const QUEUES: usize> Zeroable for Hmcs<W, M, QUEUES> where
    M::Link<Entry<M>>: Zeroable
{
}

impl<W: Wait, M: Memory, const QUEUES: usize> Hmcs<W, M, QUEUES> {
    /// Gives the group the spare entry of `entry` for the queue above, and returns that spare. The
    /// caller is the first of the group's own queue, with `entry`.
    #[inline]
    fn enter_above(&self, index: usize, entry: &Entry<M>) -> &Entry<M> {
        let queue = &self.queues[index];
        // SAFETY: only the first of the queue comes here, so one thread after another.
        unsafe {
            queue.entry.exchange(&entry.above);
            queue.entry.get()
        }
    }

    /// Takes from the group its entry in the queue above, and returns it. The caller is the first
    /// of the group's own queue, with `entry`.
    #[inline]
    fn leave_above<'a>(&self, index: usize, entry: &'a Entry<M>) -> &'a Entry<M> {
        // SAFETY: as in `enter_above`.
        unsafe {
            self.queues[index].entry.exchange(&entry.above);
            entry.above.get()
        }
    }

    #[inline]
    fn acquire_at(&self, index: usize, entry: &Entry<M>) {
        // Relaxed: the swap publishes them.
        entry.next.store(None, Relaxed);
        entry.status.store(WAITING, Relaxed);
        // AcqRel: pairs with the Release of the last holder's exchange, and publishes our entry to
        // the swap of the thread behind us.
        if let Some(previous) = self.queues[index].tail.swap(Some(M::refer(entry)), AcqRel) {
            // SAFETY: the entry before ours stays until its release has seen our link.
            let previous = unsafe { M::follow(previous) };
            // Release: pairs with the Acquire in `release_at`, `successor` and `linked`: our entry
            // is initialised.
            previous.next.store(Some(M::refer(entry)), Release);
            W::wait::<M>(&entry.status, 0, None, |status| status != WAITING);
            // Relaxed: we have just waited for it.
            if entry.status.load(Relaxed) != CLIMB {
                return;
            }
        }
        // Relaxed: from now on only threads that hold the lock through this entry use the status,
        // one after another.
        entry.status.store(GRANTED, Relaxed);
        if index > 0 {
            self.acquire_at(above(index), self.enter_above(index, entry));
        }
    }

    #[inline]
    fn release_at(&self, index: usize, entry: &Entry<M>) {
        if index == 0 {
            return self.leave(index, entry, GRANTED);
        }
        // Relaxed: the status was written by us, or before we got the lock.
        let status = entry.status.load(Relaxed);
        if status < GRANTED + M::BATCH * STEP {
            // Acquire: pairs with the Release of the successor's link.
            if let Some(next) = entry.next.load(Acquire) {
                // SAFETY: the successor's entry stays until we have handed over to it.
                let next = unsafe { M::follow(next) };
                return W::hand_over::<M>(&next.status, status + STEP);
            }
        }
        let groups = self.leave_above(index, entry);
        self.leave(index, entry, CLIMB);
        // The lock may be freed after this.
        self.release_at(above(index), groups);
    }

    /// Leaves a queue, and gives the thread behind, if there is one, this `status`.
    #[inline]
    fn leave(&self, index: usize, entry: &Entry<M>, status: u32) {
        if let Some(next) = self.successor(index, entry) {
            // SAFETY: the successor's entry stays until we have handed over to it.
            W::hand_over::<M>(&unsafe { M::follow(next) }.status, status);
        }
    }

    /// The entry behind this one; if there is none, empties the queue and returns `None`.
    #[inline]
    fn successor(&self, index: usize, entry: &Entry<M>) -> Option<M::Ref<Entry<M>>> {
        // Acquire: pairs with the Release of the successor's link.
        let next = entry.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap.
        if next.is_some() || self.queues[index].tail.exchange(Some(M::refer(entry)), None, Release)
        {
            return next;
        }
        Some(linked::<W, M, _>(&entry.next))
    }

    fn try_acquire_at(&self, index: usize, entry: &Entry<M>) -> bool {
        // Relaxed: as in `acquire_at`.
        entry.next.store(None, Relaxed);
        entry.status.store(GRANTED, Relaxed);
        // AcqRel: as the swap in `acquire_at`.
        if !self.queues[index].tail.exchange(None, Some(M::refer(entry)), AcqRel) {
            return false;
        }
        let taken = index == 0 || self.try_acquire_at(above(index), self.enter_above(index, entry));
        if !taken {
            self.leave(index, entry, CLIMB);
        }
        taken
    }
}

// SAFETY: only one thread at a time has returned from the machine's queue, or was handed its
// group's position there: each queue has one first, and only the first queues for the group or
// passes on the group's position. Without waiters the order of holders is carried by the tails,
// with waiters by the status words.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> RawLock for Hmcs<W, M, QUEUES> {
    type Memory = M;
    type Node = Node<M>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<M>) {
        let index = smallest_group::<M, QUEUES>();
        node.index.set(index);
        self.acquire_at(index, &node.entry);
    }

    #[inline]
    unsafe fn release(&self, node: &Node<M>) {
        self.release_at(node.index.get(), &node.entry);
    }
}

// SAFETY: as above; the thread that finds all queues from its own to the machine's empty is first
// in each.
unsafe impl<W: Wait, M: Memory, const QUEUES: usize> TryLock for Hmcs<W, M, QUEUES> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Node<M>) -> bool {
        let index = smallest_group::<M, QUEUES>();
        node.index.set(index);
        self.try_acquire_at(index, &node.entry)
    }
}

impl<W: Wait, M: Memory> Described for Hmcs<W, M> {
    const ABOUT: About = About {
        idea: "a tree of MCS queues; the lock goes to the nearest waiter",
        algorithm: Algorithm::Cohort,
        order: Order::FifoInGroup,
        numa: true,
        advice: "very many waiters on a machine of several levels",
        source: "Chabbi, Fagan and Mellor-Crummey 2015",
    };
}
