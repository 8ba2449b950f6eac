//! Locks with a queue for each group of near processors, written plainly. Used only by
//! [`super::super::instructions`].

use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use syncline::memory::{Memory, Native};

use super::super::arena::Lock;
use super::near::{BATCH, GROUPS, Line, exchange, here};
use super::queues::{FIRST, QueueNode, QueueNodes, TimedMcs};

/// The number of groups in a tree that has two levels below the machine.
const TREE: usize = 21;

/// The index of the smallest group that contains this thread.
#[inline(always)]
fn smallest_group() -> usize {
    let mut index = 0;
    for level in 0..2 {
        if Native::is_divided(level) {
            index = index * GROUPS + 1 + Native::group(level) % GROUPS;
        }
    }
    index
}

const WAITING: u32 = 0;
const GRANTED: u32 = 2;
/// The status of a waiter that is now the first of its group, while the group does not hold the
/// lock.
const CLIMB: u32 = u32::MAX - 1;

/// A tree of MCS queues.
#[derive(Default)]
pub struct Hmcs([Line<Queue>; TREE]);

#[derive(Default)]
struct Queue {
    tail: AtomicPtr<Entry>,
    /// The group's node in the queue above.
    entry: AtomicPtr<Entry>,
}

#[derive(Default)]
struct Entry {
    next: AtomicPtr<Entry>,
    status: AtomicU32,
    /// The node for the queue above.
    above: AtomicPtr<Entry>,
}

#[derive(Default)]
pub struct Leaf {
    entry: Entry,
    index: Cell<usize>,
}

impl Lock for Hmcs {
    type Thread = Leaf;

    #[inline(always)]
    fn with<R: Send>(&self, leaf: &mut Leaf, section: impl FnOnce() -> R + Send) -> R {
        let index = smallest_group();
        leaf.index.set(index);
        self.acquire(index, &leaf.entry);
        let result = section();
        self.release(leaf.index.get(), &leaf.entry);
        result
    }
}

impl Hmcs {
    fn acquire(&self, index: usize, entry: &Entry) {
        let ours = ptr::from_ref(entry).cast_mut();
        entry.next.store(ptr::null_mut(), Relaxed);
        entry.status.store(WAITING, Relaxed);
        let previous = self.0[index].0.tail.swap(ours, AcqRel);
        if !previous.is_null() {
            // SAFETY: the node before this one lives until its thread has seen the link.
            unsafe { &*previous }.next.store(ours, Release);
            while entry.status.load(Acquire) == WAITING {
                spin_loop();
            }
            if entry.status.load(Relaxed) != CLIMB {
                return;
            }
        }
        entry.status.store(GRANTED, Relaxed);
        if index > 0 {
            let group = &self.0[index].0.entry;
            exchange(group, &entry.above);
            self.acquire((index - 1) / GROUPS, here(group));
        }
    }

    fn release(&self, index: usize, entry: &Entry) {
        if index == 0 {
            return self.leave(index, entry, GRANTED);
        }
        let status = entry.status.load(Relaxed);
        let next = entry.next.load(Acquire);
        if status < GRANTED + BATCH * 2 && !next.is_null() {
            // SAFETY: the next node lives until it is granted the lock.
            return unsafe { &*next }.status.store(status + 2, Release);
        }
        exchange(&self.0[index].0.entry, &entry.above);
        let group = here(&entry.above);
        self.leave(index, entry, CLIMB);
        self.release((index - 1) / GROUPS, group);
    }

    fn leave(&self, index: usize, entry: &Entry, status: u32) {
        let ours = ptr::from_ref(entry).cast_mut();
        let mut next = entry.next.load(Acquire);
        if next.is_null() {
            let tail = &self.0[index].0.tail;
            if tail.compare_exchange(ours, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            while next.is_null() {
                spin_loop();
                next = entry.next.load(Acquire);
            }
        }
        // SAFETY: the next node lives until its status is set.
        unsafe { &*next }.status.store(status, Release);
    }
}

/// A tree of timed queues. Here no waiter gives up.
#[derive(Default)]
pub struct TimedHmcs([Line<TimedQueue>; TREE]);

#[derive(Default)]
struct TimedQueue {
    queue: TimedMcs,
    /// The group's node in the queue above.
    above: AtomicPtr<Stand>,
}

#[derive(Default)]
struct Stand {
    nodes: QueueNodes<QueueNode>,
    above: AtomicPtr<Stand>,
}

/// The grant that makes a waiter the first of a group that holds the lock. Greater grants count the
/// hand-overs within the group.
const HELD: u32 = FIRST + 2;

#[derive(Default)]
pub struct TimedLeaf {
    stand: Stand,
    group: Cell<usize>,
}

impl Lock for TimedHmcs {
    type Thread = TimedLeaf;

    #[inline(always)]
    fn with<R: Send>(&self, leaf: &mut TimedLeaf, section: impl FnOnce() -> R + Send) -> R {
        let group = smallest_group();
        leaf.group.set(group);
        self.acquire(group, &leaf.stand);
        let result = section();
        self.release(leaf.group.get(), &leaf.stand);
        result
    }
}

impl TimedHmcs {
    fn acquire(&self, group: usize, stand: &Stand) {
        let mut granted = self.0[group].0.queue.join(&stand.nodes);
        if granted == FIRST {
            if group > 0 {
                let above = &self.0[group].0.above;
                exchange(above, &stand.above);
                self.acquire((group - 1) / GROUPS, here(above));
            }
            granted = HELD;
        }
        TimedMcs::note(&stand.nodes).store(granted, Relaxed);
    }

    fn release(&self, group: usize, stand: &Stand) {
        let TimedQueue { queue, above } = &self.0[group].0;
        if group == 0 {
            return queue.leave(&stand.nodes, HELD);
        }
        let granted = TimedMcs::note(&stand.nodes).load(Relaxed);
        if granted < HELD + BATCH * 2 && queue.pass(&stand.nodes, granted + 2) {
            return;
        }
        exchange(above, &stand.above);
        queue.leave(&stand.nodes, FIRST);
        self.release((group - 1) / GROUPS, here(&stand.above));
    }
}

/// A queue for each socket. These queues are spliced into a common queue.
#[derive(Default)]
pub struct Hclh {
    global: Line<AtomicPtr<Splice>>,
    groups: [Line<Cluster>; GROUPS],
}

#[derive(Default)]
struct Cluster {
    tail: AtomicPtr<Splice>,
    crowded: AtomicU32,
}

/// A node of a group's queue, and then of the common queue.
#[derive(Default)]
pub struct Splice {
    local: AtomicU32,
    global: AtomicU32,
    left: AtomicU32,
}

const SPLICED: u32 = 4;
/// The time for which the first waiter of a group lets others gather, in transfers of a line.
const GATHERING: u32 = 8;

impl Lock for Hclh {
    type Thread = QueueNodes<Splice>;

    #[inline(always)]
    fn with<R: Send>(
        &self,
        nodes: &mut QueueNodes<Splice>,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        self.acquire(nodes);
        let result = section();
        // SAFETY: the enqueued node belongs to this thread until it is released.
        let node = unsafe { &*nodes.enqueued() };
        if node.local.load(Relaxed) == SPLICED {
            node.global.store(GRANTED, Release);
        } else {
            node.local.store(GRANTED, Release);
        }
        result
    }
}

impl Hclh {
    #[inline(always)]
    fn acquire(&self, nodes: &QueueNodes<Splice>) {
        let group = &self.groups[Native::group(0) % GROUPS].0;
        let mine = nodes.take();
        // SAFETY: `mine` belongs to this thread until it is released. The nodes before it live
        // until this thread has left them.
        unsafe {
            (*mine).local.store(WAITING, Relaxed);
            (*mine).global.store(WAITING, Relaxed);
            (*mine).left.store(0, Relaxed);
            let before = group.tail.swap(mine, AcqRel);
            if !before.is_null() {
                while (*before).local.load(Acquire) == WAITING {
                    spin_loop();
                }
                if (*before).local.load(Relaxed) != SPLICED {
                    return nodes.keep(before);
                }
            }
            let previous = self.splice(group);
            if !before.is_null() && before != previous {
                Self::leave(nodes, before);
            }
            if !previous.is_null() {
                let state = &(*previous).global;
                group.crowded.store(u32::from(state.load(Relaxed) != GRANTED), Relaxed);
                while state.load(Acquire) != GRANTED {
                    spin_loop();
                }
                if before == previous {
                    nodes.keep(previous);
                } else {
                    Self::leave(nodes, previous);
                }
            }
        }
    }

    #[inline(always)]
    fn splice(&self, group: &Cluster) -> *mut Splice {
        if group.crowded.load(Relaxed) != 0 {
            Native::delay(GATHERING);
        }
        let last = group.tail.load(Acquire);
        assert!(!last.is_null(), "our node, or one behind it");
        let previous = self.global.0.swap(last, AcqRel);
        // SAFETY: the node's thread waits for this thread, or is this thread.
        unsafe { (*last).local.store(SPLICED, Release) };
        previous
    }

    /// # Safety
    ///
    /// The caller was behind this node in one of the queues.
    #[inline(always)]
    unsafe fn leave(nodes: &QueueNodes<Splice>, node: *mut Splice) {
        // SAFETY: the node lives until both threads have left it.
        let left = unsafe { &(*node).left };
        if left.load(Acquire) != 0 || left.swap(1, AcqRel) != 0 {
            nodes.keep(node);
        }
    }
}
