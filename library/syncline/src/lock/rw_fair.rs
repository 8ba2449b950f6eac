//! The fair reader-writer queue lock: readers and writers wait in one queue, and readers next to
//! each other share the lock.
//!
//! As in the [MCS lock](super::Mcs) a newcomer swaps its node in at the tail, and each waiter waits
//! on its own node. A writer holds the lock at the queue's head and hands over to the node behind.
//! A reader behind a reader that is inside enters at once. When a reader that has waited enters, it
//! admits the reader behind it. Readers leave in any order, so they are counted. The first writer
//! behind them is noted, and the reader that brings the count to zero wakes that writer.
//!
//! No thread overtakes another: with a writer in the queue, later readers wait. So if writers are
//! frequent, readers seldom share. All readers write to the count, so the lock does not suit short
//! sections of many readers.
//!
//! Two races had to be closed. The first is between two neighbouring readers. The later one sets
//! `READER_BEHIND` in the node before its own, and the earlier one sets `OPEN` there when it is
//! inside. Both are bits of one word, and the thread that sets its bit second lets the later reader
//! in. The second race is between the last reader and a writer. One word announces the writer and
//! counts the readers, so exactly one thread finds that no reader is left, and lets the writer in.
//! (The paper has two words, so a writer can be woken twice or, as the paper's authors noted later,
//! at the wrong time.)
//!
//! There is no try operation. A try would have to know whether the thread at the tail is a reader
//! that is inside. Only the tail's node says that. But only the thread behind a node may read the
//! node, and a thread in the queue can't leave the queue. Behind a gate ([`RwGate`](super::RwGate))
//! the lock can be tried.
//!
//! Source: Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
//! Multiprocessors" (PPoPP'91), the fair lock with local-only spinning.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::linked::linked;
use super::raw::{RawLock, RawSharedLock};
use crate::memory::{Link, Memory, Native, Word};
use crate::wait::{Park, Wait};

/// Values of a node's gate.
const WAITING: u32 = 0;
const GRANTED: u32 = 2;

/// In a node's state: this reader is inside, and a reader behind it need not wait.
const OPEN: u32 = 1;
/// In a node's state: whether a reader or a writer stands behind it.
const READER_BEHIND: u32 = 2;
const WRITER_BEHIND: u32 = 4;

/// In the count of readers: a writer waits until no reader is left.
const WRITER: u32 = 1;
/// One reader.
const READER: u32 = 2;
/// A count of readers at which a reader that counts itself is refused. The upper half of the count
/// is left for readers that the thread before them counts. Each reader keeps a node, and 2^30
/// nodes, for example of guards that were forgotten, fill 128 GB.
const FULL: u32 = 1 << 31;

/// The fair reader-writer queue lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FairRw<W: Wait = Park, M: Memory = Native> {
    tail: M::Link<Node<M>>,
    /// The writer that the last reader wakes.
    first: M::Link<Node<M>>,
    readers: M::Word,
    wait: PhantomData<W>,
}

/// A node of the queue.
#[derive(Debug, Default)]
pub struct Node<M: Memory> {
    next: M::Link<Self>,
    gate: M::Word,
    state: M::Word,
}

// SAFETY: links and a word, so it may be zero when those may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for FairRw<W, M> where
    M::Link<Node<M>>: Zeroable
{
}

// SAFETY: the swaps of `tail` put acquisitions in an order. A writer waits until the writer before
// it hands over, or until all readers before it have left. Those readers admit no reader that is
// behind the writer. What readers did is visible to the writer through `readers`. What a writer did
// is visible to the threads behind it through their gates, or through `tail` if the queue was
// empty.
unsafe impl<W: Wait, M: Memory> RawLock for FairRw<W, M> {
    type Memory = M;
    type Node = Node<M>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<M>) {
        match self.enqueue(node) {
            Some(previous) => {
                // Relaxed: the link publishes it.
                previous.state.fetch_or(WRITER_BEHIND, Relaxed);
                // Release: pairs with the Acquire in `successor`.
                previous.next.store(Some(M::refer(node)), Release);
            }
            // The queue is empty, but readers that have left it may still be counted. All threads
            // that could follow them stand behind us. Acquire: pairs with the readers' Release.
            None if self.readers.load(Acquire) == 0 => return,
            None => {
                // Relaxed: the addition publishes it.
                self.first.store(Some(M::refer(node)), Relaxed);
                // AcqRel: pairs with the AcqRel in `release_shared`, both ways.
                if self.readers.fetch_add(WRITER, AcqRel) == 0 {
                    // Relaxed: no thread reads it before we hand over.
                    self.readers.store(0, Relaxed);
                    return;
                }
            }
        }
        W::wait::<M>(&node.gate, 0, None, |gate| gate == GRANTED);
    }

    #[inline]
    unsafe fn release(&self, node: &Node<M>) {
        if let Some(next) = self.successor(node) {
            // Relaxed: the link, which we have seen, publishes it.
            if node.state.load(Relaxed) & READER_BEHIND != 0 {
                // Relaxed: the hand-over publishes it.
                self.readers.fetch_add(READER, Relaxed);
            }
            // SAFETY: a waiter stays until we hand over to it.
            W::hand_over::<M>(&unsafe { M::follow(next) }.gate, GRANTED);
        }
    }
}

// SAFETY: as above. A reader enters when the queue is empty, when a reader before it is inside, or
// when the thread before it admits it. In each case it is counted before any thread behind it can
// be.
unsafe impl<W: Wait, M: Memory> RawSharedLock for FairRw<W, M> {
    type SharedNode = Node<M>;

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 1,073,741,824 readers are inside.
    #[inline]
    unsafe fn acquire_shared(&self, node: &Node<M>) {
        let mut readers = 0;
        match self.enqueue(node) {
            None => {
                // Relaxed, here and below: the nodes and `tail` publish it to the next thread.
                readers = self.readers.fetch_add(READER, Relaxed);
            }
            Some(previous) => {
                // AcqRel: pairs with the AcqRel by which `previous` sets `OPEN`; what the writer
                // before `previous` did is visible to us, as to `previous`.
                let open = previous.state.fetch_or(READER_BEHIND, AcqRel) & OPEN != 0;
                if open {
                    readers = self.readers.fetch_add(READER, Relaxed);
                }
                // Release: pairs with the Acquire in `successor`. After the link, `previous` may
                // leave. If it was inside, it must not leave before we were counted.
                previous.next.store(Some(M::refer(node)), Release);
                if !open {
                    W::wait::<M>(&node.gate, 0, None, |gate| gate == GRANTED);
                }
            }
        }
        // AcqRel: pairs with the AcqRel by which a reader behind us looks for `OPEN`.
        if node.state.fetch_or(OPEN, AcqRel) & READER_BEHIND != 0 {
            let next = Self::linked(node);
            self.readers.fetch_add(READER, Relaxed);
            // SAFETY: a waiter stays until we hand over to it.
            W::hand_over::<M>(&unsafe { M::follow(next) }.gate, GRANTED);
        }
        if readers & FULL != 0 {
            // SAFETY: we share the lock, with this node.
            unsafe { self.refuse(node) };
        }
    }

    #[inline]
    unsafe fn release_shared(&self, node: &Node<M>) {
        let mut leaving = READER;
        if let Some(next) = self.successor(node) {
            // Relaxed: the link, which we have seen, publishes it.
            if node.state.load(Relaxed) & WRITER_BEHIND != 0 {
                // Relaxed: the subtraction publishes it.
                self.first.store(Some(next), Relaxed);
                leaving -= WRITER;
            }
        }
        // AcqRel: our section and the sections of the readers that left before us come before the
        // writer's section. And if one of these readers has noted the writer, we see the note.
        if self.readers.fetch_sub(leaving, AcqRel).wrapping_sub(leaving) == WRITER {
            self.wake_writer();
        }
    }
}

impl<W: Wait, M: Memory> FairRw<W, M> {
    /// Puts a node at the end of the queue. Returns the node before it. That node stays until it
    /// has a link to this one.
    #[inline]
    fn enqueue(&self, node: &Node<M>) -> Option<&Node<M>> {
        // Relaxed: the swap publishes them.
        node.next.store(None, Relaxed);
        node.gate.store(WAITING, Relaxed);
        node.state.store(0, Relaxed);
        // AcqRel: pairs with the Release of the exchange in `successor`, and publishes our node to
        // the swap of the thread behind us.
        let previous = self.tail.swap(Some(M::refer(node)), AcqRel);
        // SAFETY: the node before ours stays until its release has seen our link.
        previous.map(|previous| unsafe { M::follow(previous) })
    }

    /// Takes `node` out of the queue. Returns the node behind it, or `None` if the queue is empty
    /// now. If both are readers' nodes, the node behind may already be gone.
    #[inline]
    fn successor(&self, node: &Node<M>) -> Option<M::Ref<Node<M>>> {
        // Release: pairs with the Acquire of the next swap.
        let last = node.next.load(Relaxed).is_none()
            && self.tail.exchange(Some(M::refer(node)), None, Release);
        (!last).then(|| Self::linked(node))
    }

    /// The node behind `node`; there must be one. If that node is not linked yet, waits until it
    /// is.
    #[inline]
    fn linked(node: &Node<M>) -> M::Ref<Node<M>> {
        // Acquire: pairs with the Release of the successor's link.
        match node.next.load(Acquire) {
            Some(next) => next,
            None => linked::<W, M, _>(&node.next),
        }
    }

    /// Leaves at once and panics, because there are too many readers. A reader that was counted by
    /// the thread before it is not refused: such readers are waiting threads, and the upper half of
    /// the count has room for them.
    ///
    /// # Safety
    ///
    /// The lock is shared, with this node.
    #[cold]
    unsafe fn refuse(&self, node: &Node<M>) {
        // SAFETY: our caller's promise.
        unsafe { self.release_shared(node) };
        panic!("more readers share the lock than it can count");
    }

    /// Hands over to the writer that waits for the readers to leave. The last of these readers
    /// calls this.
    #[cold]
    fn wake_writer(&self) {
        // Relaxed, both: the subtraction has ordered them, and no other thread reads these words
        // before the hand-over to the writer.
        self.readers.store(0, Relaxed);
        if let Some(writer) = self.first.load(Relaxed) {
            // SAFETY: a writer that waits stays until we hand over to it.
            W::hand_over::<M>(&unsafe { M::follow(writer) }.gate, GRANTED);
        }
    }
}

impl<W: Wait, M: Memory> Described for FairRw<W, M> {
    const ABOUT: About = About {
        idea: "readers and writers in one queue; neighbouring readers share",
        algorithm: Algorithm::ReaderWriter,
        order: Order::Fifo,
        numa: false,
        advice: "long sections, when neither readers nor writers may starve",
        source: "Mellor-Crummey and Scott, PPoPP'91",
    };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::sync::atomic::AtomicPtr;
    use std::panic::catch_unwind;
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    /// Waits until the queue's tail is no longer `before`, and returns the tail.
    fn tail_after(lock: &FairRw, before: *mut Node<Native>) -> *mut Node<Native> {
        loop {
            let tail = AtomicPtr::load(&lock.tail, Acquire);
            if tail != before {
                return tail;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn refuses_readers_that_it_cannot_count() {
        let lock = <FairRw>::default();
        let (node, writer) = (Node::default(), Node::default());
        lock.readers.store(FULL, Relaxed);
        // SAFETY: the nodes stay on this stack; the count is made up.
        unsafe {
            assert!(catch_unwind(|| lock.acquire_shared(&Node::default())).is_err());
            assert_eq!(lock.readers.load(Relaxed), FULL);
            // The refusal is the same with a reader in the queue.
            lock.readers.store(FULL - READER, Relaxed);
            lock.acquire_shared(&node);
            assert!(catch_unwind(|| lock.acquire_shared(&Node::default())).is_err());
            assert_eq!(lock.readers.load(Relaxed), FULL);
            lock.release_shared(&node);
            lock.readers.store(0, Relaxed);
            lock.acquire(&writer);
            lock.release(&writer);
        }
    }

    #[test]
    fn serves_in_order_of_arrival() {
        let (lock, log) = (FairRw::default(), Mutex::new(std::vec::Vec::new()));
        let (lock, log) = (&lock, &log);
        let mine = Node::default();
        // SAFETY: the nodes stay on their stacks from the acquisition to the release.
        unsafe { lock.acquire_shared(&mine) };
        thread::scope(|scope| {
            let mut tail = (&raw const mine).cast_mut();
            for name in ["writer", "reader", "next writer"] {
                scope.spawn(move || {
                    let node = Node::default();
                    // SAFETY: as above.
                    unsafe {
                        if name == "reader" {
                            lock.acquire_shared(&node);
                            log.lock().unwrap().push(name);
                            lock.release_shared(&node);
                        } else {
                            lock.acquire(&node);
                            log.lock().unwrap().push(name);
                            lock.release(&node);
                        }
                    }
                });
                tail = tail_after(lock, tail);
            }
            log.lock().unwrap().push("first");
            // SAFETY: as above.
            unsafe { lock.release_shared(&mine) };
        });
        assert_eq!(*log.lock().unwrap(), ["first", "writer", "reader", "next writer"]);
    }
}
