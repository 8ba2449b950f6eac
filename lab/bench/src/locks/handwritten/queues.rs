//! Locks with an order, written plainly: locks with numbers, and locks with queues whose nodes
//! outlive an acquisition. Used only by [`super::super::instructions`].

use std::arch::asm;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::super::arena::Lock;
use super::{FREE, Futex, HELD, Mcs, Node};

/// A ticket lock whose waiters fetch the line of the served number for writing.
#[derive(Default)]
pub struct PrefetchingTicket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Lock for PrefetchingTicket {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        let mine = self.next.fetch_add(2, Relaxed);
        loop {
            fetch_for_writing(&self.serving);
            if self.serving.load(Acquire) == mine {
                break;
            }
            spin_loop();
        }
        let result = section();
        fetch_for_writing(&self.serving);
        self.serving.store(self.serving.load(Relaxed).wrapping_add(2), Release);
        result
    }
}

#[inline(always)]
fn fetch_for_writing(word: &AtomicU32) {
    // SAFETY: a prefetch accesses nothing.
    unsafe { asm!("prefetchw [{}]", in(reg) word, options(nostack, preserves_flags, readonly)) };
}

const SLOTS: usize = 16;

/// Anderson's array lock.
#[derive(Default)]
pub struct Anderson {
    next: AtomicU32,
    slots: [Slot; SLOTS],
}

#[derive(Default)]
#[repr(align(128))]
struct Slot(AtomicU32);

impl Lock for Anderson {
    type Thread = u32;

    #[inline(always)]
    fn with<R: Send>(&self, ticket: &mut u32, section: impl FnOnce() -> R + Send) -> R {
        let mine = self.next.fetch_add(2, Relaxed);
        while self.slots[(mine / 2) as usize % SLOTS].0.load(Acquire) != mine {
            spin_loop();
        }
        *ticket = mine;
        let result = section();
        let next = ticket.wrapping_add(2);
        self.slots[(next / 2) as usize % SLOTS].0.store(next, Release);
        result
    }
}

/// A thread's queue nodes: the enqueued one, and a spare one. They are in `Cell`s, since a lock
/// accesses its nodes through shared references.
pub struct QueueNodes<P> {
    enqueued: Cell<*mut P>,
    spare: Cell<*mut P>,
}

impl<P> Default for QueueNodes<P> {
    fn default() -> Self {
        Self { enqueued: Cell::new(ptr::null_mut()), spare: Cell::new(ptr::null_mut()) }
    }
}

impl<P: Default> QueueNodes<P> {
    #[inline(always)]
    pub fn take(&self) -> *mut P {
        let mut node = self.spare.replace(ptr::null_mut());
        if node.is_null() {
            node = fresh();
        }
        self.enqueued.set(node);
        node
    }

    #[inline(always)]
    pub fn enqueued(&self) -> *mut P {
        self.enqueued.get()
    }

    #[inline(always)]
    pub fn keep(&self, node: *mut P) {
        let other = self.spare.replace(node);
        if !other.is_null() {
            free(other);
        }
    }
}

#[cold]
fn fresh<P: Default>() -> *mut P {
    Box::into_raw(Box::default())
}

#[cold]
fn free<P>(node: *mut P) {
    // SAFETY: the node comes from `fresh`, and no other thread has it.
    drop(unsafe { Box::from_raw(node) });
}

const WAITING: u32 = 0;
const RELEASED: u32 = 2;

/// The CLH queue lock.
#[derive(Default)]
pub struct Clh(AtomicPtr<AtomicU32>);

impl Lock for Clh {
    type Thread = QueueNodes<AtomicU32>;

    #[inline(always)]
    fn with<R: Send>(
        &self,
        nodes: &mut QueueNodes<AtomicU32>,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        let mine = nodes.take();
        // SAFETY: `mine` belongs to this thread until it is released. The previous node lives until
        // this thread has seen its release; from then on it belongs to this thread.
        unsafe { (*mine).store(WAITING, Relaxed) };
        let previous = self.0.swap(mine, AcqRel);
        if !previous.is_null() {
            // SAFETY: as above.
            while unsafe { (*previous).load(Acquire) } != RELEASED {
                spin_loop();
            }
            nodes.keep(previous);
        }
        let result = section();
        // SAFETY: as above.
        unsafe { (*nodes.enqueued()).store(RELEASED, Release) };
        result
    }
}

/// A node of a queue that waiters can leave.
#[derive(Default)]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    state: AtomicU32,
}

const LEFT: u32 = 2;
/// The grant that makes a waiter the first of the queue.
pub const FIRST: u32 = 4;

/// The MCS lock whose waiters can give up. Here none does.
#[derive(Default)]
pub struct TimedMcs(AtomicPtr<QueueNode>);

impl TimedMcs {
    #[inline(always)]
    pub fn acquire(&self, nodes: &QueueNodes<QueueNode>) {
        self.join(nodes);
    }

    /// Waits until this thread is the first of the queue. Returns the grant that made it the first.
    #[inline(always)]
    pub fn join(&self, nodes: &QueueNodes<QueueNode>) -> u32 {
        let mine = nodes.take();
        // SAFETY: `mine` belongs to this thread until the hand-over. The previous node lives until
        // its thread has seen the link.
        unsafe {
            (*mine).next.store(ptr::null_mut(), Relaxed);
            (*mine).state.store(WAITING, Relaxed);
            let previous = self.0.swap(mine, AcqRel);
            if previous.is_null() {
                return FIRST;
            }
            (*previous).next.store(mine, Release);
            while (*mine).state.load(Acquire) < FIRST {
                spin_loop();
            }
            (*mine).state.load(Relaxed)
        }
    }

    /// A word of the enqueued node, which the first waiter may use.
    #[inline(always)]
    pub fn note(nodes: &QueueNodes<QueueNode>) -> &AtomicU32 {
        // SAFETY: the enqueued node belongs to this thread until the hand-over.
        unsafe { &(*nodes.enqueued()).state }
    }

    /// Hands over to the next waiter that has not left. Returns whether there was one.
    #[inline(always)]
    pub fn pass(&self, nodes: &QueueNodes<QueueNode>, granted: u32) -> bool {
        // SAFETY: the enqueued node belongs to this thread until the hand-over, and so do the nodes
        // of waiters that have left.
        unsafe {
            loop {
                let mine = nodes.enqueued();
                let next = (*mine).next.load(Acquire);
                if next.is_null() {
                    return false;
                }
                let left = (*next).state.swap(granted, AcqRel) == LEFT;
                nodes.keep(mine);
                if !left {
                    return true;
                }
                nodes.enqueued.set(next);
            }
        }
    }

    /// Whether a thread is linked behind the holder.
    #[inline(always)]
    pub fn is_followed(&self, nodes: &QueueNodes<QueueNode>) -> bool {
        // SAFETY: the enqueued node belongs to this thread until the hand-over.
        !unsafe { (*nodes.enqueued()).next.load(Relaxed) }.is_null()
    }

    #[inline(always)]
    pub fn release(&self, nodes: &QueueNodes<QueueNode>) {
        self.leave(nodes, FIRST);
    }

    #[inline(always)]
    pub fn leave(&self, nodes: &QueueNodes<QueueNode>, granted: u32) {
        let mut mine = nodes.enqueued();
        // SAFETY: `mine` belongs to this thread until the hand-over, and so do the nodes of waiters
        // that have left. The next node lives until the hand-over to it.
        unsafe {
            let Some(mut next) = self.behind(mine) else { return nodes.keep(mine) };
            loop {
                let left = (*next).state.swap(granted, AcqRel) == LEFT;
                nodes.keep(mine);
                if !left {
                    return;
                }
                mine = next;
                let Some(one) = self.behind(mine) else { return nodes.keep(mine) };
                next = one;
            }
        }
    }

    #[inline(always)]
    unsafe fn behind(&self, mine: *mut QueueNode) -> Option<*mut QueueNode> {
        // SAFETY: our caller's promise.
        let mut next = unsafe { (*mine).next.load(Acquire) };
        if next.is_null() {
            if self.0.compare_exchange(mine, ptr::null_mut(), Release, Relaxed).is_ok() {
                return None;
            }
            while next.is_null() {
                spin_loop();
                // SAFETY: as above.
                next = unsafe { (*mine).next.load(Acquire) };
            }
        }
        Some(next)
    }
}

impl Lock for TimedMcs {
    type Thread = QueueNodes<QueueNode>;

    #[inline(always)]
    fn with<R: Send>(
        &self,
        nodes: &mut QueueNodes<QueueNode>,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        self.acquire(nodes);
        let result = section();
        self.release(nodes);
        result
    }
}

/// A node of a queue in which each waiter polls the node before its own.
#[derive(Default)]
pub struct Link {
    previous: AtomicPtr<Link>,
    state: AtomicU32,
}

/// The CLH lock whose waiters can give up. Here none does.
#[derive(Default)]
pub struct TimedClh(AtomicPtr<Link>);

impl Lock for TimedClh {
    type Thread = QueueNodes<Link>;

    #[inline(always)]
    fn with<R: Send>(&self, nodes: &mut QueueNodes<Link>, section: impl FnOnce() -> R + Send) -> R {
        let mine = nodes.take();
        // SAFETY: `mine` belongs to this thread until it is released. A node before it lives until
        // this thread has seen that the node was released.
        unsafe {
            (*mine).previous.store(ptr::null_mut(), Relaxed);
            (*mine).state.store(WAITING, Relaxed);
            let mut previous = self.0.swap(mine, AcqRel);
            while !previous.is_null() {
                while (*previous).state.load(Acquire) != RELEASED {
                    spin_loop();
                }
                let beyond = (*previous).previous.load(Relaxed);
                if beyond.is_null() {
                    nodes.keep(previous);
                } else {
                    free(previous);
                }
                previous = beyond;
            }
        }
        let result = section();
        let mine = nodes.enqueued();
        if self.0.compare_exchange(mine, ptr::null_mut(), AcqRel, Relaxed).is_ok() {
            nodes.keep(mine);
        } else {
            // SAFETY: `mine` belongs to this thread until it is released.
            unsafe { (*mine).state.store(RELEASED, Release) };
        }
        result
    }
}

const SLEEPS: u32 = 1;

/// A word that any thread may take, in front of a queue of waiters (the library's default lock).
#[derive(Default)]
pub struct Gate {
    word: AtomicU32,
    queue: Mcs,
}

impl Lock for Gate {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.contend();
        }
        let result = section();
        if self.word.fetch_sub(HELD, Release) != HELD {
            Futex::wake(&self.word);
        }
        result
    }
}

impl Gate {
    #[cold]
    fn contend(&self) {
        self.queue.with(&mut Node::default(), || {
            loop {
                let value = self.word.load(Relaxed);
                let (held, asleep) = (value & HELD != 0, value | SLEEPS);
                let new = if held { asleep } else { HELD };
                let changed = self.word.compare_exchange(value, new, Acquire, Relaxed).is_ok();
                if changed && !held {
                    return;
                }
                if changed {
                    Futex::wait(&self.word, asleep);
                }
            }
        });
    }
}
