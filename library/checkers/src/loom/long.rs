//! Words of 64 bits over loom's atomics.
//!
//! Loom treats SeqCst accesses as AcqRel, but supports SeqCst fences. So a SeqCst access is a fence
//! followed by the access, as processors with weak orderings implement it: all such accesses are in
//! one order. This is a little stronger than C11, since a fence also orders earlier accesses that
//! are not SeqCst.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::thread::panicking;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, fence};
use syncline::memory::{Long, LongMemory};

use super::Loom;
use super::execution::Execution;

/// A word of 64 bits.
#[derive(Debug, Default)]
pub struct LoomLong {
    atomic: AtomicU64,
    /// Reports accesses that do not happen before the word is dropped.
    life: UnsafeCell<()>,
}

// SAFETY: only the owner uses `life` mutably; others only read it.
unsafe impl Sync for LoomLong {}

// SAFETY: loom's atomics implement it.
unsafe impl LongMemory for Loom {
    type Long = LoomLong;
}

impl Drop for LoomLong {
    fn drop(&mut self) {
        // A failed execution is torn down in any order.
        if !panicking() {
            self.life.with_mut(|_| ());
        }
    }
}

impl LoomLong {
    fn access(&self) -> &AtomicU64 {
        self.life.with(|_| ());
        &self.atomic
    }
}

/// Returns the ordering for an access. For SeqCst, executes a fence and returns `instead`.
fn fenced(order: Ordering, instead: Ordering) -> Ordering {
    if order != SeqCst {
        return order;
    }
    fence(SeqCst);
    instead
}

impl Long for LoomLong {
    fn load(&self, order: Ordering) -> u64 {
        self.access().load(fenced(order, Acquire))
    }
    fn store(&self, value: u64, order: Ordering) {
        Execution::moved_on();
        self.access().store(value, fenced(order, Release));
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        Execution::moved_on();
        self.access().fetch_add(value, fenced(order, AcqRel))
    }
    fn exchange(&self, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        let order = fenced(order, AcqRel);
        let result = self.access().compare_exchange(old, new, order, Relaxed);
        if result.is_ok() {
            Execution::moved_on();
        }
        result
    }
}
