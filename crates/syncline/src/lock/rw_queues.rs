//! What the reader-preference and the writer-preference queue locks have in common: one word
//! that counts the readers and says what the writers are doing, and the writers' queue.
//!
//! ```text
//!   state    FULL and readers, in units of READER | ACTIVE | WANTED
//!
//!   writer   0 -> ACTIVE                  nobody is there
//!            r -> r | WANTED              the first of the queue; the last reader wakes it
//!            WANTED -> ACTIVE             by whoever finds that nobody is left
//! ```
//!
//! Writers stand in an MCS queue, whose head is at the state. Of several threads who find the
//! state `WANTED` only one changes it to `ACTIVE`, and wakes the writer if that is another.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::memory::{Link, Memory, Word};
use crate::wait::Wait;

/// A gate's values.
const WAITING: u32 = 0;
const GRANTED: u32 = 2;

/// The queue's first writer waits for the readers to leave.
pub const WANTED: u32 = 1;
/// A writer holds the lock.
pub const ACTIVE: u32 = 2;
/// One reader.
pub const READER: u32 = 4;
/// So many readers that a few more could overflow into nothing.
pub const FULL: u32 = 1 << 31;

/// The state and the writers' queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Writers<W: Wait, M: Memory> {
    pub state: M::Word,
    tail: M::Link<WriterNode<M>>,
    /// The writer for which the state is `WANTED`.
    first: M::Link<WriterNode<M>>,
    wait: PhantomData<W>,
}

/// A writer's place in the queue.
#[derive(Debug, Default)]
pub struct WriterNode<M: Memory> {
    next: M::Link<Self>,
    gate: M::Word,
}

// SAFETY: links and a word, so it may be zero when those may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Writers<W, M> where
    M::Link<WriterNode<M>>: Zeroable
{
}

impl<W: Wait, M: Memory> Writers<W, M> {
    /// Waits until no reader and no other writer is there. Has Acquire ordering.
    #[inline]
    pub fn acquire(&self, node: &WriterNode<M>) {
        // Relaxed: the swap publishes them.
        node.next.store(None, Relaxed);
        node.gate.store(WAITING, Relaxed);
        // AcqRel: pairs with the Release of the exchange in `successor`, and publishes our node
        // to the swap of the one behind us.
        if let Some(previous) = self.tail.swap(Some(M::refer(node)), AcqRel) {
            // SAFETY: the node before ours stays until its release has seen our link.
            let previous = unsafe { M::follow(previous) };
            // Release: pairs with the Acquire in `successor`.
            previous.next.store(Some(M::refer(node)), Release);
        } else if self.admit(M::refer(node)) {
            return;
        }
        W::wait::<M>(&node.gate, 0, None, |gate| gate == GRANTED);
    }

    /// Takes the lock if nobody is there. Has Acquire ordering.
    #[inline]
    pub fn try_acquire(&self, node: &WriterNode<M>) -> bool {
        // Relaxed: the exchange publishes it.
        node.next.store(None, Relaxed);
        // AcqRel: as the swap in `acquire`.
        if !self.tail.exchange(None, Some(M::refer(node)), AcqRel) {
            return false;
        }
        // Acquire: pairs with the Release by which readers and writers leave.
        let taken = self.state.exchange(0, ACTIVE, Acquire).is_ok();
        if !taken {
            self.leave_queue(node);
        }
        taken
    }

    /// Whether a writer waits behind this one, which holds the lock.
    #[inline]
    pub fn is_contended(&self, node: &WriterNode<M>) -> bool {
        // Relaxed: a hint, and never unset while the lock is held.
        node.next.load(Relaxed).is_some()
    }

    /// Lets the first of the queue go to the state, and says whether it has got the lock at
    /// once. Otherwise it is or will be woken.
    #[inline]
    fn admit(&self, first: M::Ref<WriterNode<M>>) -> bool {
        // Acquire: pairs with the Release by which readers and writers leave.
        if self.state.exchange(0, ACTIVE, Acquire).is_ok() {
            return true;
        }
        // Relaxed: published by the next line, whose Release pairs with the Acquire in `promote`.
        self.first.store(Some(first), Relaxed);
        // Whoever is there will leave later, and see what we set.
        if self.state.fetch_or(WANTED, Release) == 0 {
            self.promote();
        }
        false
    }

    /// Gives the lock to the writer that wants it, if nobody is there.
    #[cold]
    pub fn promote(&self) {
        // Acquire: pairs with the Release by which readers and writers leave, and with `admit`.
        if self.state.exchange(WANTED, ACTIVE, Acquire).is_ok() {
            // Not necessarily the one that our caller has seen there. Relaxed: ordered by the
            // exchange, and not changed before this writer is woken.
            if let Some(first) = self.first.load(Relaxed) {
                Self::grant(first);
            }
        }
    }

    /// Takes a node from the queue's head, and lets the next one go to the state.
    #[inline]
    pub fn leave_queue(&self, node: &WriterNode<M>) {
        if let Some(next) = self.successor(node)
            && self.admit(next)
        {
            Self::grant(next);
        }
    }

    /// Hands over to a writer that waits.
    #[inline]
    pub fn grant(writer: M::Ref<WriterNode<M>>) {
        // SAFETY: a writer that waits stays until we hand over to it.
        W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, GRANTED);
    }

    /// The node behind the queue's head, or none if the head has left the queue empty.
    #[inline]
    pub fn successor(&self, node: &WriterNode<M>) -> Option<M::Ref<WriterNode<M>>> {
        // Acquire: pairs with the Release of the successor's link.
        let mut next = node.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap.
        if next.is_some() || self.tail.exchange(Some(M::refer(node)), None, Release) {
            return next;
        }
        // Somebody has swapped its node in, and is about to link it.
        let mut looks = 1;
        while next.is_none() {
            W::pause::<M>(looks);
            looks += 1;
            // Acquire: as above.
            next = node.next.load(Acquire);
        }
        next
    }
}

/// A list of readers that wait; the one at its head is woken, and each wakes the next.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Readers<W: Wait, M: Memory> {
    head: M::Link<ReaderNode<M>>,
    wait: PhantomData<W>,
}

/// A reader's place among those that wait.
#[derive(Debug, Default)]
pub struct ReaderNode<M: Memory> {
    gate: M::Word,
}

// SAFETY: a link and nothing else, so it may be zero when its links may.
unsafe impl<W: Wait, M: Memory> Zeroable for Readers<W, M> where M::Link<ReaderNode<M>>: Zeroable {}

impl<W: Wait, M: Memory> Readers<W, M> {
    /// Puts a reader on the list, and returns the one that it has to wake later.
    #[inline]
    pub fn push(&self, node: &ReaderNode<M>) -> Option<M::Ref<ReaderNode<M>>> {
        // Relaxed: the swap publishes it.
        node.gate.store(WAITING, Relaxed);
        // AcqRel: pairs with the AcqRel in `take`, both ways: either it takes our node, or we
        // see what happened before it.
        self.head.swap(Some(M::refer(node)), AcqRel)
    }

    /// Waits until woken. Has Acquire ordering.
    #[inline]
    pub fn wait(node: &ReaderNode<M>) {
        W::wait::<M>(&node.gate, 0, None, |gate| gate == GRANTED);
    }

    /// Whether nobody is on the list.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Acquire: pairs with the AcqRel in `take`: whoever is not there any more is woken.
        self.head.load(Acquire).is_none()
    }

    /// Empties the list; the reader at its head is to be woken.
    #[inline]
    pub fn take(&self) -> Option<M::Ref<ReaderNode<M>>> {
        // AcqRel: as in `push`.
        self.head.swap(None, AcqRel)
    }

    /// Wakes a reader that was taken from the list, or left to us by `push`.
    #[inline]
    pub fn wake(reader: M::Ref<ReaderNode<M>>) {
        // SAFETY: a reader that waits stays until we hand over to it.
        W::hand_over::<M>(&unsafe { M::follow(reader) }.gate, GRANTED);
    }
}
