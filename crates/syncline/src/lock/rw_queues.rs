//! What the reader-preference and the writer-preference queue locks have in common: one word
//! that counts the readers and says what the writers are doing, and the writers' queue.
//!
//! ```text
//!   state    FULL and readers, in units of READER | LISTED | WANTED | ACTIVE | PARKED
//!
//!   writer   0 -> ACTIVE                  nobody is there
//!            r -> r | WANTED              the first of the queue, which then waits for the state
//!            WANTED -> ACTIVE             by that writer, once nobody is inside
//! ```
//!
//! Writers stand in an MCS queue. Only its first is at the state, so it alone sleeps there, and it
//! alone takes `WANTED` and the mark of its sleep away. Whoever brings the count to zero, or takes
//! `ACTIVE` away, wakes it, and touches the lock no more: the writer may be gone with it by then.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::memory::{Address, Link, Memory, Word};
use crate::wait::{PARKED, Wait};

/// A gate's values: a writer waits in the queue, is the queue's first, or has the lock; a reader
/// waits, or has the lock.
const WAITING: u32 = 0;
const FIRST: u32 = 2;
const GRANTED: u32 = 4;

/// A writer holds the lock.
pub const ACTIVE: u32 = 2;
/// The queue's first writer waits for those inside to leave.
pub const WANTED: u32 = 4;
/// Readers are on the list; only if a writer is inside or waits, who finds it when it leaves.
pub const LISTED: u32 = 8;
/// One reader.
pub const READER: u32 = 16;
/// So many readers that a few more could overflow into nothing.
pub const FULL: u32 = 1 << 31;

/// The state and the writers' queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Writers<W: Wait, M: Memory> {
    pub state: M::Word,
    tail: M::Link<WriterNode<M>>,
    wait: PhantomData<W>,
}

/// A writer's place in the queue.
#[derive(Debug, Default)]
pub struct WriterNode<M: Memory> {
    next: M::Link<Self>,
    gate: M::Word,
}

// SAFETY: a link and a word, so it may be zero when those may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Writers<W, M> where
    M::Link<WriterNode<M>>: Zeroable
{
}

/// Whether no reader and no writer is inside.
fn is_free(state: u32) -> bool {
    state < READER && state & ACTIVE == 0
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
            W::wait::<M>(&node.gate, 0, None, |gate| gate != WAITING);
            // Relaxed: we have just waited for it.
            if node.gate.load(Relaxed) == GRANTED {
                return;
            }
        }
        // Acquire: pairs with the Release by which readers and writers leave.
        if self.state.exchange(0, ACTIVE, Acquire).is_err() {
            self.wait_as_first();
        }
    }

    /// `WANTED -> ACTIVE`, as soon as nobody is inside.
    #[cold]
    fn wait_as_first(&self) {
        // Relaxed: it publishes nothing.
        self.state.fetch_or(WANTED, Relaxed);
        loop {
            W::wait::<M>(&self.state, 0, None, is_free);
            // Relaxed: the exchange orders.
            let state = self.state.load(Relaxed);
            let new = state & LISTED | ACTIVE;
            // Acquire: as in `acquire`.
            if is_free(state) && self.state.exchange(state, new, Acquire).is_ok() {
                return;
            }
        }
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
        // Acquire: as in `acquire`.
        let taken = self.state.exchange(0, ACTIVE, Acquire).is_ok();
        if !taken && let Some(next) = self.successor(node) {
            Self::let_first(next);
        }
        taken
    }

    /// Whether a writer waits behind this one, which holds the lock.
    #[inline]
    pub fn is_contended(&self, node: &WriterNode<M>) -> bool {
        // Relaxed: a hint, and never unset while the lock is held.
        node.next.load(Relaxed).is_some()
    }

    /// Takes a share from the state, of a reader or of the writer, and wakes the first writer if
    /// nobody is inside any more. Has Release ordering. The lock may be gone after.
    #[inline]
    pub fn leave(&self, share: u32) {
        let address = self.state.address();
        // Release: pairs with the Acquire of those who enter.
        let left = self.state.fetch_sub(share, Release) - share;
        Self::wake(address, left);
    }

    /// Replaces a state that the caller has a share of by one in which it hasn't, unless it has
    /// changed, which is the error; wakes as [`leave`](Self::leave) does. Has Release ordering.
    #[inline]
    pub fn leave_for(&self, state: u32, left: u32) -> Result<(), u32> {
        let address = self.state.address();
        // Release: as in `leave`.
        self.state.exchange(state, left, Release).map(|_| Self::wake(address, left))
    }

    /// Wakes the first writer if it sleeps at a state in which nobody is inside.
    #[inline]
    fn wake(address: Address, left: u32) {
        if W::SLEEPS && left & PARKED != 0 && is_free(left) {
            M::unpark(address, Some(0), 1);
        }
    }

    /// Hands over the lock to a writer that waits in the queue, behind the caller.
    #[inline]
    pub fn grant(writer: M::Ref<WriterNode<M>>) {
        // SAFETY: a writer that waits stays until we hand over to it.
        W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, GRANTED);
    }

    /// Lets a writer that waits in the queue, behind the caller, be its first.
    #[inline]
    pub fn let_first(writer: M::Ref<WriterNode<M>>) {
        // SAFETY: as in `grant`.
        W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, FIRST);
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
    #[cfg(all(test, feature = "std"))]
    pub fn is_empty(&self) -> bool {
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
