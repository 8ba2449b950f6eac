//! Reader-writer locks, written plainly. Used only by [`super::super::instructions`].

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::super::arena::Lock;
use super::Futex;

const WAITING: u32 = 0;
const GRANTED: u32 = 2;

/// A reader-writer lock in one word, whose waiters sleep.
#[derive(Default)]
pub struct CompactRw(AtomicU32);

const SLEEPS: u32 = 1;
const ONE_WRITES: u32 = 1 << 1;
const ONE_READS: u32 = 1 << 13;

impl Lock for CompactRw {
    const SHARED: bool = true;

    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.0.compare_exchange(0, ONE_WRITES, Acquire, Relaxed).is_err() {
            self.contend(|value| value & !SLEEPS == 0, ONE_WRITES);
        }
        let result = section();
        if self.0.compare_exchange(ONE_WRITES, 0, Release, Relaxed).is_err() {
            self.leave(ONE_WRITES);
        }
        result
    }

    #[inline(always)]
    fn share<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.0.compare_exchange(0, ONE_READS, Acquire, Relaxed).is_err() {
            self.contend(|value| value & ONE_WRITES == 0, ONE_READS);
        }
        let result = section();
        let rest = self.0.fetch_sub(ONE_READS, Release) - ONE_READS;
        if rest & SLEEPS != 0 && rest < ONE_READS {
            self.leave(0);
        }
        result
    }
}

impl CompactRw {
    #[cold]
    fn contend(&self, may_enter: impl Fn(u32) -> bool, share: u32) {
        loop {
            let value = self.0.load(Relaxed);
            let enters = may_enter(value);
            let new = if enters { value + share } else { value | SLEEPS };
            let changed = self.0.compare_exchange(value, new, Acquire, Relaxed).is_ok();
            if changed && enters {
                return;
            }
            if changed {
                Futex::wait(&self.0, new);
            }
        }
    }

    /// Gives back a share. If sleepers have marked the word, removes the mark and wakes all
    /// sleepers.
    #[cold]
    fn leave(&self, share: u32) {
        self.0.fetch_sub(share, Release);
        if self.0.fetch_and(!SLEEPS, Relaxed) & SLEEPS != 0 {
            Futex::wake_all(&self.0);
        }
    }
}

/// A reader-writer lock with one queue for readers and writers.
#[derive(Default)]
pub struct FairRw {
    tail: AtomicPtr<QueueNode>,
    first: AtomicPtr<QueueNode>,
    readers: AtomicU32,
}

#[derive(Default)]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    gate: AtomicU32,
    state: AtomicU32,
}

const OPEN: u32 = 1;
const READER_BEHIND: u32 = 2;
const WRITER_BEHIND: u32 = 4;
const WRITER: u32 = 1;
const READER: u32 = 2;
/// The bit that the count of readers must not reach.
const FULL: u32 = 1 << 31;

impl QueueNode {
    fn wait(&self) {
        while self.gate.load(Acquire) != GRANTED {
            spin_loop();
        }
    }

    fn linked(&self) -> *mut QueueNode {
        loop {
            let next = self.next.load(Acquire);
            if !next.is_null() {
                return next;
            }
            spin_loop();
        }
    }

    /// # Safety
    ///
    /// The node's thread waits.
    unsafe fn grant(node: *mut QueueNode) {
        // SAFETY: the node lives until this store.
        unsafe { &*node }.gate.store(GRANTED, Release);
    }
}

impl Lock for FairRw {
    const SHARED: bool = true;

    type Thread = (QueueNode, QueueNode);

    #[inline(always)]
    fn with<R: Send>(&self, (node, _): &mut Self::Thread, section: impl FnOnce() -> R + Send) -> R {
        self.acquire(node);
        let result = section();
        if let Some(next) = self.behind(node) {
            if node.state.load(Relaxed) & READER_BEHIND != 0 {
                self.readers.fetch_add(READER, Relaxed);
            }
            // SAFETY: the next node is behind this one, so its thread waits.
            unsafe { QueueNode::grant(next) };
        }
        result
    }

    #[inline(always)]
    fn share<R: Send>(
        &self,
        (_, node): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        self.acquire_shared(node);
        let result = section();
        let mut leaving = READER;
        if let Some(next) = self.behind(node)
            && node.state.load(Relaxed) & WRITER_BEHIND != 0
        {
            self.first.store(next, Relaxed);
            leaving -= WRITER;
        }
        if self.readers.fetch_sub(leaving, AcqRel).wrapping_sub(leaving) == WRITER {
            self.wake_writer();
        }
        result
    }
}

impl FairRw {
    #[inline(always)]
    fn enqueue(&self, node: &QueueNode) -> *mut QueueNode {
        node.next.store(ptr::null_mut(), Relaxed);
        node.gate.store(WAITING, Relaxed);
        node.state.store(0, Relaxed);
        self.tail.swap(ptr::from_ref(node).cast_mut(), AcqRel)
    }

    #[inline(always)]
    fn acquire(&self, node: &QueueNode) {
        let ours = ptr::from_ref(node).cast_mut();
        let previous = self.enqueue(node);
        if !previous.is_null() {
            // SAFETY: the previous node lives until its thread has seen the link.
            let previous = unsafe { &*previous };
            previous.state.fetch_or(WRITER_BEHIND, Relaxed);
            previous.next.store(ours, Release);
        } else if self.readers.load(Acquire) == 0 {
            return;
        } else {
            self.first.store(ours, Relaxed);
            if self.readers.fetch_add(WRITER, AcqRel) == 0 {
                self.readers.store(0, Relaxed);
                return;
            }
        }
        node.wait();
    }

    #[inline(always)]
    fn acquire_shared(&self, node: &QueueNode) {
        let previous = self.enqueue(node);
        let mut readers = 0;
        if previous.is_null() {
            readers = self.readers.fetch_add(READER, Relaxed);
        } else {
            // SAFETY: the previous node lives until its thread has seen the link.
            let previous = unsafe { &*previous };
            let open = previous.state.fetch_or(READER_BEHIND, AcqRel) & OPEN != 0;
            if open {
                readers = self.readers.fetch_add(READER, Relaxed);
            }
            previous.next.store(ptr::from_ref(node).cast_mut(), Release);
            if !open {
                node.wait();
            }
        }
        if node.state.fetch_or(OPEN, AcqRel) & READER_BEHIND != 0 {
            let next = node.linked();
            self.readers.fetch_add(READER, Relaxed);
            // SAFETY: the next node is behind this one, so its thread waits.
            unsafe { QueueNode::grant(next) };
        }
        assert!(readers & FULL == 0, "more readers than can be counted");
    }

    #[inline(always)]
    fn behind(&self, node: &QueueNode) -> Option<*mut QueueNode> {
        let ours = ptr::from_ref(node).cast_mut();
        if node.next.load(Relaxed).is_null()
            && self.tail.compare_exchange(ours, ptr::null_mut(), Release, Relaxed).is_ok()
        {
            return None;
        }
        Some(node.linked())
    }

    #[cold]
    fn wake_writer(&self) {
        self.readers.store(0, Relaxed);
        // SAFETY: a writer that is recorded in `first` waits.
        unsafe { QueueNode::grant(self.first.load(Relaxed)) };
    }
}
