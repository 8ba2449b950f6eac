//! The holder of each lock over all processors, as needed for waits: a lossy table.
//!
//! Each lock has one slot, by its address; two locks with the same slot evict each other. A lost
//! entry costs the name of the task that was waited for, never an acquisition.
//!
//! The table also keeps the processors' clocks in order. Each processor counts its own
//! instructions, and two counts may differ. An acquisition of a lock must be later than the release
//! before it, and a release that a task waited for must be later than the beginning of the wait
//! (Lamport 1978).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PLACES: usize = 1 << 16;
/// No task, or an unknown one.
pub const NOBODY: u32 = u32::MAX;

struct Place {
    lock: AtomicU64,
    holder: AtomicU32,
    released: AtomicU64,
    waited: AtomicU64,
}

static TABLE: [Place; PLACES] = [const {
    Place {
        lock: AtomicU64::new(0),
        holder: AtomicU32::new(NOBODY),
        released: AtomicU64::new(0),
        waited: AtomicU64::new(0),
    }
}; PLACES];

fn place(lock: u64) -> &'static Place {
    let mixed = (lock >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TABLE[(mixed >> 48) as usize]
}

/// Notes that a task has acquired a lock. Returns the earliest possible time of the acquisition,
/// not before `now`.
pub fn acquired(lock: u64, thread: u32, now: u64) -> u64 {
    let place = place(lock);
    let known = place.lock.swap(lock, Ordering::Relaxed) == lock;
    place.holder.store(thread, Ordering::Relaxed);
    if !known {
        place.released.store(0, Ordering::Relaxed);
        place.waited.store(0, Ordering::Relaxed);
        return now;
    }
    now.max(place.released.load(Ordering::Relaxed) + 1)
}

/// Notes that a lock is about to be released. Returns the earliest possible time of the release,
/// not before `now`.
pub fn released(lock: u64, now: u64) -> u64 {
    let place = place(lock);
    if place.lock.load(Ordering::Relaxed) != lock {
        return now;
    }
    place.holder.store(NOBODY, Ordering::Relaxed);
    let now = now.max(place.waited.load(Ordering::Relaxed) + 1);
    place.released.store(now, Ordering::Relaxed);
    now
}

/// Notes that a task begins to wait for a lock. Returns the task that it waits for, and the
/// earliest possible beginning of the wait, not before `now`.
pub fn waits(lock: u64, now: u64) -> (u32, u64) {
    let place = place(lock);
    if place.lock.load(Ordering::Relaxed) != lock {
        return (NOBODY, now);
    }
    let now = now.max(place.released.load(Ordering::Relaxed));
    place.waited.fetch_max(now, Ordering::Relaxed);
    (place.holder.load(Ordering::Relaxed), now)
}
