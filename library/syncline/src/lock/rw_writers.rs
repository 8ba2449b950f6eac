//! The writer-preference queue lock: readers enter unless a writer is inside or waits.
//!
//! A reader counts itself in one word. If the word shows a writer, the reader joins the list of
//! readers that wait, and removes itself from the count. Writers wait in a queue and hand over to
//! each other. The writer that leaves the queue empty admits the readers. So updates are seen soon,
//! and writers that keep the queue filled starve the readers. If writers are frequent, use the
//! [fair lock](super::FairRw).
//!
//! The first reader on the list sets the bit `LISTED` in the state. The last writer to leave counts
//! that reader and clears the bit in the same step by which it leaves, so no writer gets in
//! between. The first reader wakes the last one on the list, and with the wake-up passes its own
//! count on to that one. Each woken reader counts the reader before it and then wakes that reader,
//! until the first reader is counted again. All readers on the list enter together, even if a
//! writer arrives meanwhile.
//!
//! Source: Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
//! Multiprocessors" (PPoPP'91), the writer-preference lock with local-only spinning. In the paper
//! each reader goes through the list; here only those that find a writer do, so that an undisturbed
//! reader enters with only one addition.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::Contended;
use super::raw::{RawLock, RawSharedLock, TryLock, TrySharedLock};
use super::rw_queues::{
    ACTIVE, FULL, LISTED, READER, ReaderNode, Readers, WANTED, WriterNode, Writers,
};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Park, Wait};

/// The writer-preference queue lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct WritersFirst<W: Wait = Park, M: Memory = Native> {
    writers: Writers<W, M>,
    readers: Readers<W, M>,
}

// SAFETY: both fields may be zero when their words and links may.
unsafe impl<W: Wait, M: Memory> Zeroable for WritersFirst<W, M>
where
    Writers<W, M>: Zeroable,
    Readers<W, M>: Zeroable,
{
}

// SAFETY: the state changes from no readers to `ACTIVE` for a writer, which holds the lock until it
// undoes that or hands over to the next writer. What a section wrote is visible to later ones
// through the hand-over, or through the state, whose changes are all atomic additions and
// exchanges: Release when a thread leaves, Acquire when one enters.
unsafe impl<W: Wait, M: Memory> RawLock for WritersFirst<W, M> {
    type Memory = M;
    type Node = WriterNode<M>;

    #[inline]
    unsafe fn acquire(&self, node: &WriterNode<M>) {
        self.writers.acquire(node);
    }

    #[inline]
    unsafe fn release(&self, node: &WriterNode<M>) {
        if let Some(next) = self.writers.successor(node) {
            Writers::<W, M>::grant(next);
        } else {
            self.writers.release(|state| {
                let counted = if state & (LISTED | WANTED) == LISTED { READER - LISTED } else { 0 };
                state - ACTIVE + counted
            });
        }
    }
}

// SAFETY: a reader returns when it is counted and no writer is active; none can become active
// before the reader leaves. What a writer's section wrote is visible to the reader through the
// state, or through the thread that wakes it.
unsafe impl<W: Wait, M: Memory> RawSharedLock for WritersFirst<W, M> {
    type SharedNode = ReaderNode<M>;

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 134,217,728 readers are inside.
    #[inline]
    unsafe fn acquire_shared(&self, node: &ReaderNode<M>) {
        // Acquire: pairs with the Release of a writer's release.
        let state = self.writers.state.fetch_add(READER, Acquire);
        if state & (ACTIVE | WANTED | FULL) != 0 {
            self.wait_shared(node, state);
        }
    }

    #[inline]
    unsafe fn release_shared(&self, _: &ReaderNode<M>) {
        self.writers.leave();
    }
}

impl<W: Wait, M: Memory> WritersFirst<W, M> {
    #[cold]
    fn wait_shared(&self, node: &ReaderNode<M>, state: u32) {
        if state & FULL != 0 {
            self.writers.leave();
            panic!("more readers share the lock than it can count");
        }
        let before = self.readers.push(node);
        if before.is_none() {
            self.writers.wait_uncounted();
            self.readers.wake_all();
        } else {
            self.writers.leave();
        }
        Readers::<W, M>::wait(node);
        if let Some(before) = before {
            // Relaxed: we are counted, so no writer is active when the reader before us enters.
            self.writers.state.fetch_add(READER, Relaxed);
            Readers::<W, M>::wake(before);
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for WritersFirst<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, node: &WriterNode<M>) -> bool {
        self.writers.try_acquire(node)
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TrySharedLock for WritersFirst<W, M> {
    #[inline]
    unsafe fn try_acquire_shared(&self, _: &ReaderNode<M>) -> bool {
        // Relaxed: the exchange orders.
        let mut state = self.writers.state.load(Relaxed);
        while state & (ACTIVE | WANTED | FULL) == 0 {
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
unsafe impl<W: Wait, M: Memory> Contended for WritersFirst<W, M> {
    #[inline]
    unsafe fn is_contended(&self, node: &WriterNode<M>) -> bool {
        self.writers.is_contended(node)
    }
}

impl<W: Wait, M: Memory> Described for WritersFirst<W, M> {
    const ABOUT: About = About {
        idea: "a count of readers, a list of those that wait, and a queue of writers, which go first",
        algorithm: Algorithm::ReaderWriter,
        order: Order::WritersFirst,
        numa: false,
        advice: "many readers and rare writers whose updates should be seen soon",
        source: "Mellor-Crummey and Scott, PPoPP'91",
    };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    fn until(done: impl Fn() -> bool) {
        while !done() {
            thread::yield_now();
        }
    }

    /// Enters as a writer if `name` is "writer", else as a reader, and logs the name while inside.
    fn visit(lock: &WritersFirst, log: &Mutex<std::vec::Vec<&str>>, name: &'static str) {
        let (writer, reader) = (WriterNode::default(), ReaderNode::default());
        // SAFETY: the nodes stay on this stack from the acquisition to the release.
        unsafe {
            if name == "writer" {
                lock.acquire(&writer);
                log.lock().unwrap().push(name);
                lock.release(&writer);
            } else {
                lock.acquire_shared(&reader);
                log.lock().unwrap().push(name);
                lock.release_shared(&reader);
            }
        }
    }

    #[test]
    fn readers_wait_for_a_waiting_writer() {
        let (lock, log) = (WritersFirst::default(), Mutex::default());
        let mine = ReaderNode::default();
        // SAFETY: the node stays on this stack from the acquisition to the release.
        unsafe { lock.acquire_shared(&mine) };
        thread::scope(|scope| {
            scope.spawn(|| visit(&lock, &log, "writer"));
            until(|| lock.writers.state.load(Relaxed) & WANTED != 0);
            // SAFETY: as above.
            assert!(!unsafe { lock.try_acquire_shared(&ReaderNode::default()) });
            scope.spawn(|| visit(&lock, &log, "reader"));
            until(|| !lock.readers.is_empty());
            // SAFETY: as above.
            unsafe { lock.release_shared(&mine) };
        });
        assert_eq!(*log.lock().unwrap(), ["writer", "reader"]);
        assert_eq!(lock.writers.state.load(Relaxed), 0);
    }

    #[test]
    fn a_writer_hands_over_to_the_next_before_readers() {
        let (lock, log) = (WritersFirst::default(), Mutex::default());
        let mine = WriterNode::default();
        // SAFETY: the node stays on this stack from the acquisition to the release.
        unsafe { lock.acquire(&mine) };
        thread::scope(|scope| {
            scope.spawn(|| visit(&lock, &log, "reader"));
            until(|| !lock.readers.is_empty());
            scope.spawn(|| visit(&lock, &log, "writer"));
            until(|| lock.writers.is_contended(&mine));
            // SAFETY: as above.
            unsafe { lock.release(&mine) };
        });
        assert_eq!(*log.lock().unwrap(), ["writer", "reader"]);
    }

    #[test]
    fn refuses_readers_that_it_cannot_count() {
        let lock = <WritersFirst>::default();
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
