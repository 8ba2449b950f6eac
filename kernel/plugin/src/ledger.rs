//! A lossy table of the locks' holders on all processors. The plugin records a wait together with
//! the holder from this table.
//!
//! Each lock has one slot, by its address; two locks with the same slot evict each other. If an
//! entry is lost, the task that was waited for stays unknown, and the clocks may get out of order
//! (see below). No acquisition is lost.
//!
//! The table also keeps the processors' clocks in order. Each processor counts its own
//! instructions, and two counts may differ. An acquisition of a lock must be later than the release
//! before it. A release that a task waited for must be later than the beginning of the wait
//! (Lamport 1978).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SLOTS: usize = 1 << 16;
const TAG_BITS: u32 = 16;
const TAG: u64 = (1 << TAG_BITS) - 1;
/// No task, or an unknown one.
pub const NOBODY: u32 = u32::MAX;

struct Slot {
    lock: AtomicU64,
    holder: AtomicU32,
    /// The last acquisition: its position in the order of all, above a tag of its lock.
    last: AtomicU64,
    released: AtomicU64,
    waited: AtomicU64,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        lock: AtomicU64::new(0),
        holder: AtomicU32::new(NOBODY),
        last: AtomicU64::new(0),
        released: AtomicU64::new(0),
        waited: AtomicU64::new(0),
    }
}; SLOTS];

fn mixed(lock: u64) -> u64 {
    (lock >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn slot(lock: u64) -> &'static Slot {
    &TABLE[(mixed(lock) >> 48) as usize]
}

/// Bits that distinguish the locks that share a slot.
fn tag(lock: u64) -> u64 {
    mixed(lock) >> 32 & TAG
}

/// Notes that a task has acquired a lock, with the acquisition's position in the order of all.
/// Returns the earliest possible time of the acquisition, not before `now`.
pub fn acquired(lock: u64, order: u64, thread: u32, now: u64) -> u64 {
    let slot = slot(lock);
    let known = slot.lock.swap(lock, Ordering::Relaxed) == lock;
    slot.holder.store(thread, Ordering::Relaxed);
    slot.last.store(order << TAG_BITS | tag(lock), Ordering::Relaxed);
    if !known {
        slot.released.store(0, Ordering::Relaxed);
        slot.waited.store(0, Ordering::Relaxed);
        return now;
    }
    now.max(slot.released.load(Ordering::Relaxed) + 1)
}

/// Whether a lock is known to have been acquired again since the acquisition with this position in
/// the order of all.
pub fn taken_since(lock: u64, order: u64) -> bool {
    let last = slot(lock).last.load(Ordering::Relaxed);
    last & TAG == tag(lock) && last >> TAG_BITS > order
}

/// Notes that a lock may just have been released. Returns the earliest possible time of the
/// release, not before `now`.
pub fn may_release(lock: u64, now: u64) -> u64 {
    let slot = slot(lock);
    if slot.lock.load(Ordering::Relaxed) != lock {
        return now;
    }
    let now = now.max(slot.waited.load(Ordering::Relaxed) + 1);
    slot.released.fetch_max(now, Ordering::Relaxed);
    now
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
