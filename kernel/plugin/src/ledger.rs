//! A lossy table of the locks' holders on all processors: a wait is recorded with the holder.
//!
//! Each lock has one slot, by its address; two locks with the same slot evict each other. A lost
//! entry costs the name of the task that was waited for, and the order below, never an acquisition.
//!
//! The table also keeps the processors' clocks in order. Each processor counts its own
//! instructions, and two counts may differ. An acquisition of a lock must be later than the release
//! before it, and a release that a task waited for must be later than the beginning of the wait
//! (Lamport 1978).

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

/// Notes that a task has acquired a lock. Returns the earliest possible time of the acquisition,
/// not before `now`.
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

/// The task that holds a lock; [`NOBODY`] if it is unknown.
pub fn holder(lock: u64) -> u32 {
    let slot = slot(lock);
    match slot.lock.load(Ordering::Relaxed) == lock {
        true => slot.holder.load(Ordering::Relaxed),
        false => NOBODY,
    }
}

/// Notes that a lock is about to be released. Returns the earliest possible time of the release,
/// not before `now`.
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

/// Notes that a task begins to wait for a lock. Returns the task that it waits for, and the
/// earliest possible beginning of the wait, not before `now`.
pub fn waits(lock: u64, now: u64) -> (u32, u64) {
    let slot = slot(lock);
    if slot.lock.load(Ordering::Relaxed) != lock {
        return (NOBODY, now);
    }
    let now = now.max(slot.released.load(Ordering::Relaxed));
    slot.waited.fetch_max(now, Ordering::Relaxed);
    (slot.holder.load(Ordering::Relaxed), now)
}
