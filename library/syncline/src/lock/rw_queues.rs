//! The common parts of the reader-preference and the writer-preference queue locks: a word that
//! counts the readers and shows the writers' state; the queue of writers; and a list of readers
//! that wait.
//!
//! ```text
//!   state    FULL and readers, in units of READER | LISTED | WANTED | ACTIVE | PARKED
//!
//!   writer   0 -> ACTIVE                  no thread is inside or waits
//!            r -> r | WANTED              the first of the queue, which then waits for the state
//!            WANTED -> ACTIVE             by that writer, once no thread is inside
//! ```
//!
//! Writers wait in an MCS queue. Only the first writer of the queue, and the first waiting reader
//! on the list, watch the state. These two see for themselves when they may enter. So a thread that
//! leaves changes the state, and then makes a wake-up call if the mark says that one of the two
//! sleeps. It does not access the lock again, since the lock may be freed by then.
//!
//! The mark stays when readers leave, since the first waiting reader may still sleep. The mark also
//! stays when the writer enters, for the same reason. A writer that leaves clears the mark, and
//! wakes both.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::linked::linked;
use crate::memory::{Address, Link, Memory, Word};
use crate::wait::{PARKED, Wait};

/// The values of a node's `gate`. A writer waits in the queue, is the queue's first, or has the
/// lock. A reader waits, or has the lock.
const WAITING: u32 = 0;
const FIRST: u32 = 2;
const GRANTED: u32 = 4;

/// The keys under which threads that wait for the state sleep.
const READERS: u32 = 0;
const WRITERS: u32 = 1;

/// A writer holds the lock.
pub const ACTIVE: u32 = 2;
/// The queue's first writer waits for the threads inside to leave.
pub const WANTED: u32 = 4;
/// The first reader on the list waits to be counted. Set only while a writer is inside or waits.
pub const LISTED: u32 = 8;
/// One reader.
pub const READER: u32 = 16;
/// A count of readers to which no more are admitted. The upper half of the count is left for
/// readers that have added themselves and are then refused, so that the count can't overflow to
/// zero.
pub const FULL: u32 = 1 << 31;

/// The state and the writers' queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Writers<W: Wait, M: Memory> {
    pub state: M::Word,
    tail: M::Link<WriterNode<M>>,
    wait: PhantomData<W>,
}

/// A writer's node in the queue.
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
    /// Waits until no reader and no other writer is inside. Has Acquire ordering.
    #[inline]
    pub fn acquire(&self, node: &WriterNode<M>) {
        // Relaxed: the swap publishes them.
        node.next.store(None, Relaxed);
        node.gate.store(WAITING, Relaxed);
        // AcqRel: pairs with the Release of the exchange in `successor`, and publishes our node
        // to the swap of the thread behind us.
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

    /// `WANTED -> ACTIVE`, as soon as no thread is inside.
    #[cold]
    fn wait_as_first(&self) {
        // Relaxed: it publishes nothing.
        self.state.fetch_or(WANTED, Relaxed);
        while !self.enter() {
            W::wait::<M>(&self.state, WRITERS, None, is_free);
        }
    }

    /// Enters if no thread is inside, as the first of the queue.
    fn enter(&self) -> bool {
        // Relaxed: the exchange orders.
        let state = self.state.load(Relaxed);
        let new = state & (LISTED | PARKED) | ACTIVE;
        // Acquire: as in `acquire`.
        is_free(state) && self.state.exchange(state, new, Acquire).is_ok()
    }

    /// Takes the lock if no thread holds it or waits for it. Has Acquire ordering.
    #[inline]
    pub fn try_acquire(&self, node: &WriterNode<M>) -> bool {
        // Relaxed: the exchange publishes it.
        node.next.store(None, Relaxed);
        // AcqRel: as the swap in `acquire`.
        if !self.tail.exchange(None, Some(M::refer(node)), AcqRel) {
            return false;
        }
        let taken = self.enter();
        if !taken && let Some(next) = self.successor(node) {
            Self::let_first(next);
        }
        taken
    }

    /// Whether a writer waits behind this one, which holds the lock.
    #[inline]
    pub fn is_contended(&self, node: &WriterNode<M>) -> bool {
        // Relaxed: a hint. A link that is set stays set while the lock is held.
        node.next.load(Relaxed).is_some()
    }

    /// Ends a writer's acquisition, after the writer has left the queue. `left` maps a state to the
    /// state after the writer has left, and `ACTIVE` alone to 0. Has Release ordering. The lock may
    /// be freed after this.
    #[inline]
    pub fn release(&self, left: impl Fn(u32) -> u32) {
        // Release: pairs with the Acquire of the threads that enter.
        if self.state.exchange(ACTIVE, 0, Release).is_err() {
            self.release_to_others(left);
        }
    }

    #[cold]
    fn release_to_others(&self, left: impl Fn(u32) -> u32) {
        let address = self.state.address();
        // Relaxed: the exchange orders.
        let mut state = self.state.load(Relaxed);
        // Release: as in `release`.
        while let Err(now) = self.state.exchange(state, left(state) & !PARKED, Release) {
            state = now;
        }
        if state & PARKED != 0 {
            M::unpark(address, None, u32::MAX);
        }
    }

    /// Removes a reader from the count. Has Release ordering. The lock may be freed after this.
    #[inline]
    pub fn leave(&self) {
        let address = self.state.address();
        // Release: pairs with the Acquire of the next writer.
        let left = self.state.fetch_sub(READER, Release) - READER;
        Self::wake_writer(address, left);
    }

    /// Wakes the first writer if it sleeps and no thread is inside.
    #[inline]
    fn wake_writer(address: Address, left: u32) {
        if W::SLEEPS && left & (WANTED | PARKED) == WANTED | PARKED && is_free(left) {
            M::unpark(address, Some(WRITERS), 1);
        }
    }

    /// Waits, as the first on the list of readers, until `may_go_on` holds for the state. Has
    /// Acquire ordering.
    pub fn wait_as_reader(&self, may_go_on: impl Fn(u32) -> bool) {
        W::wait::<M>(&self.state, READERS, None, may_go_on);
    }

    /// If there are writers, removes a reader from the count, and waits until the writer that
    /// leaves last counts the reader again and clears `LISTED`. If there are no writers, the reader
    /// stays counted. Has Acquire ordering.
    pub fn wait_uncounted(&self) {
        let address = self.state.address();
        // Acquire, both: pairs with the Release of a writer that has left.
        let mut state = self.state.load(Acquire);
        while state & (ACTIVE | WANTED) != 0 {
            let left = (state - READER) | LISTED;
            // Release: as in `leave`.
            if self.state.exchange(state, left, Release).is_ok() {
                Self::wake_writer(address, left);
                return self.wait_as_reader(|state| state & LISTED == 0);
            }
            state = self.state.load(Acquire);
        }
    }

    /// Hands over the lock to a writer that waits in the queue, behind the caller.
    #[inline]
    pub fn grant(writer: M::Ref<WriterNode<M>>) {
        // SAFETY: a writer that waits stays until we hand over to it.
        W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, GRANTED);
    }

    /// Makes a writer that waits in the queue, behind the caller, the queue's first.
    #[inline]
    pub fn let_first(writer: M::Ref<WriterNode<M>>) {
        // SAFETY: as in `grant`.
        W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, FIRST);
    }

    /// The node behind the queue's head; if there is none, empties the queue and returns `None`.
    #[inline]
    pub fn successor(&self, node: &WriterNode<M>) -> Option<M::Ref<WriterNode<M>>> {
        // Acquire: pairs with the Release of the successor's link.
        let next = node.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap.
        if next.is_some() || self.tail.exchange(Some(M::refer(node)), None, Release) {
            return next;
        }
        Some(linked::<W, M, _>(&node.next))
    }
}

/// A list of readers that wait. When the first reader on the list may enter, it empties the list
/// and wakes the last reader that was on the list. Each reader that is woken wakes the one before
/// it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Readers<W: Wait, M: Memory> {
    last: M::Link<ReaderNode<M>>,
    wait: PhantomData<W>,
}

/// A reader's node in the list of those that wait.
#[derive(Debug, Default)]
pub struct ReaderNode<M: Memory> {
    gate: M::Word,
}

// SAFETY: a link and nothing else, so it may be zero when its links may.
unsafe impl<W: Wait, M: Memory> Zeroable for Readers<W, M> where M::Link<ReaderNode<M>>: Zeroable {}

impl<W: Wait, M: Memory> Readers<W, M> {
    /// Puts a reader on the list. Returns the reader before it, which the new reader has to wake
    /// later, or `None` if the new reader is the first.
    #[inline]
    pub fn push(&self, node: &ReaderNode<M>) -> Option<M::Ref<ReaderNode<M>>> {
        // Relaxed: the swap publishes it.
        node.gate.store(WAITING, Relaxed);
        // AcqRel: publishes our node to the thread that wakes us, and pairs with the swap of the
        // reader before us, which published that reader's node.
        self.last.swap(Some(M::refer(node)), AcqRel)
    }

    /// Waits until woken. Has Acquire ordering.
    #[inline]
    pub fn wait(node: &ReaderNode<M>) {
        W::wait::<M>(&node.gate, 0, None, |gate| gate == GRANTED);
    }

    /// Empties the list, and wakes the last reader that was on it. Only the first reader on the
    /// list calls this.
    pub fn wake_all(&self) {
        // Acquire: pairs with the Release in `push`.
        if let Some(last) = self.last.swap(None, Acquire) {
            Self::wake(last);
        }
    }

    /// Wakes a reader that was on the list.
    #[inline]
    pub fn wake(reader: M::Ref<ReaderNode<M>>) {
        // SAFETY: a reader that waits stays until we hand over to it.
        W::hand_over::<M>(&unsafe { M::follow(reader) }.gate, GRANTED);
    }

    /// Whether the list is empty.
    #[cfg(all(test, feature = "std"))]
    pub fn is_empty(&self) -> bool {
        self.last.load(Acquire).is_none()
    }
}
