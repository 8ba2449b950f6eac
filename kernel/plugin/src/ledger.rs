//! The holder of each lock, over all processors, as far as waiting needs it: a table that forgets.
//!
//! Each lock has one place, by its address; two locks with the same place push each other out. What is
//! lost is the task that was waited for, never an acquisition.
//!
//! It also keeps the processors' clocks in order. Each counts its own instructions, and two of them may
//! be apart; an acquisition of a lock is later than the release before it, and a release that a
//! task waited for is later than the beginning of the wait (Lamport 1978).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SLOTS: usize = 1 << 16;
/// No task, or an unknown one.
pub const NOBODY: u32 = u32::MAX;

struct Slot {
    lock: AtomicU64,
    holder: AtomicU32,
    released: AtomicU64,
    waited: AtomicU64,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        lock: AtomicU64::new(0),
        holder: AtomicU32::new(NOBODY),
        released: AtomicU64::new(0),
        waited: AtomicU64::new(0),
    }
}; SLOTS];

fn slot(lock: u64) -> &'static Slot {
    let mixed = (lock >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(mixed >> 48) as usize]
}

/// Notes that a task has acquired a lock. Returns the earliest time that this can have been.
pub fn acquired(lock: u64, thread: u32, now: u64) -> u64 {
    let slot = slot(lock);
    let known = slot.lock.swap(lock, Ordering::Relaxed) == lock;
    slot.holder.store(thread, Ordering::Relaxed);
    if !known {
        slot.released.store(0, Ordering::Relaxed);
        slot.waited.store(0, Ordering::Relaxed);
        return now;
    }
    now.max(slot.released.load(Ordering::Relaxed) + 1)
}

/// Notes that it is about to be released. Returns the earliest time that this can be.
pub fn released(lock: u64, now: u64) -> u64 {
    let slot = slot(lock);
    if slot.lock.load(Ordering::Relaxed) != lock {
        return now;
    }
    slot.holder.store(NOBODY, Ordering::Relaxed);
    let now = now.max(slot.waited.load(Ordering::Relaxed) + 1);
    slot.released.store(now, Ordering::Relaxed);
    now
}

/// Notes that a task begins to wait for it. Returns the task that it waits for, and the earliest
/// time that the wait can have begun.
pub fn waits(lock: u64, now: u64) -> (u32, u64) {
    let slot = slot(lock);
    if slot.lock.load(Ordering::Relaxed) != lock {
        return (NOBODY, now);
    }
    let now = now.max(slot.released.load(Ordering::Relaxed));
    slot.waited.fetch_max(now, Ordering::Relaxed);
    (slot.holder.load(Ordering::Relaxed), now)
}
