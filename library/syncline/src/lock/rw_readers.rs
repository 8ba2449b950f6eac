//! The reader-preference queue lock: readers enter unless a writer is inside.
//!
//! A reader counts itself in one word. If the word shows an active writer, the reader joins the
//! list of waiting readers. When that writer leaves, the readers on the list enter before another
//! writer does. Writers wait in a queue, and the first of the queue waits until there are no
//! readers, not even waiting ones. So readers share as much as they can, and a steady stream of
//! readers starves the writers. A reader enters with one atomic addition and leaves with another,
//! but all readers write to the same word.
//!
//! A reader that has counted itself keeps later writers out, even while it waits for the writer
//! inside. So when the first reader on the list sees that the writer has left, all readers on the
//! list may enter.
//!
//! Source: Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
//! Multiprocessors" (PPoPP'91), the reader-preference lock with local-only spinning. In the paper
//! even the first reader and the first writer spin on their own nodes. The thread that leaves finds
//! them through the lock after it has admitted others. So in the paper an admitted thread must not
//! free the lock.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::Contended;
use super::raw::{RawLock, RawSharedLock, TryLock, TrySharedLock};
use super::rw_queues::{ACTIVE, FULL, READER, ReaderNode, Readers, WriterNode, Writers};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Park, Wait};

/// The reader-preference queue lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ReadersFirst<W: Wait = Park, M: Memory = Native> {
    writers: Writers<W, M>,
    readers: Readers<W, M>,
}

// SAFETY: both fields may be zero when their words and links may.
unsafe impl<W: Wait, M: Memory> Zeroable for ReadersFirst<W, M>
where
    Writers<W, M>: Zeroable,
    Readers<W, M>: Zeroable,
{
}

// SAFETY: a writer returns once the state has changed from no readers to `ACTIVE` for it, or once
// the writer before it has handed `ACTIVE` over. Only its release undoes `ACTIVE` or hands it over.
// What earlier sections wrote is visible to it through the state, whose changes are all atomic
// additions and exchanges (Release in both releases, Acquire when a thread enters), or through the
// hand-over.
unsafe impl<W: Wait, M: Memory> RawLock for ReadersFirst<W, M> {
    type Memory = M;
    type Node = WriterNode<M>;

    #[inline]
    unsafe fn acquire(&self, node: &WriterNode<M>) {
        self.writers.acquire(node);
    }

    #[inline]
    unsafe fn release(&self, node: &WriterNode<M>) {
        // The writer leaves the queue before it changes the state, since the lock may be freed
        // after the state has changed.
        if let Some(next) = self.writers.successor(node) {
            // Relaxed: readers that have come just now may as well have come later.
            if self.writers.state.load(Relaxed) < READER {
                return Writers::<W, M>::grant(next);
            }
            Writers::<W, M>::let_first(next);
        }
        self.writers.release(|state| state - ACTIVE);
    }
}

// SAFETY: a reader returns when it is counted and no writer is active; none can become active
// before the reader leaves. What a writer's section wrote is visible to it through the state, or
// through the thread that wakes it.
unsafe impl<W: Wait, M: Memory> RawSharedLock for ReadersFirst<W, M> {
    type SharedNode = ReaderNode<M>;

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 134,217,728 readers are inside or wait.
    #[inline]
    unsafe fn acquire_shared(&self, node: &ReaderNode<M>) {
        // Acquire: pairs with the Release in `release`.
        let state = self.writers.state.fetch_add(READER, Acquire);
        if state & (ACTIVE | FULL) != 0 {
            self.wait_shared(node, state);
        }
    }

    #[inline]
    unsafe fn release_shared(&self, _: &ReaderNode<M>) {
        self.writers.leave();
    }
}

impl<W: Wait, M: Memory> ReadersFirst<W, M> {
    #[cold]
    fn wait_shared(&self, node: &ReaderNode<M>, state: u32) {
        if state & FULL != 0 {
            // SAFETY: we have counted ourselves just now.
            unsafe { self.release_shared(node) };
            panic!("more readers share the lock than it can count");
        }
        let before = self.readers.push(node);
        if before.is_none() {
            self.writers.wait_as_reader(|state| state & ACTIVE == 0);
            self.readers.wake_all();
        }
        Readers::<W, M>::wait(node);
        if let Some(before) = before {
            Readers::<W, M>::wake(before);
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for ReadersFirst<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &WriterNode<M>) -> bool {
        self.writers.try_acquire(node)
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TrySharedLock for ReadersFirst<W, M> {
    #[inline]
    unsafe fn try_acquire_shared(&self, _: &ReaderNode<M>) -> bool {
        // Relaxed: the exchange orders.
        let mut state = self.writers.state.load(Relaxed);
        while state & (ACTIVE | FULL) == 0 {
            // Acquire: as in `acquire_shared`.
            match self.writers.state.exchange(state, state + READER, Acquire) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }
}

// SAFETY: a writer behind the holder waits until the holder leaves.
unsafe impl<W: Wait, M: Memory> Contended for ReadersFirst<W, M> {
    #[inline]
    unsafe fn is_contended(&self, node: &WriterNode<M>) -> bool {
        self.writers.is_contended(node)
    }
}

impl<W: Wait, M: Memory> Described for ReadersFirst<W, M> {
    const ABOUT: About = About {
        idea: "a count of readers, a list of those that wait, and a queue of writers",
        algorithm: Algorithm::ReaderWriter,
        order: Order::ReadersFirst,
        numa: false,
        advice: "many readers that must not wait behind waiting writers",
        source: "Mellor-Crummey and Scott, PPoPP'91",
    };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Mutex;
    use std::thread;

    use super::super::rw_queues::WANTED;
    use super::*;
    use crate::wait::PARKED;

    fn until(done: impl Fn() -> bool) {
        while !done() {
            thread::yield_now();
        }
    }

    #[test]
    fn readers_pass_a_waiting_writer() {
        let lock = <ReadersFirst>::default();
        let (reader, another) = Default::default();
        let state = &lock.writers.state;
        // SAFETY: the nodes stay on their stacks from the acquisition to the release.
        unsafe { lock.acquire_shared(&reader) };
        thread::scope(|scope| {
            scope.spawn(|| {
                let node = WriterNode::default();
                // SAFETY: as above.
                unsafe {
                    lock.acquire(&node);
                    lock.release(&node);
                }
            });
            until(|| state.load(Relaxed) & WANTED != 0);
            // SAFETY: as above.
            unsafe {
                lock.acquire_shared(&another);
                assert!(lock.try_acquire_shared(&ReaderNode::default()));
                assert_eq!(state.load(Relaxed) & !PARKED, 3 * READER + WANTED);
                lock.release_shared(&ReaderNode::default());
                lock.release_shared(&another);
                lock.release_shared(&reader);
            }
        });
        assert_eq!(state.load(Relaxed), 0);
    }

    #[test]
    fn a_writer_lets_readers_in_before_the_next() {
        let (lock, log) = (<ReadersFirst>::default(), Mutex::new(std::vec::Vec::new()));
        let first = WriterNode::default();
        // SAFETY: the nodes stay on their stacks from the acquisition to the release.
        unsafe { lock.acquire(&first) };
        thread::scope(|scope| {
            scope.spawn(|| {
                let node = WriterNode::default();
                // SAFETY: as above.
                unsafe { lock.acquire(&node) };
                log.lock().unwrap().push("writer");
                // SAFETY: as above.
                unsafe { lock.release(&node) };
            });
            until(|| lock.writers.is_contended(&first));
            scope.spawn(|| {
                let node = ReaderNode::default();
                // SAFETY: as above.
                unsafe { lock.acquire_shared(&node) };
                log.lock().unwrap().push("reader");
                // SAFETY: as above.
                unsafe { lock.release_shared(&node) };
            });
            until(|| lock.writers.state.load(Relaxed) >= READER);
            // SAFETY: as above.
            unsafe { lock.release(&first) };
        });
        assert_eq!(*log.lock().unwrap(), ["reader", "writer"]);
    }

    #[test]
    fn refuses_readers_that_it_cannot_count() {
        let lock = <ReadersFirst>::default();
        lock.writers.state.store(FULL, Relaxed);
        let node = ReaderNode::default();
        // SAFETY: the node stays on this stack.
        unsafe {
            assert!(!lock.try_acquire_shared(&node));
            assert!(catch_unwind(|| lock.acquire_shared(&ReaderNode::default())).is_err());
        }
        assert_eq!(lock.writers.state.load(Relaxed), FULL);
    }
}
