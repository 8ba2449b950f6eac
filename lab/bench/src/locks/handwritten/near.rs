//! Locks that prefer near waiters, written plainly. The number of a thread's group of near
//! processors comes from the library, because `core` does not know it. Used only by
//! [`super::super::instructions`].

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU32};

use syncline::memory::{Memory, Native};

use super::super::arena::Lock;
use super::queues::{FIRST, QueueNode, QueueNodes, TimedMcs};
use super::{Mcs, Node, Ticket, Ttas};

pub const GROUPS: usize = 4;
/// The most consecutive hand-overs within a group while others wait.
pub const BATCH: u32 = 64;

/// A value on lines of its own.
#[derive(Default)]
#[repr(align(128))]
pub struct Line<T>(pub T);

/// A ticket lock for each socket, and one among the sockets.
#[derive(Default)]
pub struct HierarchicalTicket {
    global: Line<Ticket>,
    groups: [Line<TicketGroup>; GROUPS],
}

#[derive(Default)]
struct TicketGroup {
    local: Ticket,
    passes: AtomicU32,
}

impl Lock for HierarchicalTicket {
    type Thread = Cell<usize>;

    #[inline(always)]
    fn with<R: Send>(&self, near: &mut Cell<usize>, section: impl FnOnce() -> R + Send) -> R {
        near.set(Native::group(0) % GROUPS);
        let group = &self.groups[near.get()].0;
        group.local.acquire();
        if group.passes.load(Relaxed) == 0 {
            self.global.0.acquire();
        }
        let result = section();
        let group = &self.groups[near.get()].0;
        let passes = group.passes.load(Relaxed);
        let served = group.local.serving.load(Relaxed) & !1;
        if passes < BATCH && group.local.next.load(Relaxed) != served.wrapping_add(2) {
            group.passes.store(passes + 1, Relaxed);
            group.local.release();
        } else {
            group.passes.store(0, Relaxed);
            group.local.release();
            self.global.0.release();
        }
        result
    }
}

/// An MCS lock for each socket, and one among the sockets.
#[derive(Default)]
pub struct CohortMcs {
    global: Line<Mcs>,
    groups: [Line<McsGroup>; GROUPS],
}

#[derive(Default)]
struct McsGroup {
    local: Mcs,
    passes: AtomicU32,
    /// The node for the global lock, which the holder of the local lock uses.
    node: AtomicPtr<Node>,
}

impl McsGroup {
    #[inline(always)]
    fn node(&self) -> &Node {
        here(&self.node)
    }
}

/// The object in this slot, which is created if there is none yet.
#[inline(always)]
pub fn here<T: Default>(link: &AtomicPtr<T>) -> &T {
    let mut there = link.load(Relaxed);
    if there.is_null() {
        there = fresh();
        link.store(there, Relaxed);
    }
    // SAFETY: the object was created by `fresh`, now or earlier, and is never freed.
    unsafe { &*there }
}

/// Swaps the values of two pointers.
#[inline(always)]
pub fn exchange<T>(one: &AtomicPtr<T>, other: &AtomicPtr<T>) {
    let there = one.load(Relaxed);
    one.store(other.load(Relaxed), Relaxed);
    other.store(there, Relaxed);
}

#[cold]
pub fn fresh<T: Default>() -> *mut T {
    Box::leak(Box::default())
}

#[derive(Default)]
pub struct Near {
    node: Node,
    /// The node for the global lock.
    global: AtomicPtr<Node>,
    group: Cell<usize>,
}

impl Lock for CohortMcs {
    type Thread = Near;

    #[inline(always)]
    fn with<R: Send>(&self, near: &mut Near, section: impl FnOnce() -> R + Send) -> R {
        near.group.set(Native::group(0) % GROUPS);
        let group = &self.groups[near.group.get()].0;
        group.local.acquire(&near.node);
        if group.passes.load(Relaxed) == 0 {
            exchange(&group.node, &near.global);
            self.global.0.acquire(group.node());
        }
        let result = section();
        let group = &self.groups[near.group.get()].0;
        let passes = group.passes.load(Relaxed);
        if passes < BATCH && !near.node.next.load(Relaxed).is_null() {
            group.passes.store(passes + 1, Relaxed);
            group.local.release(&near.node);
        } else {
            group.passes.store(0, Relaxed);
            exchange(&group.node, &near.global);
            group.local.release(&near.node);
            self.global.0.release(here(&near.global));
        }
        result
    }
}

/// An MCS lock for each socket, and a spinlock among the sockets.
#[derive(Default)]
pub struct CohortTtasMcs {
    global: Line<Ttas>,
    groups: [Line<McsGroup>; GROUPS],
}

impl Lock for CohortTtasMcs {
    type Thread = Near;

    #[inline(always)]
    fn with<R: Send>(&self, near: &mut Near, section: impl FnOnce() -> R + Send) -> R {
        near.group.set(Native::group(0) % GROUPS);
        let group = &self.groups[near.group.get()].0;
        group.local.acquire(&near.node);
        if group.passes.load(Relaxed) == 0 {
            self.global.0.acquire();
        }
        let result = section();
        let group = &self.groups[near.group.get()].0;
        let passes = group.passes.load(Relaxed);
        if passes < BATCH && !near.node.next.load(Relaxed).is_null() {
            group.passes.store(passes + 1, Relaxed);
            group.local.release(&near.node);
        } else {
            group.passes.store(0, Relaxed);
            group.local.release(&near.node);
            self.global.0.release();
        }
        result
    }
}

/// A timed MCS lock for each socket, and a spinlock among the sockets. Here no waiter gives up.
#[derive(Default)]
pub struct TimedCohort {
    global: Line<Ttas>,
    groups: [Line<TimedGroup>; GROUPS],
}

#[derive(Default)]
struct TimedGroup {
    local: TimedMcs,
    passes: AtomicU32,
}

impl Lock for TimedCohort {
    type Thread = (QueueNodes<QueueNode>, Cell<usize>);

    #[inline(always)]
    fn with<R: Send>(
        &self,
        (nodes, near): &mut Self::Thread,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        near.set(Native::group(0) % GROUPS);
        let group = &self.groups[near.get()].0;
        group.local.acquire(nodes);
        if group.passes.load(Relaxed) == 0 {
            self.global.0.acquire();
        }
        let result = section();
        let group = &self.groups[near.get()].0;
        let passes = group.passes.load(Relaxed);
        if passes < BATCH && group.local.is_followed(nodes) {
            group.passes.store(passes + 1, Relaxed);
            if group.local.pass(nodes, FIRST) {
                return result;
            }
        }
        group.passes.store(0, Relaxed);
        group.local.release(nodes);
        self.global.0.release();
        result
    }
}
